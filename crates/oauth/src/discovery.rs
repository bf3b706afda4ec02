//! What the server says about itself (RFC 8414, OIDC Discovery §3): exactly what is there.

use crate::client::{AuthMethod, GrantType};
use crate::jose::Algorithm;
use serde::Serialize;

/// What the document depends on.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    /// The issuer, without a slash at the end.
    pub issuer: &'a str,
    /// The algorithms of the keys that sign now.
    pub signing_algs: Vec<Algorithm>,
}

#[derive(Serialize)]
struct MetadataBody<'a> {
    issuer: &'a str,
    token_endpoint: String,
    introspection_endpoint: String,
    revocation_endpoint: String,
    jwks_uri: String,
    grant_types_supported: Vec<&'static str>,
    response_types_supported: [&'static str; 0],
    token_endpoint_auth_methods_supported: Vec<&'static str>,
    token_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    introspection_endpoint_auth_methods_supported: Vec<&'static str>,
    introspection_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    introspection_signing_alg_values_supported: Vec<&'static str>,
    revocation_endpoint_auth_methods_supported: Vec<&'static str>,
    revocation_endpoint_auth_signing_alg_values_supported: Vec<&'static str>,
    subject_types_supported: [&'static str; 1],
    id_token_signing_alg_values_supported: Vec<&'static str>,
}

/// The JSON text of `/.well-known/oauth-authorization-server` and
/// `/.well-known/openid-configuration`.
pub fn render(offer: &Offer<'_>) -> Vec<u8> {
    let at = |path: &str| format!("{}{path}", offer.issuer);
    let methods = |public: bool| -> Vec<&'static str> {
        let methods = AuthMethod::ALL.into_iter();
        methods
            .filter(|m| public || *m != AuthMethod::None)
            .map(AuthMethod::as_str)
            .collect()
    };
    let assertion_algs = || {
        Algorithm::ALL
            .iter()
            .map(|alg| alg.name())
            .collect::<Vec<_>>()
    };
    let signing_algs = || {
        offer
            .signing_algs
            .iter()
            .map(|alg| alg.name())
            .collect::<Vec<_>>()
    };
    let body = MetadataBody {
        issuer: offer.issuer,
        token_endpoint: at("/oauth2/token"),
        introspection_endpoint: at("/oauth2/introspect"),
        revocation_endpoint: at("/oauth2/revoke"),
        jwks_uri: at("/.well-known/jwks.json"),
        grant_types_supported: vec![GrantType::ClientCredentials.as_str()],
        response_types_supported: [],
        token_endpoint_auth_methods_supported: methods(true),
        token_endpoint_auth_signing_alg_values_supported: assertion_algs(),
        introspection_endpoint_auth_methods_supported: methods(false),
        introspection_endpoint_auth_signing_alg_values_supported: assertion_algs(),
        introspection_signing_alg_values_supported: signing_algs(),
        revocation_endpoint_auth_methods_supported: methods(true),
        revocation_endpoint_auth_signing_alg_values_supported: assertion_algs(),
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: signing_algs(),
    };
    serde_json::to_vec(&body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_names_its_endpoints_under_the_issuer() {
        let offer = Offer {
            issuer: "https://i.example",
            signing_algs: vec![Algorithm::Es256],
        };
        let document: serde_json::Value = serde_json::from_slice(&render(&offer)).unwrap();
        assert_eq!(document["issuer"], "https://i.example");
        assert_eq!(document["token_endpoint"], "https://i.example/oauth2/token");
        assert_eq!(
            document["id_token_signing_alg_values_supported"][0],
            "ES256"
        );
        assert!(
            document.get("authorization_endpoint").is_none(),
            "there is none yet"
        );
    }
}
