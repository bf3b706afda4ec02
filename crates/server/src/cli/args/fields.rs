//! The fields of a client as arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use signet_oauth::authorize::ResponseType;
use signet_oauth::client::{AuthMethod, GrantType, Persistence, RefreshPolicy, TokenForm};

/// The fields of a client.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Fields")]
pub(in crate::cli) struct FieldArgs {
    /// JSON object with any fields of a client; `-` is the standard input. Arguments go over it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(in crate::cli) from: Option<PathBuf>,
    /// A name for people
    #[arg(long)]
    pub(in crate::cli) name: Option<String>,
    /// Scopes that it may ask for, separated by spaces; `device_*` is all that begin so
    #[arg(long)]
    pub(in crate::cli) scope: Vec<String>,
    /// Resource that it may ask tokens for; may be given many times
    #[arg(long, value_name = "URI")]
    pub(in crate::cli) audience: Vec<String>,
    /// Grant that it may use; may be given many times
    #[arg(long, value_name = "GRANT", value_parser = grants())]
    pub(in crate::cli) grant_type: Vec<String>,
    /// How it proves who it is
    #[arg(long, value_name = "METHOD", value_parser = methods())]
    pub(in crate::cli) auth_method: Option<String>,
    /// File with its public keys: a JWK set or one JWK
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "jwks_uri")]
    pub(in crate::cli) jwks: Option<PathBuf>,
    /// Where its public keys are
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) jwks_uri: Option<String>,
    /// URL that its users come back to; may be given many times
    #[arg(long, value_name = "URI")]
    pub(in crate::cli) redirect_uri: Vec<String>,
    /// To whom it belongs
    #[arg(long)]
    pub(in crate::cli) owner: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) login: LoginArgs,
    #[command(flatten)]
    pub(in crate::cli) tokens: TokenArgs,
}

/// What holds when people log in to a client.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Fields")]
pub(in crate::cli) struct LoginArgs {
    /// What it may ask the authorization endpoint for, as in "code id_token"; may be given many times
    #[arg(long, value_name = "TYPE", value_parser = response_types())]
    pub(in crate::cli) response_type: Vec<String>,
    /// URL that its users come to after a logout; may be given many times
    #[arg(long, value_name = "URI")]
    pub(in crate::cli) post_logout_redirect_uri: Vec<String>,
    /// URL that is told when a session ends
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) backchannel_logout_uri: Option<String>,
    /// First-party client: its users are not asked for their consent
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(in crate::cli) skip_consent: Option<bool>,
    /// Algorithm that signs its ID tokens
    #[arg(long, value_name = "ALG", value_parser = signing_algs())]
    pub(in crate::cli) id_token_alg: Option<String>,
    /// Whether its refresh tokens rotate
    #[arg(long, value_name = "POLICY", value_parser = refresh_policies())]
    pub(in crate::cli) refresh_token_policy: Option<String>,
    /// How long a refresh token lives: 12h, 30d
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(in crate::cli) refresh_token_lifetime: Option<u64>,
}

/// The access tokens of a client.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Fields")]
pub(in crate::cli) struct TokenArgs {
    /// What its access tokens look like
    #[arg(long, value_name = "FORM", value_parser = forms())]
    pub(in crate::cli) access_token: Option<String>,
    /// Whether its access tokens are written to the store
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(in crate::cli) persistence: Option<String>,
    /// How long an access token lives: 300, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(in crate::cli) lifetime: Option<u64>,
    /// Algorithm that signs its access tokens
    #[arg(long, value_parser = signing_algs())]
    pub(in crate::cli) alg: Option<String>,
    /// Answer a repeated request with the token that is still alive
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub(in crate::cli) reuse_live_token: Option<bool>,
}

/// The secret of a client.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Secret")]
pub(in crate::cli) struct SecretArgs {
    /// Secret of your choice; others on this machine may see it in the list of processes
    #[arg(long, group = "credential", allow_hyphen_values = true)]
    pub(in crate::cli) secret: Option<String>,
    /// Read the secret from the standard input
    #[arg(long, group = "credential")]
    pub(in crate::cli) secret_stdin: bool,
    /// Existing hash of a secret (bcrypt, PBKDF2 or Argon2), made by another server
    #[arg(long, group = "credential", value_name = "HASH")]
    pub(in crate::cli) import_hash: Option<String>,
    /// How the chosen secret is hashed: bcrypt:COST, argon2id, argon2id:m=…,t=…,p=… or
    /// pbkdf2-sha256:ITERATIONS
    #[arg(long, value_name = "SPEC", conflicts_with = "import_hash")]
    pub(in crate::cli) secret_hash: Option<String>,
}

fn grants() -> PossibleValuesParser {
    PossibleValuesParser::new(GrantType::ALL.map(GrantType::as_str))
}

fn methods() -> PossibleValuesParser {
    PossibleValuesParser::new(AuthMethod::ALL.map(AuthMethod::as_str))
}

fn response_types() -> PossibleValuesParser {
    PossibleValuesParser::new(ResponseType::ALL.map(ResponseType::as_str))
}

fn refresh_policies() -> PossibleValuesParser {
    let policies = [RefreshPolicy::Rotating, RefreshPolicy::Stateless];
    PossibleValuesParser::new(policies.map(RefreshPolicy::as_str))
}

pub(super) fn forms() -> PossibleValuesParser {
    PossibleValuesParser::new([TokenForm::Jwt, TokenForm::Opaque].map(TokenForm::as_str))
}

pub(super) fn kinds() -> PossibleValuesParser {
    let kinds = [Persistence::Stateless, Persistence::Persisted];
    PossibleValuesParser::new(kinds.map(Persistence::as_str))
}

pub(super) fn signing_algs() -> PossibleValuesParser {
    PossibleValuesParser::new(["ES256", "EdDSA", "RS256", "PS256"])
}

/// Seconds, or a time with units.
fn lifetime(text: &str) -> Result<u64, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    let time: Duration = humantime::parse_duration(text).map_err(|fault| fault.to_string())?;
    Ok(time.as_secs())
}
