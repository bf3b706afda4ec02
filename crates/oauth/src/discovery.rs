//! What the server says about itself (RFC 8414, OIDC Discovery §3): exactly what is there.

use crate::authorize::{Display, ResponseMode, ResponseType};
use crate::claims::{Claim, SCOPES};
use crate::client::{AuthMethod, GrantType};
use crate::jose::Algorithm;
use crate::scope::{OFFLINE_ACCESS, OPENID};
use crate::session::ACR_VALUES;
use crate::{pkce, request_object};
use serde_json::{Map, Value};

/// What the document depends on.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    /// The issuer, without a slash at the end.
    pub issuer: &'a str,
    /// The algorithms of the keys that sign now.
    pub signing_algs: Vec<Algorithm>,
    /// What people who log in can do; `None` where nobody can.
    pub login: Option<LoginOffer<'a>>,
}

/// What is offered to clients whose users log in.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "endpoints, each there or not"
)]
pub struct LoginOffer<'a> {
    /// The languages of the pages, as BCP 47 tags.
    pub ui_locales: Vec<&'a str>,
    /// Whether `/userinfo` is served.
    pub userinfo: bool,
    /// Whether `/oauth2/par` is served.
    pub pushed_requests: bool,
    /// Whether `/oauth2/logout` is served.
    pub logout: bool,
    /// Whether clients are told when a session ends.
    pub backchannel_logout: bool,
}

/// The JSON text of `/.well-known/oauth-authorization-server` and
/// `/.well-known/openid-configuration`.
pub fn render(offer: &Offer<'_>) -> Vec<u8> {
    let mut document = Document {
        issuer: offer.issuer,
        members: Map::new(),
    };
    document.tokens(offer);
    match &offer.login {
        None => {
            document.put(
                "grant_types_supported",
                [GrantType::ClientCredentials.as_str()],
            );
            document.put("response_types_supported", Vec::<Value>::new());
        }
        Some(login) => {
            document.authorization();
            document.openid(offer, login);
        }
    }
    serde_json::to_vec(&document.members).unwrap_or_default()
}

struct Document<'a> {
    issuer: &'a str,
    members: Map<String, Value>,
}

impl Document<'_> {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    fn endpoint(&mut self, name: &str, path: &str) {
        self.put(name, format!("{}{path}", self.issuer));
    }

    /// An endpoint at which clients authenticate, and how.
    fn authenticated(&mut self, name: &str, path: &str, is_public: bool) {
        self.endpoint(&format!("{name}_endpoint"), path);
        let methods = AuthMethod::ALL.into_iter();
        let methods = methods.filter(|method| is_public || *method != AuthMethod::None);
        let methods: Vec<&str> = methods.map(AuthMethod::as_str).collect();
        self.put(&format!("{name}_endpoint_auth_methods_supported"), methods);
        let algs = names(Algorithm::ALL);
        self.put(
            &format!("{name}_endpoint_auth_signing_alg_values_supported"),
            algs,
        );
    }

    fn tokens(&mut self, offer: &Offer<'_>) {
        let signing = || names(offer.signing_algs.iter().copied());
        self.put("issuer", offer.issuer);
        self.authenticated("token", "/oauth2/token", true);
        self.authenticated("introspection", "/oauth2/introspect", false);
        self.authenticated("revocation", "/oauth2/revoke", true);
        self.endpoint("jwks_uri", "/.well-known/jwks.json");
        self.put("introspection_signing_alg_values_supported", signing());
        self.put("subject_types_supported", ["public"]);
        self.put("id_token_signing_alg_values_supported", signing());
    }

    fn authorization(&mut self) {
        self.endpoint("authorization_endpoint", "/oauth2/authorize");
        self.put(
            "grant_types_supported",
            GrantType::ALL.map(GrantType::as_str),
        );
        self.put(
            "response_types_supported",
            ResponseType::ALL.map(ResponseType::as_str),
        );
        self.put(
            "response_modes_supported",
            ResponseMode::ALL.map(ResponseMode::as_str),
        );
        self.put("code_challenge_methods_supported", pkce::METHODS);
        self.put("authorization_response_iss_parameter_supported", true);
        self.put("request_parameter_supported", true);
        // Absent would mean true (OIDC Discovery §3).
        self.put("request_uri_parameter_supported", false);
        self.put("require_request_uri_registration", false);
        self.put(
            "request_object_signing_alg_values_supported",
            names(request_object::ALGORITHMS),
        );
    }

    fn openid(&mut self, offer: &Offer<'_>, login: &LoginOffer<'_>) {
        if login.userinfo {
            self.endpoint("userinfo_endpoint", "/userinfo");
            self.put(
                "userinfo_signing_alg_values_supported",
                names(offer.signing_algs.iter().copied()),
            );
        }
        if login.pushed_requests {
            self.endpoint("pushed_authorization_request_endpoint", "/oauth2/par");
            self.put("require_pushed_authorization_requests", false);
        }
        if login.logout {
            self.endpoint("end_session_endpoint", "/oauth2/logout");
        }
        if login.backchannel_logout {
            self.put("backchannel_logout_supported", true);
            self.put("backchannel_logout_session_supported", true);
        }
        let scopes = [OPENID, OFFLINE_ACCESS].into_iter().chain(SCOPES);
        self.put("scopes_supported", scopes.collect::<Vec<_>>());
        let own = [
            "sub",
            "iss",
            "aud",
            "exp",
            "iat",
            "auth_time",
            "nonce",
            "acr",
            "amr",
            "sid",
            "at_hash",
            "c_hash",
        ];
        let claims = own.into_iter().chain(Claim::ALL.map(Claim::as_str));
        self.put("claims_supported", claims.collect::<Vec<_>>());
        self.put("claim_types_supported", ["normal"]);
        self.put("claims_parameter_supported", true);
        self.put("acr_values_supported", ACR_VALUES);
        self.put(
            "display_values_supported",
            Display::ALL.map(Display::as_str),
        );
        self.put("ui_locales_supported", login.ui_locales.clone());
        self.put(
            "prompt_values_supported",
            ["none", "login", "consent", "select_account"],
        );
    }
}

