//! What is read, what is refused, and who is told.

use super::*;
use crate::client::{AuthMethod, ClientLogin, ClientSecret};
use proptest::prelude::*;

fn read(query: &str) -> Result<AuthorizationRequest, AuthorizeError> {
    read_as(&client(), query, Origin::default())
}

/// Who is told, the code, and the label.
fn refusal(
    result: Result<AuthorizationRequest, AuthorizeError>,
) -> (&'static str, ErrorCode, &'static str) {
    match result.unwrap_err() {
        AuthorizeError::Page(error) => ("page", error.code, error.reason),
        AuthorizeError::Redirect { target, error } => {
            (target.mode.as_str(), error.code, error.reason)
        }
    }
}

fn base(more: &str) -> String {
    format!("client_id=app&redirect_uri={CALLBACK}&scope=openid&{more}")
}

#[test]
fn everything_that_is_asked_for_is_read() {
    let request = code_request(&format!(
        "&state=s%20%2B&nonce=n&code_challenge={CHALLENGE}&code_challenge_method=S256&prompt=login+consent\
         &max_age=60&acr_values=a+b&login_hint=jane&ui_locales=de+en&display=popup&resource=https://api.example\
         &claims=%7B%22userinfo%22%3A%7B%22email%22%3Anull%7D%7D&id_token_hint=h&extra=x"
    ));
    assert_eq!(request.target.state.as_deref(), Some("s +"));
    assert_eq!(request.target.mode, ResponseMode::Query);
    assert_eq!(request.nonce.as_deref(), Some("n"));
    assert!(request.challenge.is_some() && request.redirect_uri_sent);
    assert!(request.prompts.contains(Prompt::Login) && request.prompts.contains(Prompt::Consent));
    assert_eq!(request.max_age, Some(60));
    assert_eq!(request.acr_values, ["a", "b"]);
    assert_eq!(request.login_hint.as_deref(), Some("jane"));
    assert_eq!(request.ui_locales, ["de", "en"]);
    assert_eq!(request.display, Display::Popup);
    assert_eq!(request.audience, ["https://api.example", ISSUER]);
    assert!(request.claims.userinfo.contains(Claim::Email));
    assert_eq!(request.id_token_hint.as_deref(), Some("h"));
}

