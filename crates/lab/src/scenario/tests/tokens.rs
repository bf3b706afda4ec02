//! Tokens without a browser: client credentials, password, refresh, introspection, revocation, userinfo.

use super::op::{NOW, Op};
use super::{drive, pass, scenario, target, user};
use crate::scenario::fingerprint;
use crate::scenario::jose::vectors::Signer;

/// A flow against a provider with a fault: the check that it fails by, or nothing.
fn check(flow: &str, parameters: &str, fault: &'static str) -> Option<&'static str> {
    let mut op = Op::new("");
    let target = target(&mut op);
    let scenario = scenario(flow, parameters, &target);
    op.fault = fault;
    pass(&scenario, &mut user(), &mut op, 1)
        .err()
        .map(|wrong| wrong.check)
}

#[test]
fn client_credentials_ask_once_and_are_content() {
    for signer in [
        Signer::es256(),
        Signer::ed25519(),
        Signer::rs256(),
        Signer::ps256(),
    ] {
        let mut op = Op::new("");
        op.signer = signer;
        let target = target(&mut op);
        let scenario = scenario("client-credentials", "scope = 'a b'", &target);
        assert_eq!(pass(&scenario, &mut user(), &mut op, 1).unwrap(), ["token"]);
        assert_eq!(
            op.bodies.last().unwrap(),
            "grant_type=client_credentials&scope=a+b"
        );
    }
}

#[test]
fn a_plan_may_name_the_client_and_how_it_authenticates() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let post = "client_id = 'me'\nclient_secret = 'x&y'\nclient_auth = 'post'\nextra = { resource = 'urn:r' }";
    let scenario_post = scenario("client-credentials", post, &target);
    for _ in 0..2 {
        pass(&scenario_post, &mut user(), &mut op, 1).unwrap();
        let sent =
            "client_id=me&client_secret=x%26y&grant_type=client_credentials&resource=urn%3Ar";
        assert_eq!(op.bodies.last().unwrap(), sent);
    }
    let public = "client_auth = 'none'";
    pass(
        &scenario("client-credentials", public, &target),
        &mut user(),
        &mut op,
        1,
    )
    .unwrap();
    assert_eq!(
        op.bodies.last().unwrap(),
        "client_id=app&grant_type=client_credentials"
    );
}

#[test]
fn a_wrong_token_answer_is_told_by_its_check() {
    let asked = "scope = 'openid a'\naudience = 'https://api.example'";
    for (fault, expected) in [
        ("", None),
        ("down", Some("status")),
        ("refused", Some("status")),
        ("created", Some("status")),
        ("html", Some("content-type")),
        ("cut", Some("json")),
        ("no-token", Some("json")),
        ("empty-token", Some("access_token")),
        ("token-type", Some("token_type")),
        ("dead", Some("expires_in")),
        ("cached", Some("cache-control")),
        ("less-scope", Some("scope")),
        ("at-signature", Some("signature")),
        ("at-none", Some("signature")),
        ("at-key-as-secret", Some("signature")),
        ("at-kid", Some("signature")),
        ("at-types", Some("signature")),
        ("at-issuer", Some("issuer")),
        ("at-audience", Some("audience")),
        ("at-expired", Some("expiry")),
        ("at-no-exp", Some("expiry")),
        ("at-future", Some("issued_at")),
        ("at-not-yet", Some("not_before")),
        ("at-client", Some("client_id")),
        ("at-scope", Some("scope")),
    ] {
        assert_eq!(
            check("client-credentials", asked, fault),
            expected,
            "{fault}"
        );
        assert_eq!(
            check("password", asked, fault),
            expected,
            "password: {fault}"
        );
    }
}

#[test]
fn the_depth_decides_what_is_judged() {
    for (depth, fault, expected) in [
        ("status", "token-type", None),
        ("status", "html", None),
        ("status", "refused", Some("status")),
        ("shape", "token-type", Some("token_type")),
        ("shape", "at-signature", None),
        ("full", "at-signature", Some("signature")),
    ] {
        let parameters = format!("judge = '{depth}'");
        assert_eq!(
            check("client-credentials", &parameters, fault),
            expected,
            "{depth} {fault}"
        );
    }
}

