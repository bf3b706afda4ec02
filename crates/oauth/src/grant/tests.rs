//! The grants that people stand behind: tables over what is asked, known and decided.

use super::authorization_code::{self, Verdict as CodeVerdict};
use super::code::{self, Code, redirect_digest};
use super::family::{self, Family, Terms};
use super::refresh_token::{self, Held, Verdict as RefreshVerdict};
use super::{Context, Issue, Refresh, Settings, password, signed_refresh};
use crate::client::{
    AuthMethod, Client, ClientLogin, ClientSecret, GrantType, RefreshPolicy, example,
};
use crate::error::{Error, ErrorCode};
use crate::ids::ClientId;
use crate::jose::{Algorithm, Claims, Header};
use crate::params::Params;
use crate::pkce::Challenge;
use crate::scope::{Scope, ScopePatterns};
use crate::time::Timestamp;
use crate::token::{Known, Liveness};
use crate::user::{self, User};
use proptest::prelude::*;

const ISSUER: &str = "https://i.example";
const API: &str = "https://api.example";
/// RFC 7636 appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

fn settings() -> Settings {
    Settings {
        issuer: ISSUER.into(),
        access_token_lifetime: 300,
        refresh_token_lifetime: 3600,
        id_token_lifetime: 600,
        refresh_grace: 60,
    }
}

fn context(settings: &Settings, now: u64) -> Context<'_> {
    Context {
        settings,
        now: Timestamp(now),
    }
}

fn client() -> Client {
    Client {
        grants: GrantType::ALL.to_vec(),
        scope: ScopePatterns::parse("openid profile offline_access read write").unwrap(),
        audience: vec![API.into()],
        ..example()
    }
}

fn public() -> Client {
    Client {
        auth_method: AuthMethod::None,
        secret: ClientSecret::None,
        ..client()
    }
}

fn other() -> Client {
    Client {
        id: ClientId::parse("other").unwrap(),
        ..client()
    }
}

fn login(login: ClientLogin) -> Client {
    Client { login, ..client() }
}

fn stateless() -> ClientLogin {
    ClientLogin {
        refresh_token_policy: RefreshPolicy::Stateless,
        ..ClientLogin::default()
    }
}

fn code() -> Code {
    Code {
        audience: vec![API.into(), ISSUER.into()],
        ..code::example()
    }
}

/// What is decided about a code, in words.
fn redeem(client: &Client, form: &str, code: &Code, liveness: Liveness) -> Result<Issue, String> {
    let form = format!("code=c&{form}");
    let params = Params::parse(form.as_bytes()).unwrap();
    let ask = authorization_code::Ask::parse(&params).unwrap();
    let settings = settings();
    match authorization_code::decide(client, &ask, code, liveness, &context(&settings, 1010)) {
        CodeVerdict::Redeem(issue) => Ok(*issue),
        CodeVerdict::Burn(error) => Err(format!("burn {}", error.reason)),
        CodeVerdict::Refuse(error) => Err(format!("refuse {}", error.reason)),
    }
}

const BACK: &str = "redirect_uri=https://app.example/cb";

