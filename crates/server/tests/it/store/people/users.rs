//! Users.

use signet::store::{
    CreatedUser, DeletedUser, Ends, NewLogin, Opening, StateRow, Store, UpdatedUser, UserField,
    UserPage, UserUpdate,
};
use signet_oauth::log::{Event, Position, user_key};
use signet_oauth::user::{Address, PasswordHash, User, UserClaims};

use super::super::endings::state_of;
use super::super::place::{NOW, Place, key};
use super::{consent, family, later, session, user, user_id};

pub(in super::super) async fn create(store: &Store, user: User) -> User {
    match store.create_user(user, key(1)).await.unwrap() {
        CreatedUser::Done { user, .. } => *user,
        CreatedUser::Exists => panic!("the id or the name is taken"),
    }
}

fn full(name: &str) -> User {
    let some = |text: &str| Some(format!("{text} é"));
    User {
        generation: 9,
        session_generation: 7,
        locked: true,
        password: PasswordHash::Imported("$2b$08$abc".to_owned()),
        roles: vec!["admin".to_owned(), "reader of é".to_owned()],
        claims: UserClaims {
            name: some("name"),
            given_name: some("given"),
            family_name: some("family"),
            middle_name: some("middle"),
            nickname: some("nick"),
            preferred_username: some("preferred"),
            profile: some("profile"),
            picture: some("picture"),
            website: some("website"),
            email: Some("Full@Example.com".to_owned()),
            email_verified: Some(true),
            gender: some("gender"),
            birthdate: some("birthdate"),
            zoneinfo: some("zoneinfo"),
            locale: some("locale"),
            phone_number: some("phone"),
            phone_number_verified: Some(false),
            address: Some(Address {
                formatted: some("formatted\n"),
                street_address: some("street"),
                locality: some("locality"),
                region: some("region"),
                postal_code: some("postal"),
                country: some("country"),
            }),
        },
        created_at: later(1),
        updated_at: later(2),
        ..user(name)
    }
}

pub(in super::super) async fn every_field_of_a_user_survives(place: Place) {
    let store = place.open();
    let bare = User {
        password: PasswordHash::None,
        ..user("bare")
    };
    let written = [full("full"), user("plain"), bare];
    for user in &written {
        assert_eq!(create(&store, user.clone()).await, *user);
    }
    let store = place.reopen(store).await;
    for user in written {
        let found = store.find_user(&user.id).await.unwrap();
        assert_eq!(found.value.as_ref(), Some(&user));
        assert_eq!(found.head, Position(3));
        let found = store.find_user_by_name(&user.username).await.unwrap();
        assert_eq!((found.value, found.head), (Some(user), Position(3)));
    }
    let missing = store.find_user(&user_id("nobody")).await.unwrap();
    assert_eq!((missing.value, missing.head), (None, Position(3)));
    let missing = store.find_user_by_name(&user("nobody").username).await;
    assert_eq!(missing.unwrap().value, None);
}

pub(in super::super) async fn an_id_and_a_name_are_taken_once(place: Place) {
    let store = place.open();
    let jane = create(&store, user("jane")).await;
    let same_name = User {
        id: user_id("usr_other"),
        ..user("jane")
    };
    let same_id = User {
        username: user("other").username,
        ..user("jane")
    };
    for other in [same_name, same_id, user("jane")] {
        let again = store.create_user(other, key(2)).await.unwrap();
        assert_eq!(again, CreatedUser::Exists);
    }
    // The same attempt again finds what it created.
    assert_eq!(create(&store, user("jane")).await, jane);
}

fn update(user: &User, ends: Ends) -> UserUpdate {
    UserUpdate {
        user: Box::new(user.clone()),
        expected_version: user.version,
        ends,
        until: later(300),
    }
}

