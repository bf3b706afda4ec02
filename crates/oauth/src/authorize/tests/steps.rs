//! What must happen before an answer.

use super::*;
use crate::client::ClientLogin;
use crate::consent::Consent;
use crate::scope::Scope;
use crate::session::{ACR_PASSWORD, Session, example as session};
use crate::time::Timestamp;
use crate::user::{self, User, UserId};

/// Jane is logged in since 1000 and has allowed everything; it is 2000.
struct Case {
    session: Option<Session>,
    user: User,
    consent: Option<Consent>,
    logged_in_here: bool,
    allowed: Option<Scope>,
}

impl Case {
    fn usual() -> Self {
        Self {
            session: Some(session()),
            user: user::example(),
            consent: Some(consent("openid profile email")),
            logged_in_here: false,
            allowed: None,
        }
    }

    fn step(&self, request: &AuthorizationRequest) -> Step {
        self.step_for(&client(), request)
    }

    fn step_for(&self, client: &Client, request: &AuthorizationRequest) -> Step {
        let facts = Facts {
            session: self.session.as_ref(),
            session_ended: false,
            user: Some(&self.user),
            logged_in_here: self.logged_in_here,
            consent: self.consent.as_ref(),
            allowed: self.allowed.as_ref(),
            now: Timestamp(2000),
        };
        next_step(request, client, &facts)
    }
}

fn consent(scope: &str) -> Consent {
    Consent {
        user: UserId::parse("usr_jane").unwrap(),
        client: client().id,
        scope: Scope::parse(scope).unwrap(),
        granted_at: Timestamp(1000),
        expires_at: None,
    }
}

fn login(reason: LoginReason) -> Step {
    Step::Login { reason }
}

fn asks(scope: &str) -> Step {
    Step::Consent {
        scopes: Scope::parse(scope).unwrap(),
    }
}

