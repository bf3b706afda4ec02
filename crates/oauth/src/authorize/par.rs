//! Pushed authorization requests (RFC 9126): an authenticated client hands its request over first
//! and sends the browser with a reference. The reference is the request itself, sealed elsewhere,
//! or the id of a row where it would be too long.

use serde::Serialize;

use super::request_object::Source;
use crate::error::{Error, ErrorCode};
use crate::ids::ClientId;
use crate::login::pack::{Reader, Writer};
use crate::params::Params;
use crate::time::Timestamp;

/// What every reference begins with (RFC 9126 §2.2).
pub const PREFIX: &str = "urn:ietf:params:oauth:request_uri:";

/// Seconds that a pushed request may wait for its browser. It is used up when it is answered, not
/// when it is first looked at.
pub const LIFETIME: u64 = 60;

/// The form of the bytes below; another form has another number.
const VERSION: u8 = 1;

/// The parameters of client authentication: not part of what was asked for.
const AUTHENTICATION: [&str; 3] = ["client_secret", "client_assertion", "client_assertion_type"];

/// A request that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Random: by it the request is answered only once.
    pub id: [u8; 16],
    /// Who pushed it; nobody else may use it.
    pub client: ClientId,
    /// Whether it was in a signed request object.
    pub signed: bool,
    /// The parameters as a form, without those of the client's authentication.
    pub form: String,
    /// When it stops being good.
    pub expires_at: Timestamp,
}

impl Pushed {
    /// The bytes to seal.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::new(VERSION);
        out.fixed(&self.id);
        out.text(self.client.as_str());
        out.number(self.signed.into());
        out.text(&self.form);
        out.number(self.expires_at.0);
        out.finish()
    }

    /// Reads what [`Pushed::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut read = Reader::new(bytes, VERSION)?;
        let pushed = Self {
            id: read.fixed()?,
            client: ClientId::parse(read.text()?)?,
            signed: match read.number()? {
                0 => false,
                1 => true,
                _ => return None,
            },
            form: read.text()?.to_owned(),
            expires_at: Timestamp(read.number()?),
        };
        read.end(pushed)
    }

    /// Whether this client may use it now (RFC 9126 §4).
    pub fn check(&self, client: &ClientId, now: Timestamp) -> Result<(), Error> {
        if self.client != *client {
            return Err(refuse(
                "the request was pushed by another client",
                "par_other_client",
            ));
        }
        if now >= self.expires_at {
            return Err(refuse(
                "the pushed request is expired: push it again",
                "par_expired",
            ));
        }
        Ok(())
    }
}

/// What is refused where a reference is none of ours.
pub fn unknown() -> Error {
    refuse("there is no such pushed request", "par_unknown")
}

/// What is refused where a request was answered already.
pub fn used() -> Error {
    refuse(
        "the pushed request was used already: push it again",
        "par_used",
    )
}

fn refuse(description: &'static str, reason: &'static str) -> Error {
    Error::new(ErrorCode::InvalidRequestUri, description, reason)
}

/// Checks what is particular to the endpoint, for an authenticated client: its own name, and no
/// reference inside (RFC 9126 §2.1).
pub fn check<'a>(params: &'a Params<'_>, client: &ClientId) -> Result<Source<'a>, Error> {
    if params.get("request_uri").is_some() {
        return Err(Error::request(
            "a pushed request must not hold request_uri",
            "par_request_uri",
        ));
    }
    if params
        .get("client_id")
        .is_some_and(|named| named != client.as_str())
    {
        return Err(Error::client("client_id_mismatch"));
    }
    super::request_object::find(params)
}

/// The parameters to keep, as a form: without secrets, and with the client's name.
pub fn keep(params: &Params<'_>, client: &ClientId) -> String {
    let mut out = form_urlencoded::Serializer::new(String::new());
    out.append_pair("client_id", client.as_str());
    for (name, value) in params.pairs() {
        if name != "client_id" && !AUTHENTICATION.contains(&name) {
            out.append_pair(name, value);
        }
    }
    out.finish()
}

/// The answer, with status 201 (RFC 9126 §2.2).
pub fn render(reference: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct PushedResponse {
        request_uri: String,
        expires_in: u64,
    }
    let response = PushedResponse {
        request_uri: format!("{PREFIX}{reference}"),
        expires_in: LIFETIME,
    };
    serde_json::to_vec(&response).unwrap_or_default()
}
