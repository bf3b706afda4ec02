//! What expires soon: failed logins, pushed requests; and the expiry of everything else.

use signet::store::{NewLogin, Opening, PushedRequest, Redeemed, Redemption, SessionClient, Store};
use signet_oauth::consent::Consent;
use signet_oauth::session::Session;
use signet_oauth::time::Timestamp;

use super::super::maintenance::expire;
use super::super::place::{NOW, Place, client_id, key};
use super::{consent, family, later, session, user};

/// Keys are digests: what tells them apart is all over them.
fn digest(number: u8) -> [u8; 16] {
    [number; 16]
}

pub(in super::super) async fn failures_are_counted_for_a_window_after_the_last(place: Place) {
    let store = place.open();
    let one = digest(1);
    assert_eq!(store.login_failures(one, NOW).await.unwrap(), None);
    for (at, count) in [(0, 1), (50, 2), (140, 3), (240, 1), (241, 2)] {
        let noted = store.note_login_failure(one, later(at), 100).await.unwrap();
        assert_eq!((noted.count, noted.at), (count, later(at)), "{at}");
        assert_eq!(noted.until, later(at + 100));
        let found = store.login_failures(one, later(at)).await.unwrap();
        assert_eq!(found, Some(noted));
    }
    let over = store.login_failures(one, later(341)).await.unwrap();
    assert_eq!(over, None);
    let other = store.note_login_failure(digest(2), NOW, 100).await.unwrap();
    assert_eq!(other.count, 1);
    let store = place.reopen(store).await;
    store.forget_login_failures(digest(2)).await.unwrap();
    assert_eq!(store.login_failures(digest(2), NOW).await.unwrap(), None);
    let stays = store.login_failures(one, NOW).await.unwrap();
    assert_eq!(stays.map(|failures| failures.count), Some(2));
}

pub(in super::super) async fn two_keys_in_one_place_are_never_mixed_up(place: Place) {
    let store = place.open();
    let one = digest(1);
    let mut other = one;
    other[15] = 9;
    for _ in 0..3 {
        store.note_login_failure(one, NOW, 100).await.unwrap();
    }
    let noted = store.note_login_failure(other, NOW, 100).await.unwrap();
    assert_eq!(noted.count, 1);
    assert_eq!(store.login_failures(one, NOW).await.unwrap(), None);
    store.forget_login_failures(one).await.unwrap();
    let stays = store.login_failures(other, NOW).await.unwrap();
    assert_eq!(stays, Some(noted));
}

fn request(number: u64, client: &str) -> PushedRequest {
    PushedRequest {
        id: key(number),
        expires_at: later(60),
        client: client_id(client),
        body: vec![0, 255, 1],
    }
}

pub(in super::super) async fn a_pushed_request_is_found_by_id_and_expiry(place: Place) {
    let store = place.open();
    let mut large = request(2, "other");
    large.body = vec![7; 60_000];
    for request in [request(1, "app"), large.clone()] {
        store.push_request(request).await.unwrap();
    }
    let store = place.reopen(store).await;
    let found = store.find_request(key(1), later(60)).await.unwrap();
    assert_eq!(found, Some(request(1, "app")));
    let found = store.find_request(key(2), later(60)).await.unwrap();
    assert_eq!(found, Some(large));
    for (number, expires_at) in [(1, later(61)), (3, later(60))] {
        let found = store.find_request(key(number), expires_at).await;
        assert_eq!(found.unwrap(), None);
    }
}

/// One of everything that expires at this instant, and the digest of its failure.
async fn write_all(store: &Store, number: u64, until: Timestamp, now: Timestamp) -> [u8; 16] {
    let login = NewLogin {
        session: Some(Session {
            expires_at: until,
            ..session("jane", number)
        }),
        consent: Some(Consent {
            expires_at: Some(until),
            ..consent("jane", &format!("c{number}"))
        }),
    };
    store.log_in(login).await.unwrap();
    let mut family = family("jane", "app", number);
    family.terms.expires_at = until;
    let redemption = Redemption {
        code_id: family.id,
        expires_at: until,
        attempt: key(1),
        opening: Opening {
            family: Some(family),
            token: None,
            session_client: Some(SessionClient {
                session: key(number),
                client: client_id("app"),
                until,
            }),
        },
    };
    let redeemed = store.redeem_code(redemption).await.unwrap();
    assert_eq!(redeemed, Redeemed::Won);
    let digest = digest(u8::try_from(number).unwrap());
    let window = until.0 - now.0;
    store.note_login_failure(digest, now, window).await.unwrap();
    let mut request = request(number, "app");
    request.expires_at = until;
    store.push_request(request).await.unwrap();
    digest
}

pub(in super::super) async fn everything_about_people_expires(place: Place) {
    let store = place.open();
    let (old, new) = (NOW.minus(3600), NOW.plus(3600));
    let digests = [
        write_all(&store, 1, old, old.minus(9)).await,
        write_all(&store, 2, new, old).await,
    ];
    let for_ever = NewLogin {
        session: None,
        consent: Some(consent("jane", "for-ever")),
    };
    store.log_in(for_ever).await.unwrap();
    assert_eq!(expire(&store, NOW).await, 7);

    let sessions = store.list_sessions(&user("jane").id).await.unwrap();
    let ids: Vec<_> = sessions.iter().map(|session| session.id).collect();
    assert_eq!(ids, [key(2)]);
    let consents = store.list_consents(&user("jane").id).await.unwrap();
    let clients: Vec<_> = consents.iter().map(|one| one.client.as_str()).collect();
    assert_eq!(clients, ["c2", "for-ever"]);
    for (number, until, there) in [(1, old, false), (2, new, true)] {
        let found = store.find_family(key(number)).await.unwrap();
        assert_eq!(found.is_some(), there);
        let members = store.session_clients(key(number)).await.unwrap();
        assert_eq!(members.len(), usize::from(there));
        let digest = digests[usize::from(there)];
        let failures = store.login_failures(digest, old.minus(9)).await.unwrap();
        assert_eq!(failures.is_some(), there);
        let found = store.find_request(key(number), until).await.unwrap();
        assert_eq!(found.is_some(), there);
    }
    assert_eq!(expire(&store, NOW).await, 0);
}

pub(in super::super) async fn a_slice_takes_a_bounded_number_of_rows(place: Place) {
    let store = place.open();
    // All at the same instant: a slice must end in the middle of it.
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..20_u64 {
        let store = store.clone();
        tasks.spawn(async move {
            for number in worker * 300..(worker + 1) * 300 {
                let login = NewLogin {
                    session: Some(session("jane", number)),
                    consent: None,
                };
                store.log_in(login).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let first = store.expire(later(7200), 5).await.unwrap();
    assert!(first.more, "{first:?}");
    assert!((1..6000).contains(&first.rows), "{first:?}");
    assert_eq!(first.rows + expire(&store, later(7200)).await, 6000);
    let left = store.list_sessions(&user("jane").id).await.unwrap();
    assert_eq!(left, []);
}