#[test]
fn the_form_of_access_tokens_is_checked_where_it_is_told() {
    for (form, opaque, expected) in [
        ("any", false, None),
        ("any", true, None),
        ("jwt", true, Some("access_token")),
        ("opaque", true, None),
        ("opaque", false, Some("access_token")),
    ] {
        let mut op = Op::new("");
        op.opaque = opaque;
        let target = target(&mut op);
        let scenario = scenario(
            "client-credentials",
            &format!("access_token = '{form}'"),
            &target,
        );
        let wrong = pass(&scenario, &mut user(), &mut op, 1)
            .err()
            .map(|wrong| wrong.check);
        assert_eq!(wrong, expected, "{form} {opaque}");
    }
}

#[test]
fn an_error_code_is_shown_and_no_secret_is() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let scenario = scenario("password", "", &target);
    let mut user = user();
    user.variables.insert("password".into(), "hunter2".into());
    let wrong = pass(&scenario, &mut user, &mut op, 1).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "status: 200 expected, 400 (invalid_grant) came"
    );
    user.variables.remove("password");
    let wrong = pass(&scenario, &mut user, &mut op, 1).unwrap_err();
    assert_eq!(wrong.check, "variable");
}

#[test]
fn a_refresh_token_is_rotated_from_pass_to_pass() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let scenario = scenario("refresh", "", &target);
    let mut user = user();
    assert_eq!(
        pass(&scenario, &mut user, &mut op, 1).unwrap(),
        ["token", "refresh"]
    );
    assert_eq!(pass(&scenario, &mut user, &mut op, 2).unwrap(), ["refresh"]);
    assert_eq!(
        op.bodies.last().unwrap(),
        "grant_type=refresh_token&refresh_token=refresh-2"
    );
    // Somebody else does not go on with it.
    user.variables.insert("client_id".into(), "me".into());
    let wrong = pass(&scenario, &mut user, &mut op, 3).unwrap_err();
    assert_eq!(wrong.check, "status");
}

#[test]
fn a_refresh_that_failed_is_followed_by_a_new_beginning() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let scenario = scenario("refresh", "", &target);
    let mut user = user();
    pass(&scenario, &mut user, &mut op, 1).unwrap();
    op.fault = "refused";
    assert_eq!(
        pass(&scenario, &mut user, &mut op, 2).unwrap_err().check,
        "status"
    );
    op.fault = "";
    assert_eq!(
        pass(&scenario, &mut user, &mut op, 3).unwrap(),
        ["token", "refresh"]
    );
}

#[test]
fn what_a_refresh_may_not_bring() {
    for (parameters, fault, expected) in [
        ("", "", None),
        ("replay = true", "", None),
        ("replay = true", "refresh-twice", Some("replay")),
        ("", "no-refresh", Some("refresh_token")),
        ("", "id-issuer", Some("issuer")),
        ("", "id-at-hash", Some("at_hash")),
        (
            "grant = 'authorization-code'\nscope = 'openid'",
            "other-user",
            Some("subject"),
        ),
    ] {
        assert_eq!(
            check("refresh", parameters, fault),
            expected,
            "{parameters} {fault}"
        );
    }
}

#[test]
fn introspection_asks_about_the_users_token_until_it_is_about_to_expire() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let scenario = scenario("introspection", "scope = 'openid a'", &target);
    let mut user = user();
    assert_eq!(
        pass(&scenario, &mut user, &mut op, 1).unwrap(),
        ["token", "introspect"]
    );
    assert_eq!(
        pass(&scenario, &mut user, &mut op, 2).unwrap(),
        ["introspect"]
    );
    let token = user.state.tokens.last_access().unwrap().to_owned();
    assert!(op.bodies.last().unwrap().contains(&token));
    assert!(user.state.tokens.access(NOW + 280).is_some());
    assert!(user.state.tokens.access(NOW + 295).is_none());
}

#[test]
fn what_introspection_may_not_say() {
    let scope = "scope = 'openid a'";
    for (parameters, fault, expected) in [
        (scope, "", None),
        (scope, "never-active", Some("active")),
        (scope, "in-issuer", Some("issuer")),
        (scope, "in-client", Some("client_id")),
        (scope, "in-expired", Some("expiry")),
        (scope, "in-scope", Some("scope")),
        (scope, "in-text", Some("json")),
        ("judge = 'status'", "never-active", None),
        ("judge = 'shape'", "in-issuer", None),
        ("token = 'from a feed'", "in-client", None),
        ("token = 'from a feed'\nactive = false", "", Some("active")),
        (
            "token = 'from a feed'\nactive = false",
            "never-active",
            None,
        ),
    ] {
        assert_eq!(
            check("introspection", parameters, fault),
            expected,
            "{parameters} {fault}"
        );
    }
}