fn names(algorithms: impl IntoIterator<Item = Algorithm>) -> Vec<&'static str> {
    algorithms.into_iter().map(Algorithm::name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(login: Option<LoginOffer<'_>>) -> Value {
        let offer = Offer {
            issuer: "https://i.example",
            signing_algs: vec![Algorithm::Es256, Algorithm::Rs256],
            login,
        };
        serde_json::from_slice(&render(&offer)).unwrap()
    }

    fn everything() -> LoginOffer<'static> {
        LoginOffer {
            ui_locales: vec!["en", "de"],
            userinfo: true,
            pushed_requests: true,
            logout: true,
            backchannel_logout: true,
        }
    }

    #[test]
    fn the_document_names_its_endpoints_under_the_issuer() {
        let document = document(None);
        assert_eq!(document["issuer"], "https://i.example");
        assert_eq!(document["token_endpoint"], "https://i.example/oauth2/token");
        assert_eq!(
            document["id_token_signing_alg_values_supported"][0],
            "ES256"
        );
        for absent in [
            "authorization_endpoint",
            "userinfo_endpoint",
            "scopes_supported",
        ] {
            assert!(document.get(absent).is_none(), "{absent}: nobody logs in");
        }
    }

    #[test]
    fn only_what_is_switched_on_is_told() {
        let all = document(Some(everything()));
        for (endpoint, path) in [
            ("authorization_endpoint", "/oauth2/authorize"),
            ("userinfo_endpoint", "/userinfo"),
            ("pushed_authorization_request_endpoint", "/oauth2/par"),
            ("end_session_endpoint", "/oauth2/logout"),
        ] {
            assert_eq!(all[endpoint], format!("https://i.example{path}"));
        }
        assert_eq!(all["backchannel_logout_session_supported"], true);
        let few = document(Some(LoginOffer {
            userinfo: false,
            pushed_requests: false,
            logout: false,
            backchannel_logout: false,
            ..everything()
        }));
        for absent in [
            "userinfo_endpoint",
            "userinfo_signing_alg_values_supported",
            "pushed_authorization_request_endpoint",
            "end_session_endpoint",
            "backchannel_logout_supported",
        ] {
            assert!(few.get(absent).is_none(), "{absent}");
        }
    }

    #[test]
    fn the_conformance_suite_finds_what_it_asks_for() {
        let document = document(Some(everything()));
        let has = |name: &str, value: &str| {
            let list = document[name].as_array().unwrap();
            assert!(list.iter().any(|one| one == value), "{name}: {value}");
        };
        for (name, value) in [
            ("scopes_supported", "openid"),
            ("response_types_supported", "code id_token token"),
            ("response_modes_supported", "form_post"),
            ("code_challenge_methods_supported", "S256"),
            ("id_token_signing_alg_values_supported", "RS256"),
            ("request_object_signing_alg_values_supported", "RS256"),
            ("subject_types_supported", "public"),
            ("claims_supported", "email"),
            ("grant_types_supported", "refresh_token"),
            ("acr_values_supported", ACR_VALUES[0]),
        ] {
            has(name, value);
        }
        let plain = document["code_challenge_methods_supported"]
            .as_array()
            .unwrap();
        assert!(!plain.iter().any(|one| one == "plain"));
        assert_eq!(
            document["authorization_response_iss_parameter_supported"],
            true
        );
        assert_eq!(document["request_uri_parameter_supported"], false);
    }
}
