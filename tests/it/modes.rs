//! What HTTP promises beyond other transports: hang-ups, the ways to serve legacy clients, and the form of responses.

use std::sync::Arc;

use serde_json::{Value, json};
use smol::channel;
use smol_mcp::http::{Body, Endpoint, MemoryStore};
use smol_mcp::protocol::Version;
use smol_mcp::signal::{Controller, Reason, Signal};
use smol_mcp::{Context, NoInput, Tool};

use crate::http::{Http, Site, Way, headers_of, request};
use crate::stage::{self, PATIENCE};
use crate::transport::{Era, Transport};

fn play(name: &str) -> Value {
    json!({ "name": name })
}

/// Runs a scenario by each way, in each era.
fn each(scenario: impl Fn(Way, Era)) {
    for way in Way::ALL {
        for era in Era::ALL {
            eprintln!("{way:?}, {era:?}");
            scenario(*way, era);
        }
    }
}

/// Ways to serve legacy clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Sessions,
    Storing,
    RunningOn,
    Sessionless,
}

impl Mode {
    const ALL: [Mode; 4] = [
        Mode::Sessions,
        Mode::Storing,
        Mode::RunningOn,
        Mode::Sessionless,
    ];

    fn configure(self, endpoint: Endpoint) -> Endpoint {
        match self {
            Mode::Sessions => endpoint,
            Mode::Storing => endpoint.event_store(MemoryStore::new()),
            Mode::RunningOn => endpoint.abort_on_hang_up(false),
            Mode::Sessionless => endpoint.sessionless(),
        }
    }

    fn client(self, site: &Site, era: Era) -> Http {
        match self {
            Mode::Sessionless => site.stranger(era),
            _ => site.client(era),
        }
    }
}

// P16: in modern always, in legacy as the mode says.
#[test]
fn a_hang_up_aborts_its_own_call_where_nobody_can_fetch_the_answer() {
    each(|way, era| {
        for mode in Mode::ALL {
            eprintln!("{mode:?}");
            let mut site = Site::new(way, |endpoint| mode.configure(endpoint));
            let mut client = mode.client(&site, era);
            for (id, name) in [(1000, "leaves"), (1001, "stays")] {
                client.play(id, play(name));
                site.director.expect(&format!("begun {name}"));
            }
            client.hang_up(1000);
            // With a store an answer can be fetched by whoever has seen an event, which nobody has here.
            let keeps = mode == Mode::RunningOn && era != Era::Modern;
            if keeps {
                // The server has noticed, and ended the connection. The signal of the call has not fired.
                site.director.cue("leaves");
                site.director.expect("cued leaves");
            } else {
                site.director
                    .expect("fired leaves: the client disconnected");
            }
            site.director.expect("left leaves");
            site.director.settle(1);
            site.director.cue("stays");
            site.director.expect("cued stays");
            site.director.expect("left stays");
            assert_eq!(client.text(1001), "stays ended");
            site.director.expect_no_more();
        }
    });
}

// R135: no byte of the response has been written, and none is before the result.
#[test]
fn a_hang_up_aborts_a_call_whose_client_takes_json_alone() {
    for way in Way::ALL {
        let mut site = Site::new(*way, |endpoint| endpoint);
        let client = site.client(Era::Modern);
        for half in [false, true] {
            let params = json!({ "name": "play", "arguments": { "name": "one", "talks": true } });
            let accept = [("accept", "application/json")];
            let mut exchange = client.request(1000, "tools/call", params, &accept);
            site.director.expect("begun one");
            if half {
                exchange.half_close();
                assert_eq!(exchange.message(), None);
            }
            drop(exchange);
            site.director.expect("fired one: the client disconnected");
            site.director.expect("left one");
            site.director.settle(0);
            site.director.expect_no_more();
        }
    }
}

/// Legacy eras: where there is a notification to cancel by.
fn each_legacy(scenario: impl Fn(Way, Era)) {
    each(|way, era| {
        if era != Era::Modern {
            scenario(way, era);
        }
    });
}

fn cancelled(id: i64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"enough"}}}}"#
    )
}

// P17
#[test]
fn without_sessions_a_cancel_is_accepted_observed_and_aborts_nothing() {
    each_legacy(|way, era| {
        let mut site = Site::new(way, Endpoint::sessionless);
        let mut client = site.stranger(era);
        client.play(1000, play("one"));
        site.director.expect("begun one");
        // Asserts the 202.
        client.send(&cancelled(1000));
        site.director.expect("cancelled 1000: enough: nothing");
        site.director.cue("one");
        site.director.expect("cued one");
        site.director.expect("left one");
        assert_eq!(client.text(1000), "one ended");
        site.director.expect_no_more();
    });
}

