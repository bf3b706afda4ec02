//! What is issued at the authorization endpoint.

use super::*;
use crate::claims::Claim;
use crate::grant::{Refresh, code::redirect_digest};
use crate::scope::Scope;
use crate::session::example as session;
use crate::time::Timestamp;
use crate::user;

fn answer(kind: &str, more: &str, allowed: Option<&str>) -> Result<Granted, crate::Error> {
    answer_to(&client(), kind, more, allowed)
}

fn answer_to(
    client: &Client,
    kind: &str,
    more: &str,
    allowed: Option<&str>,
) -> Result<Granted, crate::Error> {
    let query = format!(
        "client_id=app&redirect_uri={CALLBACK}&response_type={kind}&scope=openid+profile+read&nonce=n{more}"
    );
    let request = read_as(&self::client(), &query, Origin::default()).unwrap();
    let (session, user) = (session(), user::example());
    let allowed = allowed.map(|scope| Scope::parse(scope).unwrap());
    let facts = Facts {
        session: Some(&session),
        user: Some(&user),
        allowed: allowed.as_ref(),
        now: Timestamp(2000),
        ..Facts::default()
    };
    grant(&request, client, &facts, &settings(), [9; 16])
}

#[test]
fn each_response_type_gets_what_it_names() {
    for kind in ResponseType::ALL {
        let granted = answer(&kind.as_str().replace(' ', "+"), "", None).unwrap();
        assert_eq!(granted.code.is_some(), kind.has_code(), "{kind:?}");
        assert_eq!(granted.token.is_some(), kind.has_token(), "{kind:?}");
        assert_eq!(granted.id_token.is_some(), kind.has_id_token(), "{kind:?}");
    }
}

#[test]
fn a_code_carries_what_the_token_request_needs() {
    let more = format!("&code_challenge={CHALLENGE}&code_challenge_method=S256");
    let code = answer("code", &more, None).unwrap().code.unwrap();
    assert_eq!(code.redirect_uri, Some(redirect_digest(CALLBACK)));
    assert_eq!((code.client_generation, code.user_generation), (0, 5));
    assert_eq!(code.session, Some([3; 16]));
    assert_eq!(
        (code.auth_time, code.expires_at),
        (Timestamp(1000), Timestamp(2060))
    );
    assert_eq!(code.nonce.as_deref(), Some("n"));
    assert!(code.challenge.is_some());
}

#[test]
fn tokens_through_the_browser_belong_to_the_family_of_the_code_and_cannot_be_refreshed() {
    let granted = answer("code+token", "", None).unwrap();
    let (code, token) = (granted.code.unwrap(), granted.token.unwrap());
    assert_eq!(token.family, Some(code.id));
    assert_eq!(token.refresh, Refresh::None);
    assert_eq!(&*token.subject, "usr_jane");
    assert_eq!(token.user_generation, Some(5));
    assert!(token.audience.contains(&ISSUER.to_owned()));
}

#[test]
fn scope_claims_are_in_an_id_token_only_where_there_is_no_access_token() {
    for kind in ResponseType::ALL
        .into_iter()
        .filter(|kind| kind.has_id_token())
    {
        let granted = answer(&kind.as_str().replace(' ', "+"), "", None).unwrap();
        let claims = granted.id_token.unwrap().claims;
        assert_eq!(
            claims.contains(Claim::Name),
            kind == ResponseType::IdToken,
            "{kind:?}"
        );
    }
    let asked = "&claims=%7B%22id_token%22%3A%7B%22email%22%3Anull%7D%7D";
    let granted = answer("code+id_token", asked, None).unwrap();
    assert!(granted.id_token.unwrap().claims.contains(Claim::Email));
}

#[test]
fn who_allows_less_grants_less() {
    let granted = answer("code+token", "", Some("read")).unwrap();
    assert_eq!(granted.code.unwrap().scope.as_str(), "openid read");
    assert_eq!(granted.token.unwrap().scope.as_str(), "openid read");
    // What was not asked for is not granted, whatever a page sends back.
    let granted = answer("code", "", Some("openid profile read email offline_access")).unwrap();
    assert_eq!(granted.code.unwrap().scope.as_str(), "openid profile read");
}

#[test]
fn who_allows_less_tells_less_by_name_too() {
    let asked = "&claims=%7B%22userinfo%22%3A%7B%22email%22%3Anull,%22name%22%3Anull%7D%7D";
    let claims = |allowed| {
        answer("code", asked, allowed)
            .unwrap()
            .code
            .unwrap()
            .claims
            .userinfo
    };
    assert!(claims(None).contains(Claim::Email));
    let fewer = claims(Some("openid profile"));
    assert!(fewer.contains(Claim::Name) && !fewer.contains(Claim::Email));
}

#[test]
fn a_flow_that_was_switched_off_meanwhile_is_not_reached() {
    let changed = Client {
        grants: vec![GrantType::AuthorizationCode],
        ..client()
    };
    let refused = answer_to(&changed, "code+token", "", None).unwrap_err();
    assert_eq!(refused.reason, "response_type_not_registered");
    assert!(answer_to(&changed, "code", "", None).is_ok());
}
