//! The parsers of logging in, and what each promises beyond not panicking: authorization requests
//! and request objects as strangers write them, and the bytes behind a seal, which must be read
//! strictly even so.

use crate::targets::Target;
use signet_oauth::authorize::{self, AuthorizeError, Origin, ResponseMode, ResponseType};
use signet_oauth::claims::ClaimsParameter;
use signet_oauth::client::{
    AuthMethod, Client, ClientLogin, ClientMetadata, ClientSecret, GrantType, Persistence,
    TokenForm, TokenPolicy,
};
use signet_oauth::code::Code;
use signet_oauth::family::{self, Presented};
use signet_oauth::grant::Settings;
use signet_oauth::ids::ClientId;
use signet_oauth::jose::Claims;
use signet_oauth::logout::{LogoutRequest, LogoutStep};
use signet_oauth::par::Pushed;
use signet_oauth::params::Params;
use signet_oauth::scope::ScopePatterns;
use signet_oauth::session::Session;
use signet_oauth::time::Timestamp;
use signet_oauth::{redirect, request_object};

const CALLBACK: &str = "https://app.example/cb";
const ISSUER: &str = "https://i.example";

fn settings() -> Settings {
    Settings {
        issuer: ISSUER.to_owned(),
        access_token_lifetime: 300,
        refresh_token_lifetime: 3600,
        id_token_lifetime: 600,
        refresh_grace: 60,
    }
}

/// A public client that may use every flow.
fn client() -> Result<Client, String> {
    let id = ClientId::parse("app").ok_or("no client id")?;
    let scope = ScopePatterns::parse("openid profile email offline_access device_*");
    Ok(Client {
        id,
        generation: 0,
        version: 0,
        enabled: true,
        secret: ClientSecret::None,
        secret_expires_at: None,
        auth_method: AuthMethod::None,
        auth_signing_alg: None,
        grants: GrantType::ALL.to_vec(),
        scope: scope.map_err(|error| error.reason)?,
        audience: vec!["https://api.example".to_owned()],
        jwks: None,
        jwks_uri: None,
        tokens: TokenPolicy {
            form: TokenForm::Jwt,
            persistence: Persistence::Stateless,
            lifetime: None,
        },
        grant_tokens: Vec::new(),
        access_token_alg: None,
        reuse_live_token: false,
        introspection_alg: None,
        login: ClientLogin::default(),
        metadata: ClientMetadata {
            redirect_uris: vec![CALLBACK.to_owned(), "http://127.0.0.1/cb".to_owned()],
            response_types: ResponseType::ALL.to_vec(),
            ..ClientMetadata::default()
        },
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    })
}

/// What holds for every request that is read, and for every address that an error is sent to.
fn judge(params: &Params<'_>) -> Result<bool, String> {
    let client = client()?;
    let parsed = authorize::parse(params, &client, &settings(), Origin::default());
    let (target, request) = match parsed {
        Err(AuthorizeError::Page(_)) => return Ok(false),
        Err(AuthorizeError::Redirect { target, .. }) => (target, None),
        Ok(request) => (request.target.clone(), Some(request)),
    };
    let registered = &client.metadata.redirect_uris;
    if !registered
        .iter()
        .any(|known| redirect::matches(known, &target.redirect_uri))
    {
        return Err(format!("sent to {:?}", target.redirect_uri));
    }
    let Some(request) = request else {
        return Ok(false);
    };
    let kind = request.response_type;
    if kind.is_front() && target.mode == ResponseMode::Query {
        return Err("tokens in a query".to_owned());
    }
    if kind.has_id_token() && request.nonce.is_none() {
        return Err("an ID token through the browser without a nonce".to_owned());
    }
    if kind.has_code() && request.challenge.is_none() {
        return Err("a public client gets a code without PKCE".to_owned());
    }
    if !request
        .scope
        .tokens()
        .all(|token| client.scope.allow(token))
    {
        return Err("a scope that was not registered".to_owned());
    }
    Ok(true)
}