// P18
#[test]
fn without_sessions_equal_ids_do_not_meet() {
    each_legacy(|way, era| {
        let mut site = Site::new(way, Endpoint::sessionless);
        let names = ["a", "b", "c"];
        let mut clients = names.map(|name| {
            let mut client = site.stranger(era);
            client.play(1000, play(name));
            site.director.expect(&format!("begun {name}"));
            client
        });
        clients[1].hang_up(1000);
        site.director.expect("fired b: the client disconnected");
        site.director.expect("left b");
        for (client, name) in [(2, "c"), (0, "a")] {
            site.director.cue(name);
            site.director.expect(&format!("cued {name}"));
            assert_eq!(clients[client].text(1000), format!("{name} ended"));
        }
    });
}

// P19
#[test]
fn a_cancel_aborts_the_request_of_its_own_session_alone() {
    each_legacy(|way, era| {
        let mut site = Site::new(way, |endpoint| endpoint);
        let (mut mine, mut theirs) = (site.client(era), site.client(era));
        mine.play(1000, play("mine"));
        mine.play(1001, play("other"));
        theirs.play(1000, play("theirs"));
        for name in ["mine", "other", "theirs"] {
            site.director.expect(&format!("begun {name}"));
        }
        mine.cancel(1000, "enough");
        site.director.expect("cancelled 1000: enough: aborted");
        site.director
            .expect("fired mine: cancelled by the client: enough");
        site.director.expect("left mine");
        site.director.settle(2);
        for (client, id, name) in [(&mut mine, 1001, "other"), (&mut theirs, 1000, "theirs")] {
            site.director.cue(name);
            site.director.expect(&format!("cued {name}"));
            assert_eq!(client.text(id), format!("{name} ended"));
            client.silence();
        }
    });
}

// P25: what comes first decides, however late it comes.
#[test]
fn a_response_is_json_or_a_stream_by_what_the_call_says_first() {
    each(|way, era| {
        let mut site = Site::new(way, |endpoint| endpoint.patience(PATIENCE * 2));
        let mut client = site.client(era);
        for (talks, end, kind) in [
            (false, "result", "application/json"),
            (false, "error", "application/json"),
            (true, "result", "text/event-stream"),
            (true, "error", "text/event-stream"),
        ] {
            let role = json!({ "name": "one", "talks": talks, "end": end });
            client.play(1000, role);
            site.director.expect("begun one");
            client.exchange(1000).expect_nothing_yet();
            site.director.cue("one");
            assert_eq!(client.exchange(1000).header("content-type"), Some(kind));
            assert_eq!(client.exchange(1000).status(), Some(200));
            let mut messages = 0;
            while client.next(1000).is_some() {
                messages += 1;
            }
            assert_eq!(messages, if talks { 3 } else { 1 });
        }
    });
}

/// Requests that come by other ways than a socket.
pub(crate) struct Direct {
    endpoint: Endpoint,
    era: Era,
    session: Option<String>,
}

impl Direct {
    /// A client: in a session if it is a legacy one.
    pub(crate) fn new(endpoint: &Endpoint, era: Era) -> Self {
        let mut direct = Self::stranger(endpoint, era);
        if let Era::Legacy(version) = era {
            let params = json!({
                "protocolVersion": version.as_str(),
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            });
            let opened = direct.handle(request(era, 1, "initialize", params), Signal::never());
            let opened = stage::within("the session", opened);
            let session = opened.headers().get("mcp-session-id").expect("a session");
            direct.session = Some(session.to_str().expect("text").to_owned());
        }
        direct
    }

    /// A client that opens no session.
    pub(crate) fn stranger(endpoint: &Endpoint, era: Era) -> Self {
        Self {
            endpoint: endpoint.clone(),
            era,
            session: None,
        }
    }

    fn handle(&self, body: String, signal: Signal) -> smol::Task<::http::Response<Body>> {
        let mut request = ::http::Request::post("/mcp");
        for (name, value) in headers_of(self.era, self.session.as_deref(), &body) {
            request = request.header(name, value);
        }
        let request = request.body(body.into_bytes()).expect("a request");
        let endpoint = self.endpoint.clone();
        smol::spawn(async move { endpoint.handle(request, signal).await })
    }