pub(in super::super) async fn an_update_of_a_user_names_the_version_that_it_read(place: Place) {
    let store = place.open();
    let mut jane = create(&store, user("jane")).await;
    create(&store, user("joe")).await;
    jane.claims.email = Some("jane@example.com".to_owned());
    jane.username = user("jane2").username;
    jane.updated_at = later(1);
    let UpdatedUser::Done { user: updated, row } = store
        .update_user(update(&jane, Ends::Nothing))
        .await
        .unwrap()
    else {
        panic!("not updated");
    };
    assert_eq!((updated.version, updated.generation), (2, 1));
    let event = Event::UserChanged {
        key: user_key("usr_jane"),
        generation: 1,
    };
    assert_eq!((row.event, row.until), (event, jane.updated_at));
    let found = store.find_user(&jane.id).await.unwrap();
    assert_eq!(found.value.as_ref(), Some(&*updated));
    let gone = store.find_user_by_name(&user("jane").username).await;
    assert_eq!(gone.unwrap().value, None);
    let stale = store.update_user(update(&jane, Ends::Nothing)).await;
    assert_eq!(stale.unwrap(), UpdatedUser::Stale);
    let missing = store
        .update_user(update(&user("nobody"), Ends::Tokens))
        .await;
    assert_eq!(missing.unwrap(), UpdatedUser::Missing);
    let named_joe = User {
        username: user("joe").username,
        ..*updated
    };
    let taken = store.update_user(update(&named_joe, Ends::Tokens)).await;
    assert_eq!(taken.unwrap(), UpdatedUser::Taken);
}

/// A user with a session, a consent and a family.
async fn busy(store: &Store, name: &str, number: u64) -> User {
    let user = create(store, user(name)).await;
    let login = NewLogin {
        session: Some(session(name, number)),
        consent: Some(consent(name, "app")),
    };
    store.log_in(login).await.unwrap();
    let opening = Opening {
        family: Some(family(name, "app", number)),
        ..Opening::default()
    };
    store.open_family(opening).await.unwrap();
    user
}

/// Whether it has sessions, consents, the family.
async fn possessions(store: &Store, name: &str, number: u64) -> (bool, bool, bool) {
    let id = user(name).id;
    (
        !store.list_sessions(&id).await.unwrap().is_empty(),
        !store.list_consents(&id).await.unwrap().is_empty(),
        store.find_family(key(number)).await.unwrap().is_some(),
    )
}

pub(in super::super) async fn a_change_ends_what_it_says(place: Place) {
    let store = place.open();
    let mut jane = busy(&store, "jane", 1).await;
    busy(&store, "joe", 2).await;
    for (ends, generations, there) in [
        (Ends::Nothing, (1, 1), (true, true, true)),
        (Ends::Tokens, (2, 1), (true, true, false)),
        (Ends::TokensAndSessions, (3, 2), (false, true, false)),
    ] {
        let updated = store.update_user(update(&jane, ends)).await.unwrap();
        let UpdatedUser::Done { user: updated, row } = updated else {
            panic!("not updated");
        };
        jane = *updated;
        assert_eq!((jane.generation, jane.session_generation), generations);
        assert_eq!(possessions(&store, "jane", 1).await, there, "{ends:?}");
        let (head, state) = state_of(&store).await;
        assert_eq!(head, row.position);
        let expected = (ends != Ends::Nothing).then(|| StateRow::UserGeneration {
            key: user_key("usr_jane"),
            generation: jane.generation,
            until: later(300),
        });
        assert_eq!(state, expected.into_iter().collect::<Vec<_>>());
    }
    assert_eq!(possessions(&store, "joe", 2).await, (true, true, true));
}

