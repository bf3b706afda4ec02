//! The code flow with login and consent in a browser, and the way out.

use super::op::Op;
use super::{pass, scenario, target, user};
use crate::scenario::jose::vectors::Signer;

const SCOPE: &str = "scope = 'openid profile'\n";

fn check(flow: &str, parameters: &str, fault: &'static str) -> Option<&'static str> {
    let mut op = Op::new("");
    let target = target(&mut op);
    let scenario = scenario(flow, &format!("{SCOPE}{parameters}"), &target);
    op.fault = fault;
    pass(&scenario, &mut user(), &mut op, 1)
        .err()
        .map(|wrong| wrong.check)
}

#[test]
fn a_login_is_one_sample_for_every_request() {
    for signer in [
        Signer::es256(),
        Signer::ed25519(),
        Signer::rs256(),
        Signer::ps256(),
    ] {
        let mut op = Op::new("");
        op.signer = signer;
        let target = target(&mut op);
        let scenario = scenario("authorization-code", SCOPE, &target);
        let all = [
            "authorize",
            "login-page",
            "login",
            "consent-page",
            "consent",
            "redirect",
            "token",
        ];
        assert_eq!(scenario.steps(), all);
        op.log.clear();
        let steps = pass(&scenario, &mut user(), &mut op, 1).unwrap();
        assert_eq!(
            steps,
            [
                "authorize",
                "login-page",
                "login",
                "consent-page",
                "consent",
                "token"
            ]
        );
        let log = [
            "GET /authorize",
            "GET /login",
            "POST /login",
            "GET /consent",
            "POST /consent",
            "POST /token",
        ];
        assert_eq!(op.log, log);
    }
}

#[test]
fn a_browser_that_keeps_its_cookies_is_let_in_at_once() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let mut user = user();
    let kept = scenario(
        "authorization-code",
        &format!("{SCOPE}fresh = false"),
        &target,
    );
    assert_eq!(pass(&kept, &mut user, &mut op, 1).unwrap().len(), 6);
    assert_eq!(
        pass(&kept, &mut user, &mut op, 2).unwrap(),
        ["authorize", "token"]
    );
    let fresh = scenario("authorization-code", SCOPE, &target);
    assert_eq!(pass(&fresh, &mut user, &mut op, 3).unwrap().len(), 6);
    // A login that was to be seen in every pass is missed.
    let seen = format!("{SCOPE}fresh = false\nexpect = ['login', 'consent']");
    let seen = scenario("authorization-code", &seen, &target);
    assert_eq!(
        pass(&seen, &mut user, &mut op, 4).unwrap_err().check,
        "login"
    );
}

#[test]
fn every_pass_draws_its_own_state_nonce_and_verifier() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let scenario = scenario("authorization-code", SCOPE, &target);
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..3 {
        pass(&scenario, &mut user(), &mut op, seed).unwrap();
        let body = op.bodies.last().unwrap().clone();
        let verifier = body.split("code_verifier=").nth(1).unwrap().to_owned();
        assert_eq!(verifier.len(), 43);
        assert!(seen.insert(verifier));
    }
}

#[test]
fn a_wrong_way_back_ends_the_flow() {
    for (fault, expected) in [
        ("", None),
        ("no-client", Some("status")),
        ("elsewhere", Some("redirect")),
        ("circle", Some("redirect")),
        ("near-miss", Some("redirect")),
        ("error-page", Some("status")),
        ("no-form", Some("page")),
        ("form-elsewhere", Some("form")),
        ("no-button", Some("form")),
        ("wrong-password", Some("login")),
        ("state", Some("state")),
        ("no-state", Some("state")),
        ("iss", Some("issuer")),
        ("no-iss", Some("issuer")),
        ("denied", Some("error")),
        ("refused-at-once", Some("error")),
        ("no-code", Some("code")),
        ("twice", Some("callback")),
    ] {
        assert_eq!(check("authorization-code", "", fault), expected, "{fault}");
    }
}

