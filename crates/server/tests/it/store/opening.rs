//! Opening: what can be wrong with a database, and what the message says.

use std::os::unix::fs::PermissionsExt;

use signet::store::{OpenError, Store, StoreOptions, StoreUrl};

use super::place::{NOW, Place, token};

fn open_error(url: &StoreUrl, options: StoreOptions) -> OpenError {
    match Store::open(url, options) {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_second_start_names_the_file_that_is_in_use() {
    let place = Place::sqlite();
    let store = place.open();
    let error = open_error(&place.url, StoreOptions::default());
    assert!(matches!(error, OpenError::InUse { .. }), "{error:?}");
    assert!(error.to_string().contains("signet.db"), "{error}");
    store.close().await;
    place.open().close().await;
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    for (place, sql) in [
        (Place::sqlite(), "PRAGMA user_version = 99"),
        (
            Place::postgres().await,
            "UPDATE schema_version SET version = 99, works_from = 99",
        ),
    ] {
        place.open().close().await;
        assert!(place.execute(sql).await);
        let error = open_error(&place.url, StoreOptions::default());
        assert!(
            matches!(error, OpenError::NewerSchema { found: 99, .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains("newer version"), "{error}");
    }
}

#[tokio::test]
async fn missing_migrations_are_applied_only_when_asked_for() {
    for place in [Place::sqlite(), Place::postgres().await] {
        let options = StoreOptions {
            migrate: false,
            ..StoreOptions::default()
        };
        let error = open_error(&place.url, options);
        assert!(
            matches!(error, OpenError::OlderSchema { found: 0, .. }),
            "{error:?}"
        );
        let (before, after) = Store::migrate(&place.url).unwrap();
        assert!(before == 0 && after > 0);
        Store::open(&place.url, options).unwrap().close().await;
        assert_eq!(Store::migrate(&place.url).unwrap(), (after, after));
    }
}

#[tokio::test]
async fn the_files_are_readable_for_their_owner_only() {
    let place = Place::sqlite();
    let store = place.open();
    store.insert_token(token(1, NOW)).await.unwrap();
    let dir = place.dir.as_ref().unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.path());
        seen += 1;
    }
    assert_eq!(seen, 4, "database, log, index of the log, lock");
    store.close().await;
}

#[tokio::test]
async fn other_files_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("notes.txt");
    let words = "not a database, but long enough to be one. ".repeat(50);
    std::fs::write(&text, &words).unwrap();
    let foreign = dir.path().join("foreign.db");
    let connection = rusqlite::Connection::open(&foreign).unwrap();
    connection.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(connection);
    for path in [text.clone(), foreign] {
        let url = StoreUrl::Sqlite(path);
        let error = open_error(&url, StoreOptions::default());
        assert!(matches!(error, OpenError::NotADatabase(_)), "{error:?}");
    }
    assert_eq!(std::fs::read_to_string(text).unwrap(), words);
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let url = StoreUrl::Sqlite(dir.path().join("missing/signet.db"));
    let error = open_error(&url, StoreOptions::default());
    assert!(error.to_string().contains("missing/signet.db"), "{error}");
}

#[tokio::test]
async fn a_newer_schema_that_still_fits_lets_an_older_node_start() {
    let place = Place::postgres().await;
    place.open().close().await;
    assert!(
        place
            .execute("UPDATE schema_version SET version = 99")
            .await
    );
    place.open().close().await;
}

#[tokio::test]
async fn nodes_that_start_at_once_migrate_once() {
    let place = Place::postgres().await;
    let opened: Vec<_> = (0..4)
        .map(|_| {
            let url = place.url.clone();
            std::thread::spawn(move || Store::open(&url, StoreOptions::default()))
        })
        .collect();
    for thread in opened {
        thread.join().unwrap().unwrap().close().await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_url_of_postgresql_is_said() {
    let place = Place::postgres().await;
    let StoreUrl::Postgres(url) = &place.url else {
        panic!("this is about PostgreSQL");
    };
    let (login, rest) = url.split_once('@').unwrap();
    let (user, _) = login.rsplit_once(':').unwrap();
    let (host, database) = rest.split_once('/').unwrap();
    for (url, part) in [
        (format!("{user}:wrong@{rest}"), "refused the login"),
        (format!("{user}@{rest}"), "refused the login"),
        (format!("{login}@{host}/nowhere"), "refused the login"),
        (
            format!("{login}@127.0.0.1:1/{database}"),
            "cannot be reached",
        ),
        (format!("{url}?sslmode=require"), "cannot be reached"),
        (format!("{url}?sslmode=sometimes"), "sslmode"),
        (format!("{url}?sslrootcert=/nowhere.pem"), "/nowhere.pem"),
    ] {
        let error = open_error(&StoreUrl::Postgres(url.clone()), StoreOptions::default());
        let text = error.to_string();
        assert!(text.contains(part), "{url}: {text}");
    }
}