    pub(crate) fn call(
        &self,
        tool: &str,
        arguments: Value,
        signal: Signal,
    ) -> smol::Task<::http::Response<Body>> {
        let params = json!({ "name": tool, "arguments": arguments });
        self.handle(request(self.era, 7, "tools/call", params), signal)
    }
}

/// The status and the body of a response.
pub(crate) fn read(response: smol::Task<::http::Response<Body>>) -> (u16, String) {
    use smol::stream::StreamExt;
    let read = async {
        let response = response.await;
        let status = response.status().as_u16();
        let (mut pieces, mut text) = (response.into_body(), Vec::new());
        while let Some(piece) = pieces.next().await {
            text.extend(piece.expect("a piece"));
        }
        (status, String::from_utf8(text).expect("UTF-8"))
    };
    stage::within("the response", read)
}

// P3, P2: equal ids, one endpoint, two signals.
#[test]
fn a_callers_own_signal_cancels_its_own_request_with_its_own_reason() {
    for era in Era::ALL {
        let (tell, told) = channel::unbounded();
        let keep = move |_: NoInput, cx: Context| {
            let tell = tell.clone();
            async move {
                let _ = tell.try_send(None);
                let _ = tell.try_send(Some(cx.signal().aborted().await));
            }
        };
        let mut site = Site::with(
            Way::Listener,
            |builder| builder.tool(Tool::new("keep", keep)),
            |endpoint| endpoint,
        );
        let direct = Direct::new(&site.endpoint, era);
        let controller = Controller::new();
        let mine = direct.call("keep", json!({}), controller.signal());
        let other = direct.call("play", play("other"), Controller::new().signal());
        let begun = stage::within("the handler to begin", told.recv());
        assert!(matches!(begun, Ok(None)));
        site.director.expect("begun other");
        let reason = Reason::application(std::io::Error::other("out of ink"));
        controller.abort(reason.clone());
        let seen = stage::within("the signal of the call", told.recv());
        let (Ok(Some(Reason::Application(seen))), Reason::Application(given)) = (seen, reason)
        else {
            panic!("another reason");
        };
        assert!(Arc::ptr_eq(&seen, &given));
        assert_eq!(read(mine), (503, "aborted\n".to_owned()));
        site.director.settle(1);
        site.director.cue("other");
        site.director.expect("cued other");
        let (status, text) = read(other);
        assert_eq!(status, 200);
        assert!(text.contains("other ended"), "{text}");
    }
}

// P3, P7: what a handler comes to after its caller's signal has fired does not leave, however near the two are.
#[test]
fn an_answer_that_is_ready_when_the_callers_signal_has_fired_does_not_leave() {
    for era in Era::ALL {
        for waits in [false, true] {
            let controller = Arc::new(Controller::new());
            let signal = controller.signal();
            let give_up = move |_: NoInput| {
                let controller = controller.clone();
                async move {
                    if waits {
                        // The rest is run by the executor.
                        smol::future::yield_now().await;
                    }
                    controller.abort(Reason::application("enough"));
                    "done"
                }
            };
            let site = Site::with(
                Way::Listener,
                |builder| builder.tool(Tool::new("give_up", give_up)),
                |endpoint| endpoint,
            );
            let direct = Direct::new(&site.endpoint, era);
            let response = match era == Era::Legacy(Version::V2025_03_26) && waits {
                true => {
                    let params = json!({ "name": "give_up", "arguments": {} });
                    let batch = format!("[{}]", request(era, 7, "tools/call", params));
                    direct.handle(batch, signal)
                }
                false => direct.call("give_up", json!({}), signal),
            };
            assert_eq!(read(response), (503, "aborted\n".to_owned()));
        }
    }
}

// P6
#[test]
fn a_request_whose_signal_has_fired_before_it_comes_starts_no_handler() {
    for era in Era::ALL {
        let mut site = Site::new(Way::Listener, |endpoint| endpoint);
        let direct = Direct::new(&site.endpoint, era);
        for tool in ["play", "checked"] {
            let fired = Signal::fired(Reason::application("never mind"));
            let response = direct.call(tool, play("never"), fired);
            assert_eq!(read(response), (503, "aborted\n".to_owned()));
        }
        site.director.settle(0);
        site.director.expect_no_more();
    }
}