fn refused(step: Step) -> ErrorCode {
    match step {
        Step::Refuse(error) => error.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn prompt_and_max_age_table() {
    let usual = Case::usual();
    let nobody = Case {
        session: None,
        ..Case::usual()
    };
    let fresh = Case {
        logged_in_here: true,
        ..Case::usual()
    };
    for (case, more, expected) in [
        (&usual, "", Step::Issue),
        (&nobody, "", login(LoginReason::NoSession)),
        (&usual, "&prompt=none", Step::Issue),
        (&usual, "&prompt=login", login(LoginReason::Prompt)),
        (&fresh, "&prompt=login", Step::Issue),
        (
            &usual,
            "&prompt=select_account",
            login(LoginReason::SelectAccount),
        ),
        (&fresh, "&prompt=select_account", Step::Issue),
        (&usual, "&prompt=consent", asks("openid profile")),
        (&usual, "&max_age=1000", Step::Issue),
        (&usual, "&max_age=999", login(LoginReason::MaxAge)),
        (&usual, "&max_age=0", login(LoginReason::MaxAge)),
        (&fresh, "&max_age=0", Step::Issue),
        (&usual, "&max_age=10000&prompt=none", Step::Issue),
    ] {
        assert_eq!(case.step(&code_request(more)), expected, "{more}");
    }
}

#[test]
fn prompt_none_never_shows_a_page() {
    let nobody = Case {
        session: None,
        ..Case::usual()
    };
    let stranger = Case {
        consent: None,
        ..Case::usual()
    };
    for (case, more, code) in [
        (&nobody, "", ErrorCode::LoginRequired),
        (&Case::usual(), "&max_age=1", ErrorCode::LoginRequired),
        (&stranger, "", ErrorCode::ConsentRequired),
    ] {
        let request = code_request(&format!("&prompt=none{more}"));
        assert_eq!(refused(case.step(&request)), code, "{more}");
    }
}

#[test]
fn a_dead_session_is_no_session() {
    let case = |session, user| Case {
        session: Some(session),
        user,
        ..Case::usual()
    };
    let expired = Session {
        expires_at: Timestamp(2000),
        ..session()
    };
    let locked = User {
        locked: true,
        ..user::example()
    };
    let changed = User {
        session_generation: 3,
        ..user::example()
    };
    for case in [
        case(expired, user::example()),
        case(session(), locked),
        case(session(), changed),
    ] {
        assert_eq!(case.step(&code_request("")), login(LoginReason::NoSession));
    }
    let behind = case(
        session(),
        User {
            session_generation: 1,
            ..user::example()
        },
    );
    assert_eq!(behind.step(&code_request("")), Step::Behind);
}

#[test]
fn nobody_is_shown_in_the_place_of_somebody_else() {
    let mut request = code_request("");
    request.subject = UserId::parse("usr_joe");
    assert_eq!(Case::usual().step(&request), login(LoginReason::OtherUser));
    let fresh = Case {
        logged_in_here: true,
        ..Case::usual()
    };
    assert_eq!(refused(fresh.step(&request)), ErrorCode::LoginRequired);
    let mut silent = code_request("&prompt=none");
    silent.subject = UserId::parse("usr_joe");
    assert_eq!(
        refused(Case::usual().step(&silent)),
        ErrorCode::LoginRequired
    );
    silent.subject = UserId::parse("usr_jane");
    assert_eq!(Case::usual().step(&silent), Step::Issue);
}

#[test]
fn consent_is_remembered_until_more_is_asked_for() {
    let with = |consent| Case {
        consent,
        ..Case::usual()
    };
    let request = code_request("");
    for (consent, expected) in [
        (None, asks("openid profile")),
        (Some(consent("openid")), asks("openid profile")),
        (Some(consent("openid profile")), Step::Issue),
        (
            Some(Consent {
                expires_at: Some(Timestamp(2000)),
                ..consent("openid profile")
            }),
            asks("openid profile"),
        ),
        (
            Some(Consent {
                user: UserId::parse("usr_joe").unwrap(),
                ..consent("openid profile")
            }),
            asks("openid profile"),
        ),
    ] {
        assert_eq!(with(consent).step(&request), expected);
    }
    let allowed = Case {
        consent: None,
        allowed: Some(Scope::parse("openid").unwrap()),
        ..Case::usual()
    };
    assert_eq!(allowed.step(&code_request("&prompt=consent")), Step::Issue);
}

#[test]
fn claims_that_are_asked_for_by_name_need_consent_too() {
    let asked = "&claims=%7B%22userinfo%22%3A%7B%22email%22%3Anull%7D%7D";
    let with = |scope| Case {
        consent: Some(consent(scope)),
        ..Case::usual()
    };
    let step = with("openid profile").step(&code_request(asked));
    assert_eq!(step, asks("openid profile email"));
    let step = with("openid profile email").step(&code_request(asked));
    assert_eq!(step, Step::Issue);
}

#[test]
fn a_first_party_client_does_not_ask_unless_it_says_so() {
    let ours = Client {
        login: ClientLogin {
            skip_consent: true,
            ..ClientLogin::default()
        },
        ..client()
    };
    let case = Case {
        consent: None,
        ..Case::usual()
    };
    assert_eq!(case.step_for(&ours, &code_request("")), Step::Issue);
    let asked = case.step_for(&ours, &code_request("&prompt=consent"));
    assert_eq!(asked, asks("openid profile"));
}

#[test]
fn an_essential_acr_is_reached_or_refused() {
    let request = |essential: bool, values: &[&str]| AuthorizationRequest {
        acr_essential: essential,
        acr_values: values.iter().map(|value| (*value).to_owned()).collect(),
        ..code_request("")
    };
    let weak = Case {
        session: Some(Session {
            acr: None,
            ..session()
        }),
        ..Case::usual()
    };
    assert_eq!(weak.step(&request(false, &["gold"])), Step::Issue);
    assert_eq!(
        Case::usual().step(&request(true, &["gold", ACR_PASSWORD])),
        Step::Issue
    );
    let again = weak.step(&request(true, &["gold", ACR_PASSWORD]));
    assert_eq!(again, login(LoginReason::Acr));
    let never = refused(Case::usual().step(&request(true, &["gold"])));
    assert_eq!(never, ErrorCode::UnmetAuthenticationRequirements);
}