#[test]
fn a_code_becomes_what_was_allowed() {
    let issue = redeem(&client(), BACK, &code(), Liveness::Alive).unwrap();
    assert_eq!(&*issue.subject, "usr_jane");
    assert_eq!(issue.scope.as_str(), "openid profile");
    assert_eq!(issue.audience, [API, ISSUER]);
    assert_eq!(
        (issue.family, issue.session),
        (Some([9; 16]), Some([3; 16]))
    );
    assert_eq!(
        (issue.client_generation, issue.user_generation),
        (0, Some(5))
    );
    let id_token = issue.id_token.unwrap();
    assert_eq!(id_token.nonce.as_deref(), Some("n-0S6_WzA2Mj"));
    assert_eq!(id_token.auth_time, Some(Timestamp(1000)));
    assert_eq!(id_token.session, Some([3; 16]));
    assert!(id_token.claims.is_empty(), "scope claims are for userinfo");
    let Refresh::Open(terms) = issue.refresh else {
        panic!("{:?}", issue.refresh);
    };
    assert_eq!(terms.expires_at, Timestamp(1010 + 3600));
    assert_eq!(terms.session, Some([3; 16]), "it ends with the session");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn a_code_that_does_not_fit_is_refused_or_burned() {
    let pinned = Code {
        challenge: Some(Challenge::S256(
            crate::jose::base64url::decode("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
                .unwrap()
                .try_into()
                .unwrap(),
        )),
        ..code()
    };
    let right = format!("{BACK}&code_verifier={VERIFIER}");
    let no_grant = Client {
        grants: vec![GrantType::RefreshToken],
        ..client()
    };
    let alive = Liveness::Alive;
    for (client, form, code, liveness, expected) in [
        (&client(), &*right, &pinned, alive, None),
        (&public(), &right, &pinned, alive, None),
        (
            &client(),
            BACK,
            &pinned,
            alive,
            Some("burn pkce_verifier_missing"),
        ),
        (
            &client(),
            &right,
            &code(),
            alive,
            Some("burn pkce_verifier_unexpected"),
        ),
        (
            &public(),
            BACK,
            &code(),
            alive,
            Some("burn code_without_pkce"),
        ),
        (
            &client(),
            "",
            &code(),
            alive,
            Some("burn code_redirect_uri"),
        ),
        (
            &client(),
            "redirect_uri=https://app.example/cb2",
            &code(),
            alive,
            Some("burn code_redirect_uri"),
        ),
        (
            &other(),
            BACK,
            &code(),
            alive,
            Some("refuse code_other_client"),
        ),
        (
            &no_grant,
            BACK,
            &code(),
            alive,
            Some("refuse grant_not_registered"),
        ),
        (
            &client(),
            BACK,
            &code(),
            Liveness::Dead("code_expired"),
            Some("refuse code_expired"),
        ),
        (
            &client(),
            BACK,
            &code(),
            Liveness::Behind,
            Some("refuse code_behind"),
        ),
        (
            &client(),
            "redirect_uri=https://app.example/cb&resource=https://x.example",
            &code(),
            alive,
            Some("refuse resource_not_granted"),
        ),
    ] {
        let refused = redeem(client, form, code, liveness).err();
        assert_eq!(refused.as_deref(), expected, "{form}");
    }
}

#[test]
fn a_redirect_uri_that_was_not_sent_need_not_be_repeated() {
    let code = Code {
        redirect_uri: None,
        ..code()
    };
    let mut client = client();
    client.metadata.redirect_uris = vec!["https://app.example/cb".into()];
    assert!(redeem(&client, "", &code, Liveness::Alive).is_ok());
    assert!(redeem(&client, BACK, &code, Liveness::Alive).is_ok());
    assert!(
        redeem(
            &client,
            "redirect_uri=https://evil.example",
            &code,
            Liveness::Alive
        )
        .is_err()
    );
    assert_ne!(redirect_digest("a"), redirect_digest("b"));
}

#[test]
fn rfc9700_a_resource_asked_for_narrows_the_audience() {
    let form = format!("{BACK}&resource={API}");
    let issue = redeem(&client(), &form, &code(), Liveness::Alive).unwrap();
    assert_eq!(issue.audience, [API, ISSUER], "openid: userinfo as well");
    let plain = Code {
        scope: Scope::parse("read").unwrap(),
        audience: vec![API.into(), "https://b.example".into()],
        ..code()
    };
    let issue = redeem(&client(), &form, &plain, Liveness::Alive).unwrap();
    assert_eq!(issue.audience, [API]);
    assert_eq!(issue.id_token, None);
}

#[test]
fn which_refresh_token_is_given() {
    let refresh = |client: &Client, scope: &str| {
        let code = Code {
            scope: Scope::parse(scope).unwrap(),
            challenge: Some(Challenge::Plain(VERIFIER.into())),
            ..code()
        };
        let form = format!("{BACK}&code_verifier={VERIFIER}");
        redeem(client, &form, &code, Liveness::Alive)
            .unwrap()
            .refresh
    };
    let without = Client {
        grants: vec![GrantType::AuthorizationCode],
        ..client()
    };
    assert_eq!(refresh(&without, "openid offline_access"), Refresh::None);
    assert!(matches!(
        refresh(&login(stateless()), "openid"),
        Refresh::Sign(_)
    ));
    let public = Client {
        login: stateless(),
        ..public()
    };
    assert!(
        matches!(refresh(&public, "openid"), Refresh::Open(_)),
        "it must rotate"
    );
    let Refresh::Open(offline) = refresh(&client(), "openid offline_access") else {
        panic!("no family");
    };
    assert_eq!(offline.session, None, "it outlives the session");
}

#[test]
fn rfc9700_refresh_tokens_of_public_clients_rotate() {
    let code = Code {
        challenge: Some(Challenge::Plain(VERIFIER.into())),
        ..code()
    };
    // Even where the registration was changed behind the back of its validation.
    let public = Client {
        login: stateless(),
        ..public()
    };
    let form = format!("{BACK}&code_verifier={VERIFIER}");
    let issue = redeem(&public, &form, &code, Liveness::Alive).unwrap();
    assert!(matches!(issue.refresh, Refresh::Open(_)));
    assert_eq!(
        public.validate().map_err(|e| e.reason),
        Err("client_public_stateless")
    );
}

#[test]
fn rfc9700_a_code_is_bound_to_its_challenge() {
    let bound = |verifier: &str| Code {
        challenge: Some(Challenge::Plain(verifier.into())),
        ..code()
    };
    let mine = bound(VERIFIER);
    let theirs = bound(&VERIFIER.replace('d', "e"));
    let form = format!("{BACK}&code_verifier={VERIFIER}");
    assert!(redeem(&client(), &form, &mine, Liveness::Alive).is_ok());
    // An injected code: the attacker's, in the session of a victim whose client has another verifier.
    let injected = redeem(&client(), &form, &theirs, Liveness::Alive).unwrap_err();
    assert_eq!(injected, "burn pkce_verifier_wrong");
}

#[test]
fn tokens_rest_on_the_older_of_two_facts() {
    let newer = Client {
        generation: 7,
        ..client()
    };
    let issue = redeem(&newer, BACK, &code(), Liveness::Alive).unwrap();
    assert_eq!(issue.client_generation, 0);
}

fn family() -> Family {
    Family {
        generation: 7,
        rotated_at: Timestamp(2000),
        ..family::example()
    }
}

fn refresh_as(client: &Client, form: &str, held: (u32, Liveness), now: u64) -> RefreshVerdict {
    let form = format!("refresh_token=r&{form}");
    let params = Params::parse(form.as_bytes()).unwrap();
    let ask = refresh_token::Ask::parse(&params).unwrap();
    let settings = settings();
    let family = family();
    let held = Held {
        family: &family,
        generation: held.0,
        liveness: held.1,
    };
    refresh_token::decide(client, &ask, &held, &context(&settings, now))
}

fn in_words(verdict: &RefreshVerdict) -> String {
    let successor = |issue: &Issue| match issue.refresh {
        Refresh::Successor(generation) => generation,
        ref other => panic!("{other:?}"),
    };
    match verdict {
        RefreshVerdict::Rotate(issue) => format!("rotate to {}", successor(issue)),
        RefreshVerdict::Again(issue) => format!("again {}", successor(issue)),
        RefreshVerdict::Refuse(error) => format!("refuse {}", error.reason),
        RefreshVerdict::End(error) => format!("end {}", error.reason),
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn refresh_table() {
    let alive = Liveness::Alive;
    let dead = Liveness::Dead("token_ended");
    let no_grant = Client {
        grants: vec![GrantType::AuthorizationCode],
        ..client()
    };
    for (client, form, held, now, expected) in [
        (&client(), "", (7, alive), 2010, "rotate to 8"),
        (&client(), "", (6, alive), 2010, "again 7"),
        (&client(), "", (6, alive), 2060, "end refresh_reused"),
        (&client(), "", (5, alive), 2010, "refuse refresh_superseded"),
        (&client(), "", (5, alive), 2060, "end refresh_reused"),
        (&client(), "", (8, alive), 2010, "refuse refresh_ahead"),
        (&client(), "", (7, dead), 2010, "refuse token_ended"),
        (
            &client(),
            "",
            (7, Liveness::Behind),
            2010,
            "refuse refresh_behind",
        ),
        // A lost answer is given again to its own client only, and only while all is alive.
        (
            &other(),
            "",
            (6, alive),
            2010,
            "refuse refresh_other_client",
        ),
        (&client(), "", (6, dead), 2010, "refuse token_ended"),
        // Nobody ends the family of another client.
        (
            &other(),
            "",
            (5, alive),
            9000,
            "refuse refresh_other_client",
        ),
        (
            &no_grant,
            "",
            (7, alive),
            2010,
            "refuse grant_not_registered",
        ),
        (&client(), "scope=read", (7, alive), 2010, "rotate to 8"),
        (
            &client(),
            "scope=read+profile",
            (7, alive),
            2010,
            "refuse refresh_scope_wider",
        ),
        (
            &client(),
            "resource=https://x.example",
            (7, alive),
            2010,
            "refuse resource_not_granted",
        ),
    ] {
        let verdict = refresh_as(client, form, held, now);
        assert_eq!(in_words(&verdict), expected, "{form} {held:?} at {now}");
    }
}

fn issued(verdict: RefreshVerdict) -> Issue {
    match verdict {
        RefreshVerdict::Rotate(issue) | RefreshVerdict::Again(issue) => *issue,
        other => panic!("{other:?}"),
    }
}

#[test]
fn rfc9700_a_refresh_never_widens_what_was_granted() {
    let alive = (7, Liveness::Alive);
    let issue = issued(refresh_as(&client(), "scope=write+openid", alive, 2010));
    assert_eq!(issue.scope.as_str(), "write openid");
    let issue = issued(refresh_as(&client(), "", alive, 2010));
    assert_eq!(issue.scope.as_str(), "openid read write");
    assert_eq!(
        (issue.family, issue.session),
        (Some([9; 16]), Some([3; 16]))
    );
    assert_eq!(
        (issue.client_generation, issue.user_generation),
        (0, Some(5))
    );
    // What the client has lost since is not given back.
    let less = Client {
        scope: ScopePatterns::parse("openid read").unwrap(),
        ..client()
    };
    let issue = issued(refresh_as(&less, "", alive, 2010));
    assert_eq!(issue.scope.as_str(), "openid read");
    let refused = refresh_as(&less, "scope=write", alive, 2010);
    assert_eq!(in_words(&refused), "refuse refresh_scope_wider");
}

#[test]
fn the_id_token_of_a_refresh_has_the_first_login_and_no_nonce() {
    let issue = issued(refresh_as(&client(), "", (7, Liveness::Alive), 2010));
    let id_token = issue.id_token.unwrap();
    assert_eq!(
        (id_token.nonce, id_token.auth_time),
        (None, Some(Timestamp(1000)))
    );
    let issue = issued(refresh_as(
        &client(),
        "scope=read",
        (7, Liveness::Alive),
        2010,
    ));
    assert_eq!(issue.id_token, None);
}

#[test]
fn rfc9700_a_family_ends_with_session_password_and_client() {
    let terms = family().terms;
    let known = |ended, client, user| Known {
        ended,
        client_generation: client,
        user_generation: user,
    };
    for (case, known, now, alive) in [
        ("as it was", known(false, Some(0), Some(5)), 2000, true),
        (
            "session or family ended",
            known(true, Some(0), Some(5)),
            2000,
            false,
        ),
        (
            "password changed, locked",
            known(false, Some(0), Some(6)),
            2000,
            false,
        ),
        ("user deleted", known(false, Some(0), None), 2000, false),
        (
            "client secret rotated",
            known(false, Some(1), Some(5)),
            2000,
            false,
        ),
        ("client gone", known(false, None, Some(5)), 2000, false),
        ("expired", known(false, Some(0), Some(5)), 100_000, false),
    ] {
        let liveness = terms.liveness(known, Timestamp(now));
        assert_eq!(liveness == Liveness::Alive, alive, "{case}");
    }
}

fn signed(terms: &Terms) -> Option<([u8; 16], Terms)> {
    let claims = signed_refresh::render([9; 16], terms, ISSUER);
    let header = Header::new(Algorithm::Es256).with_typ(signed_refresh::TYPE);
    signed_refresh::read(&header, &Claims::parse(&claims).unwrap(), ISSUER)
}

#[test]
fn a_signed_refresh_token_says_its_terms() {
    let terms = family().terms;
    assert_eq!(signed(&terms), Some(([9; 16], terms.clone())));
    let bare = Terms {
        session: None,
        acr: None,
        auth_time: None,
        ..terms
    };
    assert_eq!(signed(&bare), Some(([9; 16], bare.clone())));
    let unbound = Terms {
        user_generation: None,
        ..bare
    };
    assert_eq!(
        signed(&unbound),
        None,
        "a user who could never be locked out"
    );
}

#[test]
fn no_other_token_passes_for_a_signed_refresh_token() {
    let claims = signed_refresh::render([9; 16], &family().terms, ISSUER);
    let claims = Claims::parse(&claims).unwrap();
    for typ in ["at+jwt", "JWT", "logout+jwt"] {
        let header = Header::new(Algorithm::Es256).with_typ(typ);
        assert_eq!(
            signed_refresh::read(&header, &claims, ISSUER),
            None,
            "{typ}"
        );
    }
    let header = Header::new(Algorithm::Es256).with_typ(signed_refresh::TYPE);
    assert_eq!(
        signed_refresh::read(&header, &claims, "https://other.example"),
        None
    );
}

#[test]
fn a_signed_refresh_token_is_kept_and_does_not_rotate() {
    let terms = family().terms;
    let decide = |client: &Client, liveness| {
        let params = Params::parse(b"refresh_token=r&scope=read").unwrap();
        let ask = refresh_token::Ask::parse(&params).unwrap();
        assert_eq!(ask.presented(), None);
        let settings = settings();
        let token = (&[9; 16], &terms);
        refresh_token::decide_signed(client, &ask, token, liveness, &context(&settings, 2010))
            .map_err(|error| error.reason)
    };
    let issue = decide(&client(), Liveness::Alive).unwrap();
    assert_eq!(
        (issue.refresh, issue.scope.as_str()),
        (Refresh::Keep, "read")
    );
    for (client, liveness, reason) in [
        (&other(), Liveness::Alive, "refresh_other_client"),
        (&client(), Liveness::Dead("token_ended"), "token_ended"),
        (&public(), Liveness::Alive, "refresh_signed_public"),
    ] {
        assert_eq!(decide(client, liveness).err(), Some(reason));
    }
}

fn with_password(client: &Client, form: &str, user: &User) -> Result<Issue, Error> {
    let form = format!("username=Jane&password=p&{form}");
    let params = Params::parse(form.as_bytes()).unwrap();
    let ask = password::Ask::parse(&params).unwrap();
    let settings = settings();
    let context = context(&settings, 2000);
    password::check(client, &ask, &context)?;
    password::decide(client, &ask, user, &context)
}

#[test]
fn the_password_grant_speaks_for_the_user() {
    let issue = with_password(&client(), "scope=read", &user::example()).unwrap();
    assert_eq!(
        (&*issue.subject, issue.user_generation),
        ("usr_jane", Some(5))
    );
    assert_eq!((issue.session, issue.family), (None, None));
    assert_eq!(issue.id_token, None, "nobody asked for openid");
    let Refresh::Open(terms) = issue.refresh else {
        panic!("no family");
    };
    assert_eq!(terms.auth_time, Some(Timestamp(2000)));
    let issue = with_password(&client(), "scope=openid", &user::example()).unwrap();
    assert!(issue.id_token.is_some());
    assert_eq!(issue.audience, [API, ISSUER]);
}

#[test]
fn rfc9700_the_password_grant_is_off_unless_registered() {
    let without = Client {
        grants: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
        ..client()
    };
    let refused = with_password(&without, "", &user::example()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::UnauthorizedClient);
}

#[test]
fn who_is_locked_hears_the_same_as_who_errs() {
    let locked = User {
        locked: true,
        ..user::example()
    };
    let joe = User {
        username: user::Username::parse("joe").unwrap(),
        ..user::example()
    };
    for user in [locked, joe] {
        assert_eq!(with_password(&client(), "", &user), Err(password::wrong()));
    }
}

proptest! {
    #[test]
    fn what_a_refresh_gives_is_never_more_than_was_granted(asked in "(openid|read|write|profile|x| ){0,6}", presented in 0u32..10, now in 2000u64..2100) {
        let params = Params::from_pairs([
            ("refresh_token".to_owned(), "r".to_owned()), ("scope".to_owned(), asked),
        ]).unwrap();
        let ask = refresh_token::Ask::parse(&params).unwrap();
        let (settings, family) = (settings(), family());
        let held = Held { family: &family, generation: presented, liveness: Liveness::Alive };
        match refresh_token::decide(&client(), &ask, &held, &context(&settings, now)) {
            RefreshVerdict::Rotate(issue) => {
                prop_assert_eq!(presented, 7);
                prop_assert_eq!(&issue.refresh, &Refresh::Successor(8));
                prop_assert!(issue.scope.tokens().all(|token| family.terms.scope.contains(token)));
            }
            RefreshVerdict::Again(issue) => {
                prop_assert!(presented == 6 && now < 2060);
                prop_assert_eq!(&issue.refresh, &Refresh::Successor(7));
            }
            RefreshVerdict::End(_) => prop_assert!(presented < 7 && now >= 2060),
            RefreshVerdict::Refuse(_) => {}
        }
    }
}