#[test]
fn rfc9700_no_error_is_sent_to_an_address_that_nobody_vouches_for() {
    for query in [
        "client_id=app&response_type=code&scope=openid",
        "client_id=app&response_type=code&redirect_uri=https://evil.example/cb",
        "client_id=app&response_type=bad&redirect_uri=https://app.example/cb/",
        "client_id=app&response_type=code&redirect_uri=javascript:alert(1)",
        "client_id=other&response_type=code&redirect_uri=https://app.example/cb",
        "response_type=code&redirect_uri=https://app.example/cb",
    ] {
        assert_eq!(refusal(read(query)).0, "page", "{query}");
    }
    let disabled = Client {
        enabled: false,
        ..client()
    };
    let refused = read_as(&disabled, &base("response_type=code"), Origin::default());
    assert_eq!(refusal(refused).0, "page");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn refusals_go_back_in_the_way_of_the_response_type() {
    use ErrorCode::{InvalidRequest, InvalidScope, InvalidTarget, UnsupportedResponseType};
    for (more, mode, code, reason) in [
        ("", "query", InvalidRequest, "response_type_missing"),
        (
            "response_type=x",
            "query",
            UnsupportedResponseType,
            "response_type_unknown",
        ),
        (
            "response_type=code&response_mode=x",
            "query",
            InvalidRequest,
            "response_mode_unknown",
        ),
        (
            "response_type=id_token&response_mode=query&nonce=n",
            "fragment",
            InvalidRequest,
            "response_mode_query",
        ),
        (
            "response_type=code+token&response_mode=query",
            "fragment",
            InvalidRequest,
            "response_mode_query",
        ),
        (
            "response_type=id_token",
            "fragment",
            InvalidRequest,
            "nonce_missing",
        ),
        (
            "response_type=id_token+token",
            "fragment",
            InvalidRequest,
            "nonce_missing",
        ),
        (
            "response_type=code+id_token",
            "fragment",
            InvalidRequest,
            "nonce_missing",
        ),
        (
            "response_type=code+id_token+token&response_mode=form_post",
            "form_post",
            InvalidRequest,
            "nonce_missing",
        ),
        (
            "response_type=code&prompt=none+login",
            "query",
            InvalidRequest,
            "prompt_malformed",
        ),
        (
            "response_type=code&prompt=create&response_mode=fragment",
            "fragment",
            InvalidRequest,
            "prompt_malformed",
        ),
        (
            "response_type=code&max_age=-1",
            "query",
            InvalidRequest,
            "max_age_malformed",
        ),
        (
            "response_type=code&max_age=%2B1",
            "query",
            InvalidRequest,
            "max_age_malformed",
        ),
        (
            "response_type=code&claims=x",
            "query",
            InvalidRequest,
            "claims_malformed",
        ),
        (
            "response_type=code&resource=https://other.example",
            "query",
            InvalidTarget,
            "resource_not_registered",
        ),
        (
            "response_type=code&code_challenge=x&code_challenge_method=S256",
            "query",
            InvalidRequest,
            "pkce_challenge_malformed",
        ),
        (
            "response_type=code&request=e.y.s",
            "query",
            ErrorCode::RequestNotSupported,
            "request_not_opened",
        ),
        (
            "response_type=code&request_uri=https://a",
            "query",
            ErrorCode::RequestUriNotSupported,
            "request_uri_not_opened",
        ),
        (
            "response_type=code&registration=%7B%7D",
            "query",
            ErrorCode::RegistrationNotSupported,
            "registration_parameter",
        ),
    ] {
        assert_eq!(refusal(read(&base(more))), (mode, code, reason), "{more}");
    }
    let wide =
        format!("client_id=app&redirect_uri={CALLBACK}&response_type=code&scope=openid+write");
    assert_eq!(
        refusal(read(&wide)),
        ("query", InvalidScope, "scope_not_registered")
    );
    let not_openid =
        format!("client_id=app&redirect_uri={CALLBACK}&response_type=id_token&scope=read&nonce=n");
    assert_eq!(refusal(read(&not_openid)).2, "openid_missing");
}

#[test]
fn rfc9700_implicit_and_hybrid_flows_are_off_unless_registered() {
    let plain = Client {
        metadata: ClientMetadata {
            response_types: vec![],
            ..client().metadata
        },
        ..client()
    };
    // Named as a response type, but without the grant: still off.
    let half = Client {
        grants: vec![GrantType::AuthorizationCode],
        ..client()
    };
    for client in [plain, half] {
        let code = read_as(&client, &base("response_type=code"), Origin::default());
        assert!(code.is_ok());
        for kind in ResponseType::ALL.into_iter().filter(|kind| kind.is_front()) {
            let query = base(&format!(
                "nonce=n&response_type={}",
                kind.as_str().replace(' ', "+")
            ));
            let refused = refusal(read_as(&client, &query, Origin::default()));
            assert_eq!(refused.2, "response_type_not_registered", "{kind:?}");
        }
    }
    let service = Client {
        grants: vec![GrantType::ClientCredentials],
        ..client()
    };
    let refused = read_as(&service, &base("response_type=code"), Origin::default());
    assert_eq!(refusal(refused).1, ErrorCode::UnauthorizedClient);
}

#[test]
fn rfc9700_a_public_client_gets_no_code_without_pkce() {
    let public = Client {
        auth_method: AuthMethod::None,
        secret: ClientSecret::None,
        ..client()
    };
    let read = |more: &str| read_as(&public, &base(more), Origin::default());
    assert_eq!(refusal(read("response_type=code")).2, "pkce_required");
    assert_eq!(
        refusal(read("response_type=code+id_token&nonce=n")).2,
        "pkce_required"
    );
    assert!(
        read(&format!(
            "response_type=code&code_challenge={CHALLENGE}&code_challenge_method=S256"
        ))
        .is_ok()
    );
    assert!(read("response_type=id_token&nonce=n").is_ok());
}

#[test]
fn a_client_that_must_push_or_sign_cannot_do_otherwise() {
    let with = |login| Client { login, ..client() };
    let pushing = with(ClientLogin {
        require_pushed_requests: true,
        ..ClientLogin::default()
    });
    let signing = with(ClientLogin {
        require_signed_request_object: true,
        ..ClientLogin::default()
    });
    let origin = |pushed, signed| Origin { pushed, signed };
    for (client, origin, expected) in [
        (&pushing, origin(false, true), Some("request_not_pushed")),
        (&pushing, origin(true, false), None),
        (&signing, origin(true, false), Some("request_not_signed")),
        (&signing, origin(false, true), None),
    ] {
        let read = read_as(client, &base("response_type=code"), origin);
        assert_eq!(read.is_err().then(|| refusal(read).2), expected);
    }
}

#[test]
fn state_and_nonce_are_kept_or_refused_but_never_cut() {
    let long = "x".repeat(1000);
    let request = read(&base(&format!(
        "response_type=code&state={long}&nonce={}",
        &long[..384]
    )));
    let request = request.unwrap();
    assert_eq!(request.target.state.as_deref(), Some(&*long));
    assert_eq!(request.nonce.map(|nonce| nonce.len()), Some(384));
    let refused = read(&base(&format!("response_type=code&nonce={long}")));
    assert_eq!(refusal(refused).2, "nonce_too_long");
    let refused = read(&base(&format!(
        "response_type=code&state={}",
        "x".repeat(5000)
    )));
    assert_eq!(refusal(refused).2, "state_too_long");
}

#[test]
fn saying_nothing_makes_nobody_part_of_openid() {
    let query = format!("client_id=app&redirect_uri={CALLBACK}&response_type=code");
    let request = read(&query).unwrap();
    assert_eq!(request.scope.as_str(), "profile email read");
    assert!(!request.is_openid());
    assert_eq!(request.audience, ["https://api.example"]);
    // A plain OAuth request may leave the URI out where there is only one.
    let request = read("client_id=app&response_type=code&scope=read").unwrap();
    assert_eq!(
        (&*request.target.redirect_uri, request.redirect_uri_sent),
        (CALLBACK, false)
    );
}

#[test]
fn offline_access_is_dropped_where_no_code_is_asked_for() {
    let query = |kind: &str| {
        format!(
            "client_id=app&redirect_uri={CALLBACK}&scope=openid+offline_access&nonce=n&response_type={kind}"
        )
    };
    assert!(
        read(&query("code"))
            .unwrap()
            .scope
            .contains("offline_access")
    );
    assert!(
        !read(&query("id_token"))
            .unwrap()
            .scope
            .contains("offline_access")
    );
}

#[test]
fn by_name_a_client_gets_no_claim_that_it_could_not_ask_for_by_scope() {
    let claims = "%7B%22userinfo%22%3A%7B%22email%22%3Anull,%22phone_number%22%3Anull%7D%7D";
    let request = read(&base(&format!("response_type=code&claims={claims}"))).unwrap();
    assert!(request.claims.userinfo.contains(Claim::Email));
    assert!(!request.claims.userinfo.contains(Claim::PhoneNumber));
    assert_eq!(request.scope.as_str(), "openid");
    assert_eq!(request.consent_scope().as_str(), "openid email");
}

#[test]
fn what_no_code_can_carry_is_refused_before_anybody_logs_in() {
    let wide = Client {
        scope: ScopePatterns::parse("openid device_*").unwrap(),
        ..client()
    };
    let devices: Vec<String> = (0..60).map(|n| format!("device_{n:04}")).collect();
    let query = |kind: &str| {
        let scope = devices.join("+");
        format!(
            "client_id=app&redirect_uri={CALLBACK}&nonce=n&scope=openid+{scope}&response_type={kind}"
        )
    };
    let refused = read_as(&wide, &query("code"), Origin::default());
    assert_eq!(refusal(refused).2, "code_too_long");
    assert!(read_as(&wide, &query("id_token"), Origin::default()).is_ok());
}

#[test]
fn rfc9700_csrf_each_of_nonce_challenge_and_state_is_asked_for_or_kept() {
    // Dropped where it must be there: refused. Sent: it comes back, or is bound to what comes back.
    assert_eq!(
        refusal(read(&base("response_type=id_token"))).2,
        "nonce_missing"
    );
    let public = Client {
        auth_method: AuthMethod::None,
        secret: ClientSecret::None,
        ..client()
    };
    let dropped = read_as(&public, &base("response_type=code"), Origin::default());
    assert_eq!(refusal(dropped).2, "pkce_required");
    let request = read(&base("response_type=code&state=s&nonce=n")).unwrap();
    assert_eq!(request.target.state.as_deref(), Some("s"));
    assert_eq!(request.nonce.as_deref(), Some("n"));
    // Errors carry it as well, or they could be slipped in from elsewhere.
    let Err(AuthorizeError::Redirect { target, .. }) = read(&base("response_type=x&state=s"))
    else {
        panic!("not told to the client");
    };
    assert_eq!(target.state.as_deref(), Some("s"));
}

#[test]
fn the_default_of_the_client_stands_in_for_max_age() {
    let client = Client {
        login: ClientLogin {
            default_max_age: Some(600),
            ..ClientLogin::default()
        },
        ..client()
    };
    let read = |more: &str| {
        let query = base(&format!("response_type=code{more}"));
        read_as(&client, &query, Origin::default()).unwrap().max_age
    };
    assert_eq!(read(""), Some(600));
    assert_eq!(read("&max_age=0"), Some(0));
}

proptest! {
    #[test]
    fn no_request_makes_it_panic_or_goes_where_it_should_not(
        uri in proptest::option::of("(https://app.example/cb|\\PC{0,20})"),
        kind in "(code|token|id_token| |x){0,4}", mode in "(query|fragment|form_post|x)?",
        rest in proptest::collection::vec(("(scope|nonce|prompt|max_age|claims|resource|state|display)", "\\PC{0,20}"), 0..5),
    ) {
        let mut pairs = vec![("client_id".to_owned(), "app".to_owned()), ("response_type".to_owned(), kind), ("response_mode".to_owned(), mode)];
        pairs.extend(uri.clone().map(|uri| ("redirect_uri".to_owned(), uri)));
        pairs.extend(rest);
        if let Ok(params) = Params::from_pairs(pairs) {
            let target = match parse(&params, &client(), &settings(), Origin::default()) {
                Ok(request) => Some((request.target, request.response_type.is_front())),
                Err(AuthorizeError::Redirect { target, .. }) => Some((target, false)),
                Err(AuthorizeError::Page(_)) => None,
            };
            if let Some((target, front)) = target {
                prop_assert_eq!(&*target.redirect_uri, CALLBACK);
                prop_assert!(!(front && target.mode == ResponseMode::Query));
            }
        }
    }
}