/// Requests at the authorization endpoint.
pub(crate) const AUTHORIZATION_REQUEST: Target = Target {
    name: "authorization_request",
    seeds: &[
        b"client_id=app&redirect_uri=https://app.example/cb&response_type=code&scope=openid+profile&state=s&nonce=n&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256",
        b"client_id=app&redirect_uri=http://127.0.0.1:5004/cb&response_type=id_token+token&scope=openid&nonce=n&response_mode=form_post&prompt=login&max_age=0",
        b"client_id=app&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&response_type=code+id_token&scope=openid+offline_access&nonce=n&claims=%7B%22userinfo%22%3A%7B%22email%22%3Anull%7D%7D&resource=https://api.example&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256",
    ],
    words: &[
        b"&", b"=", b"%", b"+", b"#", b"@", b"/../", b"%2f", b":443", b"https://evil.example",
        b"redirect_uri=", b"response_mode=query", b"response_type=token", b"code_challenge_method=plain",
        b"request=", b"request_uri=", b"prompt=none", b"nonce=", b"client_id=app",
    ],
    check: |input| match Params::parse(input) {
        Ok(params) => judge(&params),
        Err(_) => Ok(false),
    },
};

/// The claims of a request object whose signature was right.
pub(crate) const REQUEST_OBJECT: Target = Target {
    name: "request_object",
    seeds: &[
        br#"{"iss":"app","aud":"https://i.example","exp":2100,"client_id":"app","redirect_uri":"https://app.example/cb","response_type":"id_token","scope":"openid","nonce":"n","max_age":60,"claims":{"id_token":{"email":null}},"resource":["https://api.example"]}"#,
    ],
    words: &[
        b"\"request\":", b"\"request_uri\":", b"\"sub\":\"app\"", b"\"exp\":", b"\"nbf\":9999", b"null",
        b"{", b"}", b"[", b"]", b",", b"\"", b"\\u0000", b"\"state\":\"x\"", b"\"client_id\":\"b\"",
    ],
    check: |input| {
        let Ok(claims) = Claims::parse(input) else {
            return Ok(false);
        };
        let app = ClientId::parse("app").ok_or("no client id")?;
        let Ok(params) = request_object::open(&claims, &app, ISSUER, Timestamp(2000)) else {
            return Ok(false);
        };
        if params.get("request").is_some() || params.get("request_uri").is_some() {
            return Err("a request inside a request".to_owned());
        }
        if params.get("client_id") != Some("app") {
            return Err("the request of another client".to_owned());
        }
        judge(&params).map(|_| true)
    },
};

/// The `claims` parameter.
pub(crate) const CLAIMS_PARAMETER: Target = Target {
    name: "claims_parameter",
    seeds: &[
        br#"{"userinfo":{"email":null,"name":{"essential":true}},"id_token":{"acr":{"essential":true,"values":["a","b"]},"sub":{"value":"usr_jane"},"auth_time":null}}"#,
    ],
    words: &[
        b"\"essential\":", b"\"value\":", b"\"values\":", b"true", b"null", b"{", b"}", b"[", b"]",
        b",", b":", b"\"sub\"", b"\"\"", b"1e9",
    ],
    check: |input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return Ok(false);
        };
        match ClaimsParameter::parse(text) {
            Ok(read) if read.acr_essential && read.acr_values.is_empty() => {
                Err("essential, and nothing that would do".to_owned())
            }
            read => Ok(read.is_ok()),
        }
    },
};

/// Reads bytes that were behind a seal; what is read must be written in one way only.
fn strict(input: &[u8], written_again: Option<Vec<u8>>) -> Result<bool, String> {
    match written_again {
        None => Ok(false),
        Some(bytes) if bytes == input => Ok(true),
        Some(_) => Err("two sequences of bytes for one value".to_owned()),
    }
}

