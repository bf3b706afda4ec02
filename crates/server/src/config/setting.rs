//! What the value of an option can be, and how the manual and the errors say so. It knows no
//! option by name.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use signet_oauth::client::{Persistence, TokenForm};
use signet_oauth::jose::Algorithm;
use toml::Value;

use crate::hashing::{HashError, HashSpec};

/// How the text of a variable becomes a TOML value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Integer,
    Text,
    List,
}

/// A type that an option can have. `FORM` completes the sentence "give …".
pub(super) trait Setting: Serialize + DeserializeOwned {
    const KIND: Kind;
    const FORM: &'static str;

    /// Why the value is none of this type.
    fn fault(value: &Value) -> Option<String> {
        let value: Result<Self, _> = value.clone().try_into();
        value.err().map(|_| "is not possible".to_owned())
    }
}

macro_rules! settings {
    ($($kind:ident $type:ty: $form:expr;)*) => { $(
        impl Setting for $type {
            const KIND: Kind = Kind::$kind;
            const FORM: &'static str = $form;
        }
    )* };
}

settings! {
    Boolean bool: "`true` or `false`";
    Integer u64: "a whole number";
    Integer usize: "a whole number";
    Text String: "a text";
    Text PathBuf: "a path";
    Text SocketAddr: "an IP address and a port, like `127.0.0.1:4444` or `[::]:4444`";
    Text StoreLocation: "`sqlite:PATH`, `postgres://USER:PASSWORD@HOST/DATABASE` or `memory:`";
}

impl<T: Setting> Setting for Option<T> {
    const KIND: Kind = T::KIND;
    const FORM: &'static str = T::FORM;

    fn fault(value: &Value) -> Option<String> {
        T::fault(value)
    }
}

