//! The example `child_process`.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::child::{Client, Example};
use crate::example::PATIENCE;

/// Prints its own number and that of a child, and then works for long.
const SCRIPT: &str = "echo $$; sleep 600 & echo $!; wait";

fn begin(client: &mut Client) -> (u64, [u32; 2]) {
    let id = client.begin("tools/call", json!({ "name": "run", "arguments": {} }));
    let processes = [(); 2].map(|()| client.progress(id).parse().unwrap());
    (id, processes)
}

/// What the system says of a process: its state, and its parent. `None` if there is none.
fn look(process: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut rest = stat.rsplit_once(") ")?.1.split(' ');
    Some((rest.next()?.chars().next()?, rest.next()?.parse().ok()?))
}

/// Waits until a process neither runs nor is a zombie of this parent. The system does not tell when that is.
fn expect_gone(process: u32, parent: u32) {
    let begun = Instant::now();
    while look(process).is_some_and(|(state, of)| state != 'Z' || of == parent) {
        assert!(
            begun.elapsed() < PATIENCE,
            "{process} is still there: {:?}",
            look(process)
        );
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn child_process_reports_the_lines_of_its_command() {
    let mut example = Example::start("child_process", &["sh", "-c", "echo one; echo two; exit 3"]);
    let mut client = example.client();
    let id = client.begin("tools/call", json!({ "name": "run", "arguments": {} }));
    assert_eq!(client.progress(id), "one");
    assert_eq!(client.progress(id), "two");
    let answer = client.next();
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "2 lines, exit status: 3"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn child_process_kills_its_group_and_reaps_its_child_when_it_is_cancelled() {
    let mut example = Example::start("child_process", &["sh", "-c", SCRIPT]);
    let mut client = example.client();
    let (id, processes) = begin(&mut client);
    client.cancel(id);
    for process in processes {
        expect_gone(process, example.id());
    }
    // It is there for the next call.
    let (_, processes) = begin(&mut client);
    assert!(processes.iter().all(|process| look(*process).is_some()));
    drop(client);
    assert!(example.end().success());
    for process in processes {
        expect_gone(process, 0);
    }
}
