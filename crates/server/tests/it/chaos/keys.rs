//! An administrator, or a script of his, who rotates keys without end: told to stop at some point
//! perhaps, but never left with a server that does not start any more.

use serde_json::json;

use super::child::Launch;
use super::wire::{Ask, Wire};

/// More than anybody keeps in a key set.
const MANY: usize = 130;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_keys_were_rotated_without_end_still_starts() {
    let place = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", place.path().join("data/signet.db").display());
    let launch = Launch::new(place.path(), &store);
    let signet = launch.start().await;
    let mut wire = Wire::new(signet.admin);
    let rotate = signet.as_admin(Ask::post("/admin/keys/rotate").json(&json!({})));
    let mut refused = None;
    for number in 0..MANY {
        let answer = wire.must(&rotate).await;
        assert!(answer.status < 500, "rotation {number}: {answer:?}");
        if answer.status != 201 {
            refused.get_or_insert(number);
        }
    }
    println!("rotation {refused:?} of {MANY} was the first to be refused");
    signet.stop().await;
    let signet = launch.start().await;
    let token = Wire::new(signet.public)
        .must(&Ask::token("demo", "demo-secret"))
        .await;
    assert_eq!(token.status, 200, "{token:?}");
    signet.stop().await;
}
