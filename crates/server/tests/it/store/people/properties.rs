//! Whatever a row says, it says the same when it is read.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use signet::store::{NewLogin, Opening, Store};
use signet_oauth::claims::ClaimSet;
use signet_oauth::consent::Consent;
use signet_oauth::family::{Family, FamilySecret, Terms};
use signet_oauth::scope::Scope;
use signet_oauth::session::{Amr, Session};
use signet_oauth::time::Timestamp;
use signet_oauth::user::{PasswordHash, User, UserClaims, Username};

use super::super::place::{Place, client_id};
use super::{family, session, user, user_id};

const TEXT: &str = "[^\0]{1,40}";
const ID: &str = "[!-~]{1,40}";
const SCOPE: &str = "([a-z]{1,8}( [a-z:_]{1,8}){0,3})?";

/// Rows of one draw. Numbers fit the columns of either database.
#[derive(Clone, Debug)]
struct Drawn {
    id: [u8; 16],
    name: String,
    texts: (String, Option<String>, Option<String>),
    numbers: (u32, u32, u32),
    secret: [u8; 32],
    scope: String,
    yes: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (
        any::<[u8; 16]>(),
        ID,
        (TEXT, proptest::option::of(TEXT), proptest::option::of(TEXT)),
        any::<(u32, u32, u32)>(),
        any::<[u8; 32]>(),
        SCOPE,
        any::<bool>(),
    )
        .prop_map(|(id, name, texts, numbers, secret, scope, yes)| Drawn {
            id,
            name,
            texts,
            numbers,
            secret,
            scope,
            yes,
        })
}

fn user_of(drawn: &Drawn) -> Option<User> {
    let (text, some, other) = drawn.texts.clone();
    Some(User {
        id: user_id(&drawn.name),
        username: Username::parse(&text)?,
        generation: drawn.numbers.0.into(),
        session_generation: drawn.numbers.1.into(),
        locked: drawn.yes,
        password: some.clone().map_or(PasswordHash::None, PasswordHash::Hash),
        roles: some.clone().into_iter().collect(),
        claims: UserClaims {
            name: some,
            email: other,
            email_verified: Some(drawn.yes),
            ..UserClaims::default()
        },
        updated_at: Timestamp(drawn.numbers.2.into()),
        ..user("jane")
    })
}

fn family_of(drawn: &Drawn) -> Family {
    let (text, acr, _) = drawn.texts.clone();
    let (one, two, three) = drawn.numbers;
    let amr = if drawn.yes {
        vec![Amr::Password]
    } else {
        Vec::new()
    };
    Family {
        id: drawn.id,
        terms: Terms {
            client: client_id(&drawn.name),
            user: drawn.yes.then(|| user_id(&drawn.name)),
            session: drawn.yes.then_some(drawn.id),
            scope: Scope::parse(&drawn.scope).unwrap(),
            audience: vec![text],
            claims: ClaimSet::from_bits(one),
            client_generation: one.into(),
            user_generation: drawn.yes.then_some(two.into()),
            auth_time: drawn.yes.then_some(Timestamp(three.into())),
            acr,
            amr,
            issued_at: Timestamp(two.into()),
            ..family("jane", "app", 1).terms
        },
        secret: FamilySecret(drawn.secret),
        generation: three,
        rotated_at: Timestamp(one.into()),
    }
}

async fn check(store: &Store, drawn: &Drawn) -> Result<(), TestCaseError> {
    let family = family_of(drawn);
    let opening = Opening {
        family: Some(family.clone()),
        ..Opening::default()
    };
    store.open_family(opening).await.unwrap();
    let found = store.find_family(family.id).await.unwrap();
    prop_assert_eq!(found, Some(family));

    let session = Session {
        id: drawn.id,
        user: user_id(&drawn.name),
        user_session_generation: drawn.numbers.0.into(),
        acr: drawn.texts.1.clone(),
        ..session("jane", 1)
    };
    let consent = Consent {
        user: user_id(&drawn.name),
        client: client_id(&drawn.name),
        scope: Scope::parse(&drawn.scope).unwrap(),
        granted_at: Timestamp(drawn.numbers.1.into()),
        expires_at: drawn.yes.then_some(Timestamp(u64::MAX >> 1)),
    };
    let login = NewLogin {
        session: Some(session.clone()),
        consent: Some(consent.clone()),
    };
    store.log_in(login).await.unwrap();
    let found = store.find_session(session.id).await.unwrap();
    prop_assert_eq!(found, Some(session));
    let found = store.find_consent(&consent.user, &consent.client).await;
    prop_assert_eq!(found.unwrap(), Some(consent));

    let Some(user) = user_of(drawn) else {
        return Ok(());
    };
    let imported = store.import_users(vec![user.clone()]).await.unwrap();
    if imported.created == 1 {
        let found = store.find_user(&user.id).await.unwrap();
        prop_assert_eq!(found.value.as_ref(), Some(&user));
        let found = store.find_user_by_name(&user.username).await.unwrap();
        prop_assert_eq!(found.value, Some(user));
    }
    Ok(())
}

/// As many draws as there is patience for, on the runtime of the test.
pub(in super::super) async fn rows_about_people_survive(place: Place) {
    let store = place.open();
    let config = ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let runtime = tokio::runtime::Handle::current();
    let run = move || {
        let mut runner = TestRunner::new(config);
        let tried = runner.run(&drawn(), |drawn| runtime.block_on(check(&store, &drawn)));
        tried.map_err(|why| why.to_string())
    };
    tokio::task::spawn_blocking(run).await.unwrap().unwrap();
}