#[test]
fn a_wrong_id_token_ends_the_flow() {
    for (fault, expected) in [
        ("no-id-token", Some("id_token")),
        ("id-signature", Some("signature")),
        ("id-none", Some("signature")),
        ("id-key-as-secret", Some("signature")),
        ("id-issuer", Some("issuer")),
        ("id-audience", Some("audience")),
        ("id-no-azp", Some("azp")),
        ("id-azp", Some("azp")),
        ("id-expired", Some("expiry")),
        ("id-future", Some("issued_at")),
        ("id-nonce", Some("nonce")),
        ("id-no-nonce", Some("nonce")),
        ("id-at-hash", Some("at_hash")),
        ("id-no-at-hash", Some("at_hash")),
        ("id-c-hash", Some("c_hash")),
        ("id-no-sub", Some("subject")),
        ("empty-sub", Some("subject")),
        ("id-no-auth-time", None),
        ("id-old", None),
    ] {
        assert_eq!(check("authorization-code", "", fault), expected, "{fault}");
    }
    for (fault, expected) in [
        ("", None),
        ("id-no-auth-time", Some("auth_time")),
        ("id-old", Some("auth_time")),
    ] {
        assert_eq!(
            check("authorization-code", "max_age = 60", fault),
            expected,
            "{fault}"
        );
    }
    assert_eq!(
        check("authorization-code", "id_token_alg = 'ES256'", ""),
        None
    );
    assert_eq!(
        check("authorization-code", "id_token_alg = 'RS256'", ""),
        Some("signature")
    );
    assert_eq!(
        check("authorization-code", "id_token_alg = 'HS256'", ""),
        Some("signature")
    );
    assert_eq!(
        check("authorization-code", "judge = 'shape'", "id-nonce"),
        None
    );
    assert_eq!(
        check("authorization-code", "judge = 'shape'", "state"),
        Some("state")
    );
}

#[test]
fn a_target_may_leave_out_the_hash_of_the_access_token() {
    let mut op = Op::new("");
    let mut target = target(&mut op);
    target.file.quirks.no_at_hash = true;
    let scenario = scenario("authorization-code", SCOPE, &target);
    op.fault = "id-no-at-hash";
    pass(&scenario, &mut user(), &mut op, 1).unwrap();
    op.fault = "id-at-hash";
    assert_eq!(
        pass(&scenario, &mut user(), &mut op, 1).unwrap_err().check,
        "at_hash"
    );
}

#[test]
fn a_code_that_is_sent_again_must_be_refused() {
    for (fault, expected) in [
        ("", None),
        ("code-twice", Some("replay")),
        ("wrong-error", Some("error")),
    ] {
        assert_eq!(
            check("authorization-code", "replay = true", fault),
            expected,
            "{fault}"
        );
    }
}

#[test]
fn the_options_of_a_login_are_sent() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let options =
        format!("{SCOPE}prompt = 'consent'\nmax_age = 60\nextra = {{ acr_values = 'gold' }}");
    let scenario = scenario("authorization-code", &options, &target);
    let mut user = user();
    let (state, mut own) = user.split(1);
    let mut flow = scenario.begin(state, &mut own, || super::op::NOW);
    let crate::call::Next::Send { call, .. } = flow.advance(None).unwrap() else {
        panic!("nothing to send");
    };
    let query = call.url.query().unwrap();
    for part in [
        "response_type=code",
        "client_id=app",
        "redirect_uri=https%3A%2F%2Frp.example%2Fcb",
        "scope=openid+profile",
        "prompt=consent",
        "max_age=60",
        "acr_values=gold",
    ] {
        assert!(
            query.split('&').any(|pair| pair == part),
            "{part} in {query}"
        );
    }
}

#[test]
fn a_logout_ends_with_the_client() {
    for (fault, expected) in [
        ("", None),
        ("bye-state", Some("state")),
        ("bye-elsewhere", Some("redirect")),
        ("bye-page", Some("page")),
    ] {
        assert_eq!(check("logout", "", fault), expected, "{fault}");
    }
    let mut op = Op::new("");
    let target = target(&mut op);
    let scenario = scenario("logout", SCOPE, &target);
    let mut user = user();
    let steps = pass(&scenario, &mut user, &mut op, 1).unwrap();
    assert_eq!(steps[5..], ["token", "logout", "confirm"]);
    assert_eq!(user.state.tokens.last_access(), None);
}