/// Enums whose values are words; those of the file, the errors and the manual are one list.
macro_rules! words {
    ($(#[doc = $about:literal])* $name:ident {
        $(#[doc = $first_doc:literal])* $first:ident = $first_word:literal
        $(, $(#[doc = $doc:literal])* $variant:ident = $word:literal)* $(,)?
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
        pub enum $name {
            $(#[doc = $first_doc])*
            #[serde(rename = $first_word)]
            $first,
            $($(#[doc = $doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl Setting for $name {
            const KIND: Kind = Kind::Text;
            const FORM: &'static str =
                concat!("`", $first_word, "`", $(" or `", $word, "`"),*);
        }
    };
}

words! {
    /// An algorithm that access tokens can be signed with.
    SigningAlg {
        /// ECDSA on P-256: short signatures, made in microseconds.
        Es256 = "ES256",
        /// Ed25519: the same, where every client knows it.
        EdDsa = "EdDSA",
        /// RSA, PKCS #1 v1.5: for old clients; slow to sign, quick to verify.
        Rs256 = "RS256",
        /// RSA-PSS.
        Ps256 = "PS256",
    }
}

impl SigningAlg {
    /// The same, as the law knows it.
    pub const fn algorithm(self) -> Algorithm {
        match self {
            Self::Es256 => Algorithm::Es256,
            Self::EdDsa => Algorithm::EdDsa,
            Self::Rs256 => Algorithm::Rs256,
            Self::Ps256 => Algorithm::Ps256,
        }
    }
}

words! {
    /// What an access token looks like from outside.
    AccessToken {
        /// A signed JWT (RFC 9068).
        Jwt = "jwt",
        /// A random string that only the server understands.
        Opaque = "opaque",
    }
}

impl AccessToken {
    /// The same, as the law knows it.
    pub const fn form(self) -> TokenForm {
        match self {
            Self::Jwt => TokenForm::Jwt,
            Self::Opaque => TokenForm::Opaque,
        }
    }
}

words! {
    /// What the store keeps of an access token.
    Kept {
        /// Nothing.
        Stateless = "stateless",
        /// A row.
        Persisted = "persisted",
    }
}

impl Kept {
    /// The same, as the law knows it.
    pub const fn persistence(self) -> Persistence {
        match self {
            Self::Stateless => Persistence::Stateless,
            Self::Persisted => Persistence::Persisted,
        }
    }
}

words! {
    /// A switch.
    Switch {
        /// On.
        On = "on",
        /// Off.
        Off = "off",
    }
}

words! {
    /// What a node does when it has not heard of revocations for too long.
    OnStale {
        /// It answers, and says in metrics and readiness that it is stale.
        Serve = "serve",
        /// It refuses, or asks the database, wherever it would issue or accept.
        Refuse = "refuse",
    }
}

words! {
    /// The least important messages that are written.
    Level {
        /// What needs a person.
        Error = "error",
        /// What may need one.
        Warn = "warn",
        /// What happens.
        Info = "info",
        /// Why it happens.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

words! {
    /// The form of a line of the log.
    LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object a line, for machines.
        Json = "json",
    }
}

words! {
    /// The requests that leave a line in the log.
    Requests {
        /// Every one.
        All = "all",
        /// Those answered with 4xx or 5xx.
        Failures = "failures",
        /// None.
        Off = "off",
    }
}

words! {
    /// The header in which proxies name the client.
    ClientHeader {
        /// The one that everybody knows.
        XForwardedFor = "x-forwarded-for",
        /// The one of RFC 7239.
        Forwarded = "forwarded",
        /// They do not say.
        None = "none",
    }
}

/// A slow hash and its cost, for secrets that people chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretHash(pub HashSpec);

impl Setting for SecretHash {
    const KIND: Kind = Kind::Text;
    const FORM: &'static str =
        "`argon2id:m=KIB,t=PASSES,p=LANES`, `bcrypt:COST` or `pbkdf2-sha256:ITERATIONS`";

    fn fault(value: &Value) -> Option<String> {
        let parsed = HashSpec::parse(value.as_str().unwrap_or_default());
        parsed.err().map(|fault| match fault {
            HashError::Spec(_) => "is not possible".to_owned(),
            fault => format!("is not possible: {fault}"),
        })
    }
}

impl fmt::Display for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for SecretHash {
    type Error = HashError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        HashSpec::parse(&text).map(Self)
    }
}

impl From<SecretHash> for String {
    fn from(hash: SecretHash) -> Self {
        hash.to_string()
    }
}

/// Texts in a list; in a variable, with commas between them.
impl Setting for Vec<String> {
    const KIND: Kind = Kind::List;
    const FORM: &'static str = "a list of texts";
}

/// The kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A file of this machine.
    Sqlite,
    /// The same, in memory: gone when the process ends.
    Memory,
    /// A database server, `postgres:`.
    Postgres,
}

/// Where the store is. The text may hold a password, so it is printed without it.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct StoreLocation {
    text: String,
    backend: Backend,
}

impl StoreLocation {
    /// A location by its scheme; what follows the scheme is the store's to judge.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once(':')?;
        let backend = match scheme {
            "sqlite" if !rest.is_empty() => Backend::Sqlite,
            "memory" if rest.is_empty() => Backend::Memory,
            "postgres" | "postgresql" if rest.starts_with("//") => Backend::Postgres,
            _ => return None,
        };
        Some(Self {
            text: text.to_owned(),
            backend,
        })
    }

    /// The kind of store.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The text in clear. Whoever calls this must not log it.
    pub fn expose(&self) -> &str {
        &self.text
    }

    pub(super) fn redacted(&self) -> Self {
        Self {
            text: redact(&self.text),
            backend: self.backend,
        }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact(&self.text))
    }
}

impl fmt::Debug for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreLocation({self})")
    }
}

impl TryFrom<String> for StoreLocation {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or(<Self as Setting>::FORM)
    }
}

impl From<StoreLocation> for String {
    fn from(location: StoreLocation) -> Self {
        location.text
    }
}

/// The text without a password, wherever a URL or a connection string could carry one. Too much
/// is hidden rather than too little: a password may hold `/`, `?` and `@` unescaped.
pub(super) fn redact(text: &str) -> String {
    let mut hidden = text.to_owned();
    let start = text.find("://").map_or(0, |at| at + 3);
    let end = text.rfind('@').filter(|end| *end > start);
    if let Some(end) = end
        && let Some(colon) = text[start..end].find(':')
    {
        hidden.replace_range(start + colon + 1..end, "***");
    }
    let (before, query) = match hidden.split_once('?') {
        Some((before, query)) => (format!("{before}?"), query),
        None if hidden.contains("pass") && hidden.contains('=') => (String::new(), &*hidden),
        None => return hidden,
    };
    let parameters: Vec<String> = query.split('&').map(redact_parameter).collect();
    before + &parameters.join("&")
}

fn redact_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        // An escaped name could be `password` too.
        Some((name, _)) if name.contains("pass") || name.contains('%') => format!("{name}=***"),
        _ if parameter.contains("pass") => "***".to_owned(),
        _ => parameter.to_owned(),
    }
}