/// Codes behind their seal.
pub(crate) const CODE: Target = Target {
    name: "code",
    seeds: &[b"\x01\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\x03app\x08usr_jane\x01\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x01N\xb8\x9dz\x81\xe3\"\x06t\xdeD#\x16\xd1\xd3\xb4=\x1b!\xfa\x13GY\xc8\xd3\xc8\x04\x93_(\x0b]\x0eopenid profile\x01\x11https://i.example\x01\x0cn-0S6_WzA2Mj\x00\xe8\x07\x01\x03pwd\x01\x17urn:signet:acr:password\x00\x00\x00\x05\xa4\x08"],
    words: &[b"\0", b"\x01", b"\x02", b"\x80\0", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x7f", b"  "],
    check: |input| {
        let code = Code::from_bytes(input);
        strict(input, code.and_then(|code| code.to_bytes().ok()))
    },
};

/// Sessions behind their seal.
pub(crate) const SESSION: Target = Target {
    name: "session",
    seeds: &[b"\x01\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x08usr_jane\x02\xe8\x07\x01\x03pwd\x01\x17urn:signet:acr:password\xe8\x07\xa8F"],
    words: &[b"\0", b"\x01", b"\x80\0", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x7f", b"pwd"],
    check: |input| strict(input, Session::from_bytes(input).map(|session| session.to_bytes())),
};

/// Pushed requests behind their seal.
pub(crate) const PUSHED: Target = Target {
    name: "pushed",
    seeds: &[b"\x01\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x03app\x01\x1aclient_id=app&scope=openid\x8c\x10"],
    words: &[b"\0", b"\x01", b"\x02", b"\x80\0", b"\xff\xff\xff\x7f", b"&"],
    check: |input| strict(input, Pushed::from_bytes(input).map(|pushed| pushed.to_bytes())),
};

/// Refresh tokens of families.
pub(crate) const REFRESH_TOKEN: Target = Target {
    name: "refresh_token",
    seeds: &[
        b"srt_CQkJCQkJCQkJCQkJCQkJCQAAAAcFBQUFBQUFBQUFBQUFBQUF",
        b"srt_",
    ],
    words: &[b"srt_", b"A", b"_", b"-", b"=", b"AAAA"],
    check: |input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return Ok(false);
        };
        let Some(read) = Presented::parse(text) else {
            return Ok(false);
        };
        // The MAC is not told; but a token that carries this one has one text.
        let mac = [5; 32];
        let again = family::render(read.family, read.generation, &mac);
        if read.has_mac(&mac) && again.expose() != text {
            return Err("two texts for one token".to_owned());
        }
        Ok(true)
    },
};

/// Requests at the end-session endpoint.
pub(crate) const LOGOUT: Target = Target {
    name: "logout",
    seeds: &[
        b"id_token_hint=e.y.s&post_logout_redirect_uri=https://app.example/out&state=x&client_id=app",
        b"post_logout_redirect_uri=https://app.example/out?x=1&client_id=app&ui_locales=de+en",
    ],
    words: &[b"&", b"=", b"%", b"#", b"state=", b"client_id=", b"https://evil.example", b"%0d%0a"],
    check: |input| {
        let Ok(params) = Params::parse(input) else {
            return Ok(false);
        };
        let Ok(request) = LogoutRequest::parse(&params) else {
            return Ok(false);
        };
        let mut client = client()?;
        client.login.post_logout_redirect_uris = vec!["https://app.example/out".to_owned()];
        let decided = request.decide(None, Some(&client), None);
        let Ok(LogoutStep::Ask(target) | LogoutStep::End(target)) = decided else {
            return Ok(false);
        };
        match target {
            Some(target) if !target.url.starts_with("https://app.example/out") => {
                Err(format!("sent to {:?}", target.url))
            }
            Some(target) if target.url.contains(['\r', '\n', '#']) => {
                Err(format!("broken {:?}", target.url))
            }
            _ => Ok(true),
        }
    },
};
