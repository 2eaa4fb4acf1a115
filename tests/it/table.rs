//! The table of the crate's documentation that says what cancels what, held against what happens.

use serde_json::{Value, json};
use smol_mcp::http::Endpoint;
use smol_mcp::signal::{Controller, Reason};

use crate::http::{Site, Way};
use crate::modes::{Direct, read};
use crate::stage::PATIENCE;
use crate::transport::{Era, Scene, Transport, memory};

const GUIDE: &str = include_str!("../../src/guide.md");

/// The cells of the table by row and column, without its heads.
fn table() -> Vec<(String, Vec<String>)> {
    let begin = GUIDE
        .find("| | stdio and [`lines`] | HTTP, 2026-07-28 | HTTP, legacy session | HTTP, legacy without sessions |")
        .expect("the table");
    let rows = GUIDE[begin..].lines().skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
            let row = cells.next().expect("a row").to_owned();
            let mut known = Vec::<String>::new();
            for cell in cells {
                let cell = match cell {
                    "the same" => known.last().expect("a cell before").clone(),
                    cell => cell.trim_end_matches(" (1)").to_owned(),
                };
                known.push(cell);
            }
            (row, known)
        })
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Lines,
    Modern,
    Session,
    Sessionless,
}

const COLUMNS: [Column; 4] = [
    Column::Lines,
    Column::Modern,
    Column::Session,
    Column::Sessionless,
];

impl Column {
    fn eras(self) -> Vec<Era> {
        let eras = Era::ALL.into_iter();
        eras.filter(|era| match self {
            Column::Lines => true,
            Column::Modern => *era == Era::Modern,
            Column::Session | Column::Sessionless => *era != Era::Modern,
        })
        .collect()
    }
}

/// The reason by its name in the documentation.
fn named(reason: &str) -> String {
    let name = match reason {
        "cancelled by the client: enough" => "Cancelled",
        "the client disconnected" => "Disconnected",
        "the connection closed" => "Closed",
        "the server closed" => "ServerClosed",
        deadline if deadline.starts_with("deadline") => "Deadline",
        other => return other.to_owned(),
    };
    format!("[`{name}`]")
}

fn in_words(reason: &str, answer: Option<&Value>) -> String {
    let reason = named(reason);
    let Some(answer) = answer else {
        return format!("{reason}, no answer");
    };
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().expect("a text");
    match result["isError"] == true && text.contains("deadline") {
        true => format!("{reason}, a failure says so"),
        false => format!("{reason}, answers within the grace"),
    }
}

const NOTHING: &str = "–";

/// Does what the row says, and tells what comes of it.
fn observe(row: &str, column: Column, era: Era, way: Way) -> String {
    let configure = |endpoint: Endpoint| match column {
        Column::Sessionless => endpoint.sessionless(),
        _ => endpoint,
    };
    let is_lines = column == Column::Lines;
    let site = Site::new(way, configure);
    let endpoint = site.endpoint.clone();
    // Needed by what only HTTP can do.
    let mut http = match column {
        Column::Sessionless => site.stranger(era),
        _ => site.client(era),
    };
    let (mut director, mut lines) = match is_lines {
        true => {
            let Scene {
                client, director, ..
            } = memory(era, |builder| builder);
            (director, Some(client))
        }
        false => (site.director, None),
    };
    let client: &mut dyn Transport = match &mut lines {
        Some(lines) => &mut **lines,
        None => &mut http,
    };
    let call = json!({ "name": "play", "arguments": { "name": "one" } });
    let mut answered = true;
    match row {
        "`notifications/cancelled` with its id" => {
            client.begin(1000, "tools/call", call);
            director.expect("begun one");
            let params = json!({ "requestId": 1000, "reason": "enough" });
            let method = "notifications/cancelled";
            client
                .send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
            let touched = match column {
                Column::Lines | Column::Session => "aborted",
                Column::Modern | Column::Sessionless => "nothing",
            };
            director.expect(&format!("cancelled 1000: enough: {touched}"));
            answered = false;
        }
        "the client closes its response or connection" if is_lines => return NOTHING.to_owned(),
        "the client closes its response or connection" => {
            http.begin(1000, "tools/call", call);
            director.expect("begun one");
            http.hang_up(1000);
            answered = false;
        }
        "the input, connection or session ends" if is_lines => {
            client.begin(1000, "tools/call", call);
            director.expect("begun one");
            client.leave();
        }
        "the input, connection or session ends" => {
            http.begin(1000, "tools/call", call);
            director.expect("begun one");
            let ended = http.delete();
            assert_eq!(ended == Some(204), column == Column::Session, "{ended:?}");
            answered = false;
        }
        "[`Server::close`]" => {
            client.begin(1000, "tools/call", call);
            director.expect("begun one");
            director.close(PATIENCE);
        }
        "a deadline of the author's" => {
            // It does not heed its signal. Whoever heeds it may have something better to say.
            let params = json!({ "name": "timed", "arguments": { "name": "one", "deaf": true } });
            client.begin(1000, "tools/call", params);
            let reason = director.expect_that("fired one: ");
            let answer = client.next(1000).expect("an answer");
            director.cue("one");
            director.expect("left one");
            return in_words(&reason, Some(&answer));
        }
        "the signal that was given to [`http::Endpoint::handle`]" if is_lines => {
            return NOTHING.to_owned();
        }
        "the signal that was given to [`http::Endpoint::handle`]" => {
            let direct = match column {
                Column::Sessionless => Direct::stranger(&endpoint, era),
                _ => Direct::new(&endpoint, era),
            };
            let controller = Controller::new();
            let response = direct.call("play", json!({ "name": "one" }), controller.signal());
            director.expect("begun one");
            controller.abort(Reason::application("its own reason"));
            assert_eq!(read(response).0, 503);
            director.expect("fired one: its own reason");
            return "its own reason".to_owned();
        }
        row => panic!("a row that nobody tests: {row}"),
    }
    // Whatever has not fired by now does not: a cue ends the handler then.
    let hung_up = row == "the client closes its response or connection";
    if !answered && !hung_up && column != Column::Lines && column != Column::Session {
        director.cue("one");
        director.expect("cued one");
        let answer = http.next(1000).expect("an answer");
        assert_eq!(answer["result"]["content"][0]["text"], "one ended");
        return NOTHING.to_owned();
    }
    let reason = director.expect_that("fired one: ");
    director.expect("left one");
    if answered {
        let client: &mut dyn Transport = match &mut lines {
            Some(lines) => &mut **lines,
            None => &mut http,
        };
        return in_words(&reason, Some(&client.next(1000).expect("an answer")));
    }
    director.settle(0);
    match &mut lines {
        Some(lines) => lines.silence(),
        None if hung_up => {}
        None => assert_eq!(http.next(1000), None),
    }
    in_words(&reason, None)
}

// Issue 7: the table in the documentation is what happens.
#[test]
fn what_cancels_what_is_as_documented() {
    let table = table();
    assert_eq!(table.len(), 6);
    for (row, cells) in table {
        assert_eq!(cells.len(), COLUMNS.len(), "{row}");
        for (column, documented) in COLUMNS.into_iter().zip(cells) {
            for era in column.eras() {
                for way in Way::ALL {
                    let observed = observe(&row, column, era, *way);
                    assert_eq!(observed, documented, "{row}, {column:?}, {era:?}, {way:?}");
                }
            }
        }
    }
}