pub(in super::super) async fn a_deleted_user_leaves_nothing_and_comes_back_higher(place: Place) {
    let store = place.open();
    let jane = busy(&store, "jane", 1).await;
    busy(&store, "joe", 2).await;
    let stale = store.delete_user(&jane.id, Some(7), later(300)).await;
    assert_eq!(stale.unwrap(), DeletedUser::Stale);
    let deleted = store.delete_user(&jane.id, Some(1), later(300)).await;
    let DeletedUser::Done { row } = deleted.unwrap() else {
        panic!("not deleted");
    };
    let event = Event::UserChanged {
        key: user_key("usr_jane"),
        generation: 2,
    };
    assert_eq!((row.event, row.until), (event, later(300)));
    assert_eq!(store.find_user(&jane.id).await.unwrap().value, None);
    assert_eq!(possessions(&store, "jane", 1).await, (false, false, false));
    assert_eq!(possessions(&store, "joe", 2).await, (true, true, true));
    let again = store.delete_user(&jane.id, None, NOW).await.unwrap();
    assert_eq!(again, DeletedUser::Missing);
    let back = create(&store, user("jane")).await;
    let generations = (back.generation, back.session_generation);
    assert_eq!((back.version, generations), (1, (3, 3)));
    let found = store.find_user(&back.id).await.unwrap();
    assert_eq!(found.value, Some(back));
}

pub(in super::super) async fn an_import_can_be_run_again(place: Place) {
    let store = place.open();
    create(&store, user("n7")).await;
    let gone = create(&store, user("n8")).await;
    store.delete_user(&gone.id, None, later(300)).await.unwrap();
    let head = store.head().await.unwrap().position;
    let users: Vec<User> = (0..1000).map(|n| user(&format!("n{n}"))).collect();
    let mut twice = users.clone();
    twice.push(user("n9"));
    let imported = store.import_users(twice).await.unwrap();
    assert_eq!(imported.created, 999);
    assert_eq!(imported.skipped, [user_id("usr_n7"), user_id("usr_n9")]);
    // Only the one that came back is news: nobody can have known the others.
    let events: Vec<_> = imported.rows.iter().map(|row| row.event.clone()).collect();
    let came_back = Event::UserChanged {
        key: user_key("usr_n8"),
        generation: 3,
    };
    assert_eq!(events, [came_back]);
    assert_eq!(store.head().await.unwrap().position, head.next());
    let again = store.import_users(users.clone()).await.unwrap();
    assert_eq!((again.created, again.skipped.len()), (0, 1000));
    let found = store.find_user(&users[999].id).await.unwrap();
    assert_eq!(found.value.as_ref(), Some(&users[999]));
}

pub(in super::super) async fn users_are_searched_by_prefix_in_pages(place: Place) {
    let store = place.open();
    for (name, email, full_name) in [
        ("alice", Some("Zoe@x.example"), Some("Älice Ä")),
        ("alan", Some("alan@x.example"), None),
        ("al%", None, Some("alan")),
        ("bob", Some("ALAN@y.example"), Some("Alan B")),
        ("carl", Some("alan@x.example"), Some("ÄLFRED")),
    ] {
        let mut new = user(name);
        if name == "al%" {
            new.id = user_id("usr_percent");
        }
        new.claims.email = email.map(str::to_owned);
        new.claims.name = full_name.map(str::to_owned);
        create(&store, new).await;
    }
    for (field, prefix, expected) in [
        (
            UserField::Username,
            "",
            &["al%", "alan", "alice", "bob", "carl"][..],
        ),
        (UserField::Username, "AL", &["al%", "alan", "alice"]),
        (UserField::Username, "al%", &["al%"]),
        (UserField::Username, "x", &[]),
        (UserField::Email, "alan@", &["alan", "carl", "bob"]),
        (UserField::Email, "", &["alan", "carl", "bob", "alice"]),
        (UserField::Name, "alan", &["al%", "bob"]),
        (UserField::Name, "äL", &["carl", "alice"]),
    ] {
        let mut found = Vec::new();
        let mut page = UserPage {
            field,
            prefix: prefix.to_owned(),
            after: None,
            limit: 2,
        };
        loop {
            let list = store.list_users(page.clone()).await.unwrap();
            assert!(list.users.len() <= 2);
            found.extend(list.users.iter().map(|user| user.username.to_string()));
            page.after = list.next;
            if page.after.is_none() {
                break;
            }
        }
        let expected: Vec<_> = expected.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(found, expected, "{field:?} {prefix:?}");
    }
}
