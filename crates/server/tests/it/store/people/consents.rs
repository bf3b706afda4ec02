//! Consents.

use signet::store::{NewLogin, Opening, StateRow, Store, Withdrawn};
use signet_oauth::consent::Consent;
use signet_oauth::log::{Event, user_key};
use signet_oauth::scope::Scope;

use super::super::endings::{ending, state_of};
use super::super::place::{Place, client_id, key};
use super::{consent, family, later, user};
use signet::store::EndingKind;

async fn allow(store: &Store, consent: Consent) {
    let login = NewLogin {
        session: None,
        consent: Some(consent),
    };
    store.log_in(login).await.unwrap();
}

pub(in super::super) async fn a_consent_takes_the_place_of_the_one_before(place: Place) {
    let store = place.open();
    let first = consent("jane", "app");
    let second = Consent {
        scope: Scope::parse("openid email phone").unwrap(),
        granted_at: later(5),
        expires_at: Some(later(500)),
        ..first.clone()
    };
    for consent in [first, second.clone()] {
        allow(&store, consent.clone()).await;
        let found = store.find_consent(&consent.user, &consent.client).await;
        assert_eq!(found.unwrap(), Some(consent));
    }
    allow(&store, consent("jane", "a")).await;
    allow(&store, consent("joe", "app")).await;
    let store = place.reopen(store).await;
    let listed = store.list_consents(&user("jane").id).await.unwrap();
    assert_eq!(listed, [consent("jane", "a"), second]);
    let missing = store.find_consent(&user("joe").id, &client_id("a")).await;
    assert_eq!(missing.unwrap(), None);
}

pub(in super::super) async fn a_withdrawn_consent_ends_the_families_of_its_client(place: Place) {
    let store = place.open();
    for (name, client, number) in [
        ("jane", "app", 1),
        ("jane", "app", 2),
        ("jane", "other", 3),
        ("joe", "app", 4),
    ] {
        allow(&store, consent(name, client)).await;
        let opening = Opening {
            family: Some(family(name, client, number)),
            ..Opening::default()
        };
        store.open_family(opening).await.unwrap();
    }
    let (jane, app) = (user("jane").id, client_id("app"));
    let until = later(90_000);
    let withdrawn = store.withdraw_consent(&jane, &app, until).await.unwrap();
    let mut events: Vec<_> = withdrawn.rows.iter().map(|row| row.event.clone()).collect();
    events[1..].sort_by_key(|event| format!("{event:?}"));
    let ends = [1, 2].map(|number| ending(EndingKind::Family, number, until));
    let changed = Event::ConsentChanged {
        key: user_key("usr_jane"),
    };
    assert!(withdrawn.found);
    assert_eq!(events, [changed, ends[0].event(), ends[1].event()]);
    let (_, state) = state_of(&store).await;
    assert_eq!(state, ends.map(StateRow::Ended));
    for (number, there) in [(1, false), (2, false), (3, true), (4, true)] {
        let found = store.find_family(key(number)).await.unwrap();
        assert_eq!(found.is_some(), there, "{number}");
    }
    assert_eq!(store.find_consent(&jane, &app).await.unwrap(), None);
    let again = store.withdraw_consent(&jane, &app, until).await.unwrap();
    let Withdrawn { found, rows } = again;
    assert_eq!((found, rows.len()), (false, 1));
}
