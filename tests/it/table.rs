//! The table of the crate's documentation that says what cancels what, held against what happens.

use serde_json::{Value, json};
use smol_mcp::http::Endpoint;
use smol_mcp::signal::{Controller, Reason};

use crate::http::{Http, Site, Way};
use crate::modes::{Direct, read};
use crate::stage::{Director, PATIENCE};
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

/// A server, a client of the column's kind, and the one who directs the handler.
struct Case {
    column: Column,
    era: Era,
    endpoint: Endpoint,
    director: Director,
    /// Needed by what only HTTP can do.
    http: Http,
    lines: Option<Box<dyn Transport>>,
}

impl Case {
    fn new(column: Column, era: Era, way: Way) -> Self {
        let site = Site::new(way, |endpoint: Endpoint| match column {
            Column::Sessionless => endpoint.sessionless(),
            _ => endpoint,
        });
        let http = match column {
            Column::Sessionless => site.stranger(era),
            _ => site.client(era),
        };
        let endpoint = site.endpoint.clone();
        let (director, lines) = match column {
            Column::Lines => {
                let Scene {
                    client, director, ..
                } = memory(era, |builder| builder);
                (director, Some(client))
            }
            _ => (site.director, None),
        };
        Self {
            column,
            era,
            endpoint,
            director,
            http,
            lines,
        }
    }

    fn client(&mut self) -> &mut dyn Transport {
        match &mut self.lines {
            Some(lines) => &mut **lines,
            None => &mut self.http,
        }
    }

    /// Begins the call that is to be ended.
    fn begin(&mut self) {
        let call = json!({ "name": "play", "arguments": { "name": "one" } });
        self.client().begin(1000, "tools/call", call);
        self.director.expect("begun one");
    }

    fn cancel(mut self) -> String {
        self.begin();
        let params = json!({ "requestId": 1000, "reason": "enough" });
        let method = "notifications/cancelled";
        let line = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.client().send(&line.to_string());
        let told = |touched: &str| format!("cancelled 1000: enough: {touched}");
        match self.column {
            Column::Lines | Column::Session => {
                self.director.expect(&told("aborted"));
                self.unanswered()
            }
            Column::Modern | Column::Sessionless => {
                self.director.expect(&told("nothing"));
                self.untouched()
            }
        }
    }

    fn hang_up(mut self) -> String {
        if self.column == Column::Lines {
            return NOTHING.to_owned();
        }
        self.begin();
        self.http.hang_up(1000);
        let reason = self.fired();
        self.director.settle(0);
        in_words(&reason, None)
    }

    fn end(mut self) -> String {
        self.begin();
        if self.column == Column::Lines {
            self.client().leave();
            return self.answered();
        }
        let ended = self.http.delete();
        let is_session = self.column == Column::Session;
        assert_eq!(ended == Some(204), is_session, "{ended:?}");
        match is_session {
            true => self.unanswered(),
            false => self.untouched(),
        }
    }

    fn close(mut self) -> String {
        self.begin();
        self.director.close(PATIENCE);
        self.answered()
    }

    /// The handler does not heed its signal. Whoever heeds it may have something better to say.
    fn be_late(mut self) -> String {
        let params = json!({ "name": "timed", "arguments": { "name": "one", "deaf": true } });
        self.client().begin(1000, "tools/call", params);
        let reason = self.director.expect_that("fired one: ");
        let answer = self.client().next(1000).expect("an answer");
        self.director.cue("one");
        self.director.expect("left one");
        in_words(&reason, Some(&answer))
    }

    fn fire(mut self) -> String {
        let direct = match self.column {
            Column::Lines => return NOTHING.to_owned(),
            Column::Sessionless => Direct::stranger(&self.endpoint, self.era),
            Column::Modern | Column::Session => Direct::new(&self.endpoint, self.era),
        };
        let controller = Controller::new();
        let response = direct.call("play", json!({ "name": "one" }), controller.signal());
        self.director.expect("begun one");
        controller.abort(Reason::application("its own reason"));
        assert_eq!(read(response).0, 503);
        self.director.expect("fired one: its own reason");
        "its own reason".to_owned()
    }

    /// Why the signal of the handler has fired, by which it has ended.
    fn fired(&mut self) -> String {
        let reason = self.director.expect_that("fired one: ");
        self.director.expect("left one");
        reason
    }

    fn answered(mut self) -> String {
        let reason = self.fired();
        let answer = self.client().next(1000).expect("an answer");
        in_words(&reason, Some(&answer))
    }

    fn unanswered(mut self) -> String {
        let reason = self.fired();
        self.director.settle(0);
        match &mut self.lines {
            Some(lines) => lines.silence(),
            None => assert_eq!(self.http.next(1000), None),
        }
        in_words(&reason, None)
    }

    /// Whatever has not fired by now does not: a cue ends the handler then.
    fn untouched(mut self) -> String {
        self.director.cue("one");
        self.director.expect("cued one");
        let answer = self.http.next(1000).expect("an answer");
        assert_eq!(answer["result"]["content"][0]["text"], "one ended");
        NOTHING.to_owned()
    }
}

/// Does what the row says, and tells what comes of it.
fn observe(row: &str, case: Case) -> String {
    match row {
        "`notifications/cancelled` with its id" => case.cancel(),
        "the client closes its response or connection" => case.hang_up(),
        "the input, connection or session ends" => case.end(),
        "[`Server::close`]" => case.close(),
        "[`Tool::deadline`] or [`Builder::deadline`]" => case.be_late(),
        "the signal that was given to [`http::Endpoint::handle`]" => case.fire(),
        row => panic!("a row that nobody tests: {row}"),
    }
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
                    let observed = observe(&row, Case::new(column, era, *way));
                    assert_eq!(observed, documented, "{row}, {column:?}, {era:?}, {way:?}");
                }
            }
        }
    }
}
