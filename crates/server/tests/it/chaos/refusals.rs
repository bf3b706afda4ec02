//! Starts that must fail: with a status that is not 0, a message that says what to do, and nothing
//! touched.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use super::child::{Launch, cluster_key, free_port};
use super::plan::variable;

/// A user who is not root, for what root may do anyway; nothing where these tests are not root.
fn ordinary_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let name = variable("SIGNET_TEST_PG_USER").unwrap_or_else(|| "nobody".to_owned());
    let number = |option: &str| {
        let told = std::process::Command::new("id")
            .args([option, &name])
            .output()
            .unwrap();
        String::from_utf8(told.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    };
    Some((number("-u"), number("-g")))
}

/// A launch on an `SQLite` file, as somebody for whom permissions count.
struct Case {
    place: tempfile::TempDir,
    launch: Launch,
    user: Option<(u32, u32)>,
}

impl Case {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let store = format!("sqlite:{}", place.path().join("data/signet.db").display());
        let mut launch = Launch::new(place.path(), &store);
        let user = ordinary_user();
        if let Some((user, group)) = user {
            fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
            launch = launch.run_as(user, group);
        }
        let case = Self {
            place,
            launch,
            user,
        };
        fs::create_dir(case.data()).unwrap();
        case.own(&case.data());
        case
    }

    fn data(&self) -> PathBuf {
        self.launch.data.clone()
    }

    fn database(&self) -> PathBuf {
        self.data().join("signet.db")
    }

    fn own(&self, path: &Path) {
        if let Some((user, group)) = self.user {
            chown(path, Some(user), Some(group)).unwrap();
        }
    }

    /// A file of the server's own.
    fn write(&self, path: &Path, bytes: impl AsRef<[u8]>) {
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        self.own(path);
    }

    async fn start_and_stop(&self) {
        self.launch.start().await.stop().await;
    }

    /// It refuses, and says all of these words.
    async fn is_refused(&self, words: &[&str]) {
        refuses(&self.launch, words).await;
    }
}

