//! Authorization requests from the text to the answer.

mod objects;
mod requests;
mod steps;
mod verdicts;

use super::*;
use crate::client::{Client, ClientMetadata, GrantType, example};
use crate::error::ErrorCode;
use crate::grant::Settings;
use crate::params::Params;
use crate::scope::ScopePatterns;

const ISSUER: &str = "https://i.example";
const CALLBACK: &str = "https://app.example/cb";
/// RFC 7636 appendix B.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn settings() -> Settings {
    Settings {
        issuer: ISSUER.into(),
        access_token_lifetime: 300,
        refresh_token_lifetime: 3600,
        id_token_lifetime: 600,
        refresh_grace: 60,
    }
}

/// A client that may do everything.
fn client() -> Client {
    Client {
        grants: GrantType::ALL.to_vec(),
        scope: ScopePatterns::parse("openid profile email offline_access read").unwrap(),
        audience: vec!["https://api.example".into()],
        metadata: ClientMetadata {
            redirect_uris: vec![CALLBACK.into()],
            response_types: ResponseType::ALL.to_vec(),
            ..ClientMetadata::default()
        },
        ..example()
    }
}

fn read_as(
    client: &Client,
    query: &str,
    origin: Origin,
) -> Result<AuthorizationRequest, AuthorizeError> {
    let params = Params::parse(query.as_bytes()).unwrap();
    parse(&params, client, &settings(), origin)
}

/// A request for a code, with more parameters.
pub(super) fn code_request(more: &str) -> AuthorizationRequest {
    let query = format!(
        "client_id=app&redirect_uri={CALLBACK}&response_type=code&scope=openid+profile{more}"
    );
    read_as(&client(), &query, Origin::default()).unwrap()
}
