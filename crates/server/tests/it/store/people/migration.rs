//! A database of the first schema, with rows in all of its tables, is brought to this one: what
//! was there is still there, and what is new works. A node that does not know the new tables goes
//! on writing beside it.

use signet::store::{Inserted, SingleUse, Store, StoreOptions, StoreUrl};
use signet_oauth::claims::ClaimSet;
use signet_oauth::log::{Position, token_key};

use super::super::endings::state_of;
use super::super::families::{open, rotation};
use super::super::place::{NOW, Place, client, key, run, token};
use super::{family, user};

const CLIENT: &str = r#"{"secret":{"hash":"$2b$08$abc"},"auth_method":"client_secret_basic",
    "grants":["client_credentials"],"scope":"api:read device_*","audience":["https://api.example"],
    "tokens":{"form":"opaque","persistence":"persisted"},"reuse_live_token":false,"metadata":{}}"#;

/// What a server of the first schema has written, in words that both databases understand but for
/// how bytes and truth are written.
fn rows(bytes: fn(&[u8]) -> String, yes: &str) -> String {
    let stored = token(1, NOW);
    let locator = stored.token.id.locator().row_id();
    let (token_key, some_key) = (bytes(&token_key(stored.token.id)), bytes(&key(1)));
    let until = NOW.0;
    format!(
        "INSERT INTO clients (tenant, id, generation, version, enabled, name, owner, created_at,
         updated_at, attempt, body) VALUES (0, 'app', 1, 1, {yes}, NULL, NULL, {until}, {until},
         {some_key}, '{CLIENT}');
         {};
         INSERT INTO ended (tenant, bucket, kind, key, until) VALUES (0, 0, 6, {some_key}, {until});
         INSERT INTO generations (tenant, kind, key, name, generation, until)
         VALUES (0, 2, {some_key}, NULL, 5, {until});
         INSERT INTO assertions (tenant, until, key, attempt)
         VALUES (0, {until}, {some_key}, {some_key});
         INSERT INTO log (position, tenant, mark, at, kind, key, until)
         VALUES (1, 0, {some_key}, 1000, 6, {some_key}, {until});
         UPDATE log_head SET position = 1, mark = {some_key};",
        insert_token(locator, &token_key)
    )
}

/// The statement of a node that knows the first schema.
fn insert_token(locator: i64, key: &str) -> String {
    let (issued, until) = (NOW.minus(300).0, NOW.0);
    format!(
        "INSERT INTO tokens (tenant, locator, key, client, subject, scope, audience, issued_at,
         expires_at, form, cgn, ugn, family, session) VALUES (0, {locator}, {key}, 'app', NULL,
         'api:read', '[\"https://api.example\"]', {issued}, {until}, 1, 1, NULL, NULL, NULL)"
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

async fn check(store: &Store) {
    let found = store.find_client(&client("app").id).await.unwrap();
    assert_eq!(
        (found.value, found.head),
        (Some(client("app")), Position(1))
    );
    let stored = token(1, NOW);
    let found = store.find_token(stored.token.id).await.unwrap();
    assert_eq!(found, Some((stored.token, stored.form)));
    let (_, state) = state_of(store).await;
    assert_eq!(state.len(), 2);
    let used = store.use_assertion(key(1), NOW, key(2)).await.unwrap();
    assert_eq!(used, SingleUse::Used);
    super::users::create(store, user("jane")).await;
    open(store, family("jane", "app", 1)).await;
    store.rotate_family(rotation(1, 0, 1)).await.unwrap();
    let mut new = token(2, NOW);
    new.token.claims = ClaimSet::from_bits(1);
    assert_eq!(
        store.insert_token(new.clone()).await.unwrap(),
        Inserted::Done
    );
    let found = store.find_token(new.token.id).await.unwrap();
    assert_eq!(found, Some((new.token, new.form)));
}

/// What the node that does not know the new tables writes is read by the one that does.
async fn check_beside(place: &Place, store: &Store, bytes: fn(&[u8]) -> String) {
    let beside = token(3, NOW);
    let locator = beside.token.id.locator().row_id();
    let sql = insert_token(locator, &bytes(&token_key(beside.token.id)));
    assert!(place.execute(&sql).await);
    let found = store.find_token(beside.token.id).await.unwrap();
    assert_eq!(found, Some((beside.token, beside.form)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filled_file_of_the_first_schema_is_migrated() {
    let place = Place::sqlite();
    let StoreUrl::Sqlite(path) = &place.url else {
        panic!("this is about SQLite");
    };
    let bytes = |bytes: &[u8]| format!("x'{}'", hex(bytes));
    let first = include_str!("../../../../migrations/sqlite/0001_token_service.sql");
    let database = rusqlite::Connection::open(path).unwrap();
    let sql = format!("{first}; {}; PRAGMA user_version = 1;", rows(bytes, "1"));
    database.execute_batch(&sql).unwrap();
    drop(database);
    assert_eq!(Store::migrate(&place.url).unwrap(), (1, 2));
    let store = place.open();
    check(&store).await;
    check_beside(&place, &store, bytes).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filled_database_of_the_first_schema_is_migrated_beside_its_node() {
    let place = Place::postgres().await;
    let StoreUrl::Postgres(url) = &place.url else {
        panic!("this is about PostgreSQL");
    };
    let bytes = |bytes: &[u8]| format!("'\\x{}'::bytea", hex(bytes));
    let first = include_str!("../../../../migrations/postgres/0001_token_service.sql");
    let sql = format!(
        "{first}; CREATE TABLE tokens_all PARTITION OF tokens DEFAULT; {};
         CREATE TABLE schema_version (version bigint NOT NULL, works_from bigint NOT NULL);
         INSERT INTO schema_version VALUES (1, 1);",
        rows(bytes, "true")
    );
    run(url, &sql).await;
    assert_eq!(Store::migrate(&place.url).unwrap(), (1, 2));
    let options = StoreOptions {
        migrate: false,
        ..StoreOptions::default()
    };
    let store = Store::open(&place.url, options).unwrap();
    check(&store).await;
    check_beside(&place, &store, bytes).await;
    let beside = "DO $$ BEGIN ASSERT (SELECT works_from FROM schema_version) = 1; END $$";
    assert!(place.execute(beside).await);
    store.close().await;
}