async fn refuses(launch: &Launch, words: &[&str]) {
    let (code, output) = launch.refusal().await;
    assert!(code != 0 && code != 101, "exit status {code}: {output}");
    for word in words {
        assert!(output.contains(word), "{word:?} is missing in:\n{output}");
    }
    assert!(!output.contains("panicked"), "{output}");
    let lines = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .count();
    assert!(lines <= 6, "the message drowns in {lines} lines:\n{output}");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_database_that_may_not_be_written_is_named() {
    let case = Case::new();
    case.start_and_stop().await;
    set_mode(&case.database(), 0o400);
    case.is_refused(&["signet.db", "cannot be written", "must belong to the user"])
        .await;
    set_mode(&case.database(), 0o600);
    case.start_and_stop().await;
}

#[tokio::test]
async fn a_data_directory_that_may_not_be_written_is_named() {
    let case = Case::new();
    set_mode(&case.data(), 0o500);
    case.is_refused(&[case.data().to_str().unwrap()]).await;
    set_mode(&case.data(), 0o700);
    case.start_and_stop().await;
    // Where the last start has left its empty logs, nothing new need be created.
    for left in ["signet.db-wal", "signet.db-shm"] {
        drop(fs::remove_file(case.data().join(left)));
    }
    set_mode(&case.data(), 0o500);
    case.is_refused(&["signet.db", "cannot be written", "must belong to the user"])
        .await;
    set_mode(&case.data(), 0o700);
    case.start_and_stop().await;
}

#[tokio::test]
async fn a_data_directory_that_cannot_be_made_is_named() {
    let case = Case::new();
    fs::remove_dir(case.data()).unwrap();
    case.write(&case.data(), "a file where a directory should be");
    case.is_refused(&[case.data().to_str().unwrap()]).await;
}

#[tokio::test]
async fn another_cluster_key_is_told_from_the_right_one() {
    let case = Case::new();
    case.start_and_stop().await;
    let path = case.data().join("cluster.key");
    let right = fs::read(&path).unwrap();
    let other = cluster_key(case.place.path());
    case.write(&path, fs::read(other).unwrap());
    case.is_refused(&[
        "cluster key",
        "does not fit this store",
        "SIGNET_CLUSTER_KEY_FILE",
    ])
    .await;
    case.write(&path, "garbage");
    case.is_refused(&["cluster.key", "restore it"]).await;
    case.write(&path, &right);
    set_mode(&path, 0o644);
    case.is_refused(&["cluster.key", "chmod 600"]).await;
    set_mode(&path, 0o600);
    case.start_and_stop().await;
}

#[tokio::test]
async fn a_lost_cluster_key_is_not_replaced_by_a_new_one_in_silence() {
    let case = Case::new();
    case.start_and_stop().await;
    let path = case.data().join("cluster.key");
    let right = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    case.is_refused(&["cluster key", "does not fit this store"])
        .await;
    case.write(&path, right);
    case.start_and_stop().await;
}

#[tokio::test]
async fn a_newer_schema_is_left_alone() {
    let case = Case::new();
    case.start_and_stop().await;
    let set = |version: i64| {
        let database = rusqlite::Connection::open(case.database()).unwrap();
        let before: i64 = database
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap();
        database
            .pragma_update(None, "user_version", version)
            .unwrap();
        before
    };
    let before = set(99);
    case.is_refused(&["schema 99", "newer version of signet"])
        .await;
    assert_eq!(set(before), 99, "nothing was changed");
    case.start_and_stop().await;
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let case = Case::new();
    let garbage = "these are the minutes of a meeting, not a database. ".repeat(400);
    case.write(&case.database(), &garbage);
    case.is_refused(&["signet.db is not a Signet database", "choose another file"])
        .await;
    assert_eq!(fs::read_to_string(case.database()).unwrap(), garbage);
    fs::remove_file(case.database()).unwrap();

    let foreign = rusqlite::Connection::open(case.database()).unwrap();
    foreign
        .execute_batch("CREATE TABLE meetings (minutes TEXT)")
        .unwrap();
    drop(foreign);
    case.own(&case.database());
    case.is_refused(&["signet.db is not a Signet database", "choose another file"])
        .await;
}

#[tokio::test]
async fn a_damaged_database_is_not_served() {
    let case = Case::new();
    case.start_and_stop().await;
    let mut bytes = fs::read(case.database()).unwrap();
    let middle = bytes.len() / 2;
    bytes[100..middle].fill(0xa5);
    case.write(&case.database(), &bytes);
    case.is_refused(&["signet.db"]).await;
}

#[tokio::test]
async fn a_second_start_names_what_is_in_its_way() {
    let case = Case::new();
    let mut first = case.launch.start().await;
    case.is_refused(&["signet.db", "in use by another signet process"])
        .await;
    // Other data, the same port.
    let other = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", other.path().join("data/signet.db").display());
    let mut second = Launch::new(other.path(), &store).spawn_at([first.public.port(), free_port()]);
    let status = second
        .wait_for_end(std::time::Duration::from_secs(10))
        .await
        .unwrap();
    let output = second.output();
    assert!(
        !status.success() && output.contains("is taken"),
        "{status}: {output}"
    );
    assert!(output.contains("SIGNET_PUBLIC_LISTEN"), "{output}");
    assert!(
        first
            .wait_for_end(std::time::Duration::ZERO)
            .await
            .is_none(),
        "the first one goes on"
    );
    first.stop().await;
}

/// The same file by another name is the same file.
#[tokio::test]
async fn a_second_start_by_a_link_to_the_database_is_refused() {
    let case = Case::new();
    let first = case.launch.start().await;
    let other = tempfile::tempdir().unwrap();
    let link = other.path().join("link.db");
    std::os::unix::fs::symlink(case.database(), &link).unwrap();
    let second = Launch::new(other.path(), &format!("sqlite:{}", link.display()))
        .with("SIGNET_CLUSTER_KEY_FILE", case.data().join("cluster.key"));
    refuses(&second, &["in use by another signet process"]).await;
    first.stop().await;
}

#[tokio::test]
async fn an_admin_token_that_cannot_be_one_is_named() {
    let case = Case::new();
    case.start_and_stop().await;
    case.write(&case.data().join("admin.token"), "short\n");
    case.is_refused(&["admin.token", "remove the file"]).await;
}

mod postgres {
    use super::*;
    use crate::support::new_database;

    fn launch(place: &Path, store: &str) -> Launch {
        Launch::new(place, store).with("SIGNET_CLUSTER_KEY_FILE", cluster_key(place))
    }

    async fn execute(store: &str, sql: &str) {
        let (client, connection) = tokio_postgres::connect(store, tokio_postgres::NoTls)
            .await
            .unwrap();
        let driving = tokio::spawn(async move { drop(connection.await) });
        client.batch_execute(sql).await.unwrap();
        driving.abort();
    }

    #[tokio::test]
    async fn a_newer_schema_is_left_alone() {
        let (place, store) = (tempfile::tempdir().unwrap(), new_database());
        let launch = launch(place.path(), &store);
        launch.start().await.stop().await;
        // One that programs of today do not work with; others run side by side.
        let newer =
            "UPDATE schema_version SET version = version + 97, works_from = works_from + 97";
        execute(&store, newer).await;
        refuses(&launch, &["schema 99", "newer version of signet"]).await;
        let older =
            "UPDATE schema_version SET version = version - 97, works_from = works_from - 97";
        execute(&store, older).await;
        launch.start().await.stop().await;
    }

    #[tokio::test]
    async fn a_server_that_cannot_be_reached_is_told_from_one_that_refuses() {
        let (place, store) = (tempfile::tempdir().unwrap(), new_database());
        let nobody = format!("postgres://signet:secret@127.0.0.1:{}/signet", free_port());
        refuses(
            &launch(place.path(), &nobody),
            &["PostgreSQL cannot be reached", "is it running"],
        )
        .await;
        let (scheme, rest) = store.split_once("://").unwrap();
        let (_, host) = rest.split_once('@').unwrap();
        let wrong = format!("{scheme}://signet:not-the-password@{host}");
        refuses(
            &launch(place.path(), &wrong),
            &["refused the login", "password"],
        )
        .await;
        let (_, output) = launch(place.path(), &wrong).refusal().await;
        assert!(!output.contains("not-the-password"), "{output}");
        let missing = format!("{store}_that_nobody_made");
        refuses(
            &launch(place.path(), &missing),
            &["refused the login", "database name"],
        )
        .await;
    }

    #[tokio::test]
    async fn a_cluster_key_is_required_and_has_to_fit() {
        let (place, store) = (tempfile::tempdir().unwrap(), new_database());
        refuses(
            &Launch::new(place.path(), &store),
            &["cluster.key_file", "required"],
        )
        .await;
        let right = launch(place.path(), &store);
        right.start().await.stop().await;
        let other = tempfile::tempdir().unwrap();
        refuses(
            &launch(other.path(), &store),
            &["cluster key", "does not fit this store"],
        )
        .await;
        right.start().await.stop().await;
    }
}
