//! The database itself, looked into behind the back of the server, which has stopped: whole, its
//! log without gaps, and a row for every token that was promised one.

use super::child::Launch;
use super::ledger::Ledger;

/// The numbers of the first row that a statement finds.
async fn numbers<const N: usize>(store: &str, sql: &str) -> [i64; N] {
    if let Some(path) = store.strip_prefix("sqlite:") {
        let database = rusqlite::Connection::open(path).unwrap();
        let read =
            |row: &rusqlite::Row<'_>| Ok(std::array::from_fn(|column| row.get(column).unwrap()));
        return database.query_row(sql, [], read).unwrap();
    }
    let (client, connection) = tokio_postgres::connect(store, tokio_postgres::NoTls)
        .await
        .unwrap();
    let driving = tokio::spawn(async move { drop(connection.await) });
    let row = client.query_one(sql, &[]).await.unwrap();
    driving.abort();
    std::array::from_fn(|column| row.get(column))
}

/// What is wrong with the database of a server that has stopped.
pub(crate) async fn audit(launch: &Launch, ledger: &Ledger) -> Vec<String> {
    let store = launch.variable("SIGNET_STORE");
    let mut wrong = Vec::new();
    if let Some(path) = store.strip_prefix("sqlite:") {
        let database = rusqlite::Connection::open(path).unwrap();
        let check = "PRAGMA integrity_check";
        let verdict: String = database.query_row(check, [], |row| row.get(0)).unwrap();
        if verdict != "ok" {
            wrong.push(format!("{check}: {verdict}"));
        }
    }
    let log = "SELECT count(*), coalesce(min(position), 1), coalesce(max(position), 0) FROM log";
    let [rows, first, last] = numbers(store, log).await;
    if rows != last - first + 1 {
        wrong.push(format!(
            "the log has a gap: {rows} rows from {first} to {last}"
        ));
    }
    let [head] = numbers(store, "SELECT position FROM log_head").await;
    if head != last {
        wrong.push(format!("the log ends at {last}, and its head is {head}"));
    }
    for client in ["opaque", "jwt"] {
        let sql = format!("SELECT count(*) FROM tokens WHERE client = '{client}'");
        let [rows] = numbers(store, &sql).await;
        let promised = ledger.count(client);
        if usize::try_from(rows).unwrap() < promised {
            wrong.push(format!(
                "{promised} tokens of {client} were promised, {rows} are there"
            ));
        }
    }
    wrong
}