#[test]
fn a_revocation_is_believed_when_introspection_says_so() {
    for (flow, parameters, fault, expected) in [
        ("revocation", "", "", None),
        ("revocation", "", "revoke-status", Some("status")),
        ("revocation", "", "not-revoked", Some("active")),
        (
            "revocation",
            "judge = 'status'",
            "not-revoked",
            Some("active"),
        ),
        ("revocation", "verify = false", "not-revoked", None),
        ("password-revocation", "", "not-revoked", None),
        (
            "password-revocation",
            "verify = true",
            "not-revoked",
            Some("active"),
        ),
        (
            "revocation",
            "grant = 'password'",
            "still-active",
            Some("active"),
        ),
    ] {
        assert_eq!(
            check(flow, parameters, fault),
            expected,
            "{flow} {parameters} {fault}"
        );
    }
}

#[test]
fn a_revoked_token_is_not_used_by_a_later_pass() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let mut user = user();
    let revocation = scenario("password-revocation", "", &target);
    assert_eq!(
        pass(&revocation, &mut user, &mut op, 1).unwrap(),
        ["token", "revoke"]
    );
    let introspection = scenario("introspection", "", &target);
    assert_eq!(
        pass(&introspection, &mut user, &mut op, 2).unwrap(),
        ["token", "introspect"]
    );
}

#[test]
fn a_header_that_repeats_the_revoked_token_is_checked_where_the_target_has_one() {
    let mut op = Op::new("");
    let mut target = target(&mut op);
    target.file.quirks.revoked_header = Some("x-revoked".into());
    let scenario = scenario("password-revocation", "", &target);
    pass(&scenario, &mut user(), &mut op, 1).unwrap();
    op.fault = "revoked-header";
    assert_eq!(
        pass(&scenario, &mut user(), &mut op, 1).unwrap_err().check,
        "revoked"
    );
}

#[test]
fn what_userinfo_may_not_say() {
    let code = "grant = 'authorization-code'\nscope = 'openid'";
    for (parameters, fault, expected) in [
        ("", "", None),
        (code, "", None),
        (code, "ui-other", Some("subject")),
        (code, "ui-jwt", None),
        (code, "ui-signature", Some("signature")),
        ("", "ui-empty", Some("subject")),
        ("", "ui-no-sub", Some("json")),
        ("", "ui-refused", Some("status")),
        ("judge = 'status'", "ui-no-sub", None),
    ] {
        assert_eq!(
            check("userinfo", parameters, fault),
            expected,
            "{parameters} {fault}"
        );
    }
}

#[test]
fn documents_are_judged_too() {
    for (flow, fault, expected) in [
        ("discovery", "", None),
        ("discovery", "issuer", Some("issuer")),
        ("discovery", "no-url", Some("metadata")),
        ("discovery", "down", Some("status")),
        ("jwks", "", None),
        ("jwks", "down", Some("status")),
    ] {
        assert_eq!(check(flow, "", fault), expected, "{flow} {fault}");
    }
}

#[test]
fn what_is_left_to_chance_is_drawn_once_for_a_pass() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let scope = "scope = 'a device_${random:int:1:1000000}'";
    let scenario = scenario("client-credentials", scope, &target);
    let mut sent = std::collections::BTreeSet::new();
    for seed in [1, 2, 1] {
        // The answer is judged by the same number that was sent.
        pass(&scenario, &mut user(), &mut op, seed).unwrap();
        sent.insert(op.bodies.last().unwrap().clone());
    }
    assert_eq!(sent.len(), 2);
}

#[test]
fn tokens_have_fingerprints_and_other_answers_have_none() {
    let mut op = Op::new("");
    let target = target(&mut op);
    let scenario = scenario("revocation", "", &target);
    let mut user = user();
    let mut seen = Vec::new();
    for seed in 0..2 {
        let (state, mut own) = user.split(seed);
        let mut flow = scenario.begin(state, &mut own, || NOW);
        let mut answer = |call: &crate::call::Call| {
            let reply = op.answer(call);
            seen.push(fingerprint(&reply));
            reply
        };
        drive(flow.as_mut(), &mut answer).unwrap();
    }
    let tokens: std::collections::BTreeSet<u64> = seen.iter().copied().flatten().collect();
    assert_eq!((seen.len(), tokens.len()), (6, 2));
}
