//! How calls and the server end before their time.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::child::Files;
use crate::tree::Tree;

#[test]
fn a_cancelled_search_stops_and_the_server_goes_on() {
    let tree = Tree::large();
    let mut files = Files::over(tree.path());
    let id = files.begin("search", json!({ "text": "needle" }));
    files.wait_for_progress(id, 2);
    files.cancel(id, "enough");
    assert_cancelled(
        &files.error_line(),
        "search",
        "cancelled by the client: enough",
    );
    assert_lets_go(&files, &tree);
    assert_goes_on(&mut files, id);
}

#[test]
fn a_cancelled_search_stops_inside_a_large_file() {
    let tree = Tree::new().file("large.txt", "the quick brown fox\n".repeat(4 << 20));
    let mut files = Files::over(tree.path());
    let id = files.begin("search", json!({ "text": "needle" }));
    files.wait_for_progress(id, 0);
    files.cancel(id, "enough");
    assert_cancelled(
        &files.error_line(),
        "search",
        "cancelled by the client: enough",
    );
    let cancelled = Instant::now();
    assert_lets_go(&files, &tree);
    assert!(cancelled.elapsed() < Duration::from_secs(1));
    assert_goes_on(&mut files, id);
}

#[test]
fn a_cancelled_digest_stops_and_the_server_goes_on() {
    let tree = Tree::large();
    let mut files = Files::over(tree.path());
    let id = files.begin("digest", json!({}));
    files.wait_for_progress(id, 0);
    files.cancel(id, "");
    assert_cancelled(&files.error_line(), "digest", "cancelled by the client: ");
    assert_lets_go(&files, &tree);
    assert_goes_on(&mut files, id);
}

#[test]
fn a_cancelled_digest_does_not_sit_out_its_pause() {
    let tree = Tree::new().file("a.txt", "text");
    let mut files = Files::over(tree.path());
    let id = files.begin("digest", json!({ "bytes_per_second": 1 }));
    files.wait_for_progress(id, 1);
    files.cancel(id, "enough");
    assert_cancelled(
        &files.error_line(),
        "digest",
        "cancelled by the client: enough",
    );
    assert_lets_go(&files, &tree);
    assert_goes_on(&mut files, id);
}

#[test]
fn the_end_of_input_ends_calls_and_the_server() {
    let tree = Tree::new().file("a.txt", "text".repeat(1000));
    let mut files = Files::over(tree.path());
    let id = files.begin("digest", json!({ "bytes_per_second": 1 }));
    files.wait_for_progress(id, 1);
    let began = Instant::now();
    files.hang_up();
    assert_cancelled(&files.error_line(), "digest", "the connection closed");
    let (status, rest) = files.end();
    assert!(status.success(), "{status}");
    assert!(rest.len() <= 1, "{rest:?}");
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn sigterm_ends_calls_and_the_server() {
    let tree = Tree::new().file("a.txt", "text".repeat(1000));
    let mut files = Files::over(tree.path());
    let id = files.begin("digest", json!({ "bytes_per_second": 1 }));
    files.wait_for_progress(id, 1);
    let began = Instant::now();
    files.terminate();
    assert_cancelled(&files.error_line(), "digest", "the server closed");
    let (status, rest) = files.end();
    assert!(status.success(), "{status}");
    assert!(rest.iter().any(|message| message["id"] == id), "{rest:?}");
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn sigterm_ends_an_idle_server() {
    let tree = Tree::new();
    let mut files = Files::over(tree.path());
    assert_eq!(files.call("list", json!({})).unwrap(), "");
    files.terminate();
    let (status, rest) = files.end();
    assert!(status.success(), "{status}");
    assert!(rest.is_empty(), "{rest:?}");
}

fn assert_cancelled(line: &str, tool: &str, reason: &str) {
    let parts = line
        .strip_prefix(&format!("cancelled: {tool} after "))
        .and_then(|rest| rest.split_once(" ms: "));
    let (ms, why) = parts.unwrap_or_else(|| panic!("{line}"));
    assert!(ms.parse::<u64>().is_ok(), "{line}");
    assert_eq!(why, reason);
}

/// Waits until the thread that reads has noticed, too.
#[track_caller]
fn assert_lets_go(files: &Files, tree: &Tree) {
    let patience = Instant::now() + Duration::from_secs(5);
    while cfg!(target_os = "linux") && files.reads_in(tree.path()) {
        assert!(Instant::now() < patience, "it reads on");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The next call is answered, and nothing but progress of the cancelled one may come before.
#[track_caller]
fn assert_goes_on(files: &mut Files, cancelled: u64) {
    let id = files.begin("list", json!({}));
    assert_ne!(id, cancelled);
    assert!(files.answer(id).is_ok());
}
