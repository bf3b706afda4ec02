//! Sessions and who takes part in them.

use signet::store::{EndingKind, NewLogin, Opening, SessionClient, Store};
use signet_oauth::session::Session;

use super::super::endings::ending;
use super::super::place::{Place, client_id, key};
use super::{consent, later, session, user};

pub(in super::super) async fn log_in(store: &Store, session: Session) {
    let login = NewLogin {
        session: Some(session),
        consent: None,
    };
    store.log_in(login).await.unwrap();
}

pub(in super::super) async fn every_field_of_a_session_survives(place: Place) {
    let store = place.open();
    let bare = Session {
        amr: Vec::new(),
        acr: None,
        ..session("jane", 2)
    };
    let written = [session("jane", 1), bare];
    for session in &written {
        log_in(&store, session.clone()).await;
        // Twice is once: the browser may send a form again.
        log_in(&store, session.clone()).await;
    }
    log_in(&store, session("joe", 3)).await;
    let store = place.reopen(store).await;
    for session in &written {
        let found = store.find_session(session.id).await.unwrap();
        assert_eq!(found.as_ref(), Some(session));
    }
    let listed = store.list_sessions(&user("jane").id).await.unwrap();
    let [first, second] = written;
    assert_eq!(listed, [second, first], "newest first");
    assert_eq!(store.find_session(key(9)).await.unwrap(), None);
}

pub(in super::super) async fn an_ended_session_is_gone_and_its_clients_are_known(place: Place) {
    let store = place.open();
    log_in(&store, session("jane", 1)).await;
    log_in(&store, session("jane", 2)).await;
    for (number, client) in [(1, "b"), (1, "a"), (1, "b"), (2, "c")] {
        let opening = Opening {
            session_client: Some(SessionClient {
                session: key(number),
                client: client_id(client),
                until: later(3600),
            }),
            ..Opening::default()
        };
        store.open_family(opening).await.unwrap();
    }
    let ended = store.end(vec![ending(EndingKind::Session, 1, later(3600))]);
    assert_eq!(ended.await.unwrap().rows.len(), 1);
    assert_eq!(store.find_session(key(1)).await.unwrap(), None);
    let listed = store.list_sessions(&user("jane").id).await.unwrap();
    assert_eq!(listed, [session("jane", 2)]);
    let clients = store.session_clients(key(1)).await.unwrap();
    assert_eq!(clients, [client_id("a"), client_id("b")]);
    assert_eq!(store.session_clients(key(3)).await.unwrap(), []);
}

pub(in super::super) async fn a_login_is_one_durable_write(place: Place) {
    let store = place.open();
    let before = store.statistics();
    let login = NewLogin {
        session: Some(session("jane", 1)),
        consent: Some(consent("jane", "app")),
    };
    store.log_in(login).await.unwrap();
    let after = store.statistics();
    assert_eq!(after.commits.count(), before.commits.count() + 1);
    assert_eq!(after.operations, before.operations + 1);
    assert!(store.find_session(key(1)).await.unwrap().is_some());
    let found = store
        .find_consent(&user("jane").id, &client_id("app"))
        .await;
    assert_eq!(found.unwrap(), Some(consent("jane", "app")));
}
