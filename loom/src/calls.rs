//! Models of what calls share: the gate through which what they say leaves, the table that holds their ids, and the
//! feed that a connection reads.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};

use loom::sync::atomic::AtomicBool;
use loom::thread::{self, JoinHandle};

use crate::executor::{State, Task};
use crate::explore::{Park, block_on, model};
use crate::server::call::{Call, Peer};
use crate::server::inflight::Refused;
use crate::server::outlet::Next;
use crate::signal::{Reason, Signal};

/// As many calls as a table may hold here.
const MOST: usize = 8;

/// Enters a call in the table of its peer, as its transport does that holds it.
fn enter(peer: &Arc<Peer>, id: i64) -> Arc<Call> {
    let call = Call::new(peer, id);
    call.hold();
    assert_eq!(peer.inflight.insert(&call, MOST), Ok(()));
    call
}

fn progress(call: &Arc<Call>, number: u64) {
    call.say_progress(number.into(), || number.to_string().into_bytes());
}

/// A handler that says all that can be said.
fn handle(call: &Arc<Call>) {
    progress(call, 1);
    call.log("log".to_owned());
    progress(call, 2);
    call.settle(b"answer");
}

const SAID: [&str; 4] = ["1", "log", "2", "answer"];

/// What a client does that gives a request up. Tells whether that was accepted.
fn cancel(peer: &Peer, id: i64) -> bool {
    match peer.inflight.find(&id) {
        Some(call) => call.silence(Reason::Cancelled(None)),
        None => false,
    }
}

/// What a client has read.
#[derive(Default)]
struct Read(Vec<u8>);

impl Read {
    fn lines(&self) -> Vec<&str> {
        std::str::from_utf8(&self.0)
            .unwrap()
            .split_terminator('\n')
            .collect()
    }

    /// Takes all that there is for the one stream of a peer.
    fn drain(&mut self, peer: &Peer) -> usize {
        self.drain_under(peer, Waker::noop())
    }

    fn drain_under(&mut self, peer: &Peer, waker: &Waker) -> usize {
        let before = self.0.len();
        peer.feed
            .drain_lines(&mut self.0, &mut Context::from_waker(waker));
        self.0.len() - before
    }
}

/// Reads the stream of a call alone, to its end. Tells whether that was an answer.
fn read_own(call: &Call) -> (Vec<String>, bool) {
    let mut said = Vec::new();
    loop {
        match block_on(std::future::poll_fn(|cx| call.poll_next(cx))) {
            Next::Message(message) => said.push(String::from_utf8(message).unwrap()),
            Next::Answer(answer) => {
                said.push(String::from_utf8(answer.body).unwrap());
                return (said, true);
            }
            Next::Silence => return (said, false),
            Next::Release => {}
        }
    }
}

/// What was read is what was said, as far as it came; all of it, and the answer, unless the cancel was accepted.
fn check(said: &[impl AsRef<str>], accepted: bool) {
    let said: Vec<_> = said.iter().map(AsRef::as_ref).collect();
    match accepted {
        true => assert!(
            said.len() < SAID.len() && SAID.starts_with(&said),
            "{said:?}"
        ),
        false => assert_eq!(said, SAID),
    }
}

#[test]
fn after_an_accepted_cancel_nothing_leaves_by_the_stream_of_a_peer() {
    model("cancel × handler × lines", 4, 10000, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        let gone = Arc::new(AtomicBool::new(false));
        let handler = thread::spawn({
            let call = call.clone();
            move || handle(&call)
        });
        let reader = thread::spawn({
            let (peer, call, gone) = (peer.clone(), call.clone(), gone.clone());
            move || {
                let mut read = Read::default();
                call.drain_lines(&mut read.0);
                for _ in 0..2 {
                    let over = gone.load(Ordering::SeqCst);
                    let count = read.drain(&peer);
                    assert!(!over || count == 0, "after the cancel: {:?}", read.lines());
                }
                read
            }
        });
        let accepted = cancel(&peer, 1);
        gone.store(accepted, Ordering::SeqCst);
        handler.join().unwrap();
        let mut read = reader.join().unwrap();
        let rest = read.drain(&peer);
        assert!(!accepted || rest == 0);
        check(&read.lines(), accepted);
        assert!(!accepted || call.signal.is_aborted());
        assert_eq!(peer.inflight.len(), 0);
    });
}

#[test]
fn the_stream_of_a_cancelled_call_ends_without_an_answer() {
    model("cancel × handler × its own stream", 4, 1500, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        let handler = thread::spawn({
            let call = call.clone();
            move || {
                progress(&call, 1);
                call.settle(b"answer");
            }
        });
        let reader = thread::spawn({
            let call = call.clone();
            move || read_own(&call)
        });
        // By the call itself: its response may be left when it has settled already.
        let accepted = call.silence(Reason::Disconnected);
        handler.join().unwrap();
        let (said, answered) = reader.join().unwrap();
        assert!(accepted != answered);
        let all: &[&str] = &["1", "answer"];
        match answered {
            true => assert_eq!(said, all),
            false => assert!(said.len() < 2 && said.iter().eq(&all[..said.len()])),
        }
    });
}

#[test]
fn of_two_cancels_and_an_answer_one_wins() {
    model("cancel × cancel × answer", 4, 7000, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        let handler = thread::spawn({
            let call = call.clone();
            move || call.settle(b"answer")
        });
        let other = thread::spawn({
            let peer = peer.clone();
            move || cancel(&peer, 1)
        });
        let mut read = Read::default();
        let mine = cancel(&peer, 1);
        call.drain_lines(&mut read.0);
        handler.join().unwrap();
        let theirs = other.join().unwrap();
        read.drain(&peer);
        let answered = !read.lines().is_empty();
        let winners = [mine, theirs, answered].iter().filter(|won| **won).count();
        assert_eq!(winners, 1, "{mine} {theirs} {:?}", read.lines());
    });
}

#[test]
fn a_late_handler_is_answered_for_once() {
    model("deadline × settle × cancel", 5, 45, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        // One task: the deadline is looked at after the handler.
        let handler = thread::spawn({
            let call = call.clone();
            move || {
                call.answer_late(b"late");
                progress(&call, 1);
                call.settle(b"answer");
            }
        });
        let accepted = cancel(&peer, 1);
        let mut read = Read::default();
        call.drain_lines(&mut read.0);
        handler.join().unwrap();
        read.drain(&peer);
        let expected: &[&str] = if accepted { &[] } else { &["late"] };
        assert_eq!(read.lines(), expected);
    });
}

/// A reader that waits until all has come that is to come.
fn read_lines(peer: &Arc<Peer>, calls: Vec<Arc<Call>>, count: usize) -> JoinHandle<Read> {
    let peer = peer.clone();
    thread::spawn(move || {
        let (park, waker) = Park::new();
        let mut read = Read::default();
        for call in calls {
            call.drain_lines(&mut read.0);
        }
        loop {
            read.drain_under(&peer, &waker);
            if read.lines().len() >= count {
                return read;
            }
            park.wait();
        }
    })
}

#[test]
fn a_reader_is_woken_for_all_that_is_said() {
    model("two handlers × reader", 2, 4000, || {
        let peer = Arc::new(Peer::default());
        let calls = vec![enter(&peer, 1), enter(&peer, 2)];
        let handlers: Vec<_> = calls
            .iter()
            .cloned()
            .map(|call| {
                thread::spawn(move || {
                    call.say(b"log".to_vec());
                    call.settle(b"answer");
                })
            })
            .collect();
        let reader = read_lines(&peer, calls, 4);
        for handler in handlers {
            handler.join().unwrap();
        }
        assert_eq!(reader.join().unwrap().lines().len(), 4);
    });
}

#[test]
fn an_id_is_reserved_until_its_handler_has_settled() {
    model("cancel, id again × handler", 4, 75, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        let settled = Arc::new(AtomicBool::new(false));
        let handler = thread::spawn({
            let (call, settled) = (call.clone(), settled.clone());
            move || {
                progress(&call, 1);
                settled.store(true, Ordering::SeqCst);
                call.settle(b"answer");
            }
        });
        cancel(&peer, 1);
        let again = Call::new(&peer, 1);
        match peer.inflight.insert(&again, MOST) {
            Ok(()) => assert!(
                settled.load(Ordering::SeqCst),
                "the id of a handler that runs"
            ),
            Err(refused) => {
                assert_eq!(refused, Refused::Duplicate);
                handler.join().unwrap();
                assert_eq!(peer.inflight.insert(&again, MOST), Ok(()));
                return peer.inflight.clear();
            }
        }
        handler.join().unwrap();
        // The first call has taken nothing of the second along.
        assert_eq!(peer.inflight.len(), 1);
        assert!(Arc::ptr_eq(&peer.inflight.find(&1).unwrap(), &again));
        peer.inflight.clear();
    });
}

#[test]
fn an_id_is_free_as_soon_as_its_answer_is_seen() {
    model("answer × id again", 4, 50, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        let handler = thread::spawn({
            let call = call.clone();
            move || call.settle(b"answer")
        });
        let (_, answered) = read_own(&call);
        assert!(answered);
        enter(&peer, 1);
        handler.join().unwrap();
        assert_eq!(peer.inflight.len(), 1);
        peer.inflight.clear();
    });
}

#[test]
fn whoever_waits_for_the_last_call_finds_its_answer() {
    model("drained × handlers", 3, 6500, || {
        let peer = Arc::new(Peer::default());
        let handlers: Vec<_> = (1..=2)
            .map(|id| {
                let call = enter(&peer, id);
                // Nothing is there yet: from here on it enters the list of its peer.
                call.drain_lines(&mut Vec::new());
                thread::spawn(move || call.settle(b"answer"))
            })
            .collect();
        block_on(Box::pin(peer.inflight.drained(&Signal::never())));
        let mut read = Read::default();
        read.drain(&peer);
        assert_eq!(read.lines(), ["answer", "answer"]);
        for handler in handlers {
            handler.join().unwrap();
        }
    });
}

#[test]
fn progress_of_two_threads_rises_and_precedes_the_answer() {
    model("progress × progress × answer", 4, 1600, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        let other = thread::spawn({
            let call = call.clone();
            move || {
                progress(&call, 2);
                progress(&call, 4);
            }
        });
        let handler = thread::spawn({
            let call = call.clone();
            move || {
                progress(&call, 1);
                progress(&call, 3);
                call.settle(b"answer");
            }
        });
        let mut read = Read::default();
        call.drain_lines(&mut read.0);
        handler.join().unwrap();
        other.join().unwrap();
        read.drain(&peer);
        let lines = read.lines();
        let (answer, reports) = lines.split_last().unwrap();
        assert_eq!(*answer, "answer");
        assert!(reports.is_sorted_by(|a, b| a < b), "{reports:?}");
    });
}

#[test]
fn at_most_sixteen_reports_wait_and_the_newest_is_among_them() {
    const REPORTS: u64 = 20;
    model("many reports × reader", 3, 45, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        let handler = thread::spawn({
            let call = call.clone();
            move || {
                for number in 1..=REPORTS {
                    progress(&call, number);
                }
                call.settle(b"answer");
            }
        });
        let mut read = Read::default();
        call.drain_lines(&mut read.0);
        let (first, mut rest) = (read.lines().len(), Read::default());
        handler.join().unwrap();
        rest.drain(&peer);
        let mut lines = read.lines();
        lines.extend(rest.lines());
        assert_eq!(lines.pop(), Some("answer"));
        let first = first.min(lines.len());
        assert!(first <= 16 && lines.len() - first <= 16, "{lines:?}");
        let numbers: Vec<u64> = lines.iter().map(|line| line.parse().unwrap()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        assert_eq!(numbers.last(), Some(&REPORTS));
    });
}

#[test]
fn of_too_many_log_messages_the_oldest_are_left_out_and_counted() {
    const LOGS: u64 = 6;
    model("many logs × reader", 3, 35, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        let handler = thread::spawn({
            let call = call.clone();
            move || {
                for number in 1..=LOGS {
                    call.log(number.to_string());
                }
                call.settle(b"answer");
            }
        });
        let mut read = Read::default();
        call.drain_lines(&mut read.0);
        read.drain(&peer);
        handler.join().unwrap();
        read.drain(&peer);
        let mut lines = read.lines();
        assert_eq!(lines.pop(), Some("answer"));
        let mut next = 1;
        for line in lines {
            match line.strip_prefix('-') {
                Some(count) => next += count.parse::<u64>().unwrap(),
                None => {
                    assert_eq!(line, next.to_string());
                    next += 1;
                }
            }
        }
        assert_eq!(next, LOGS + 1);
    });
}

#[test]
fn a_task_is_owned_by_its_own_call_and_never_dropped_before_its_end() {
    model("own × settle × id again", 5, 7, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        let (first, second) = (State::new(), State::new());
        let handler = thread::spawn({
            let (peer, call) = (peer.clone(), call.clone());
            let (first, second) = (first.clone(), second.clone());
            move || {
                first.ended.store(true, Ordering::SeqCst);
                call.settle(b"answer");
                let again = enter(&peer, 1);
                peer.inflight.own(&again, Task::new(second));
                again
            }
        });
        peer.inflight.own(&call, Task::new(first.clone()));
        let again = handler.join().unwrap();
        for state in [&first, &second] {
            assert!(!state.dropped.load(Ordering::SeqCst));
        }
        assert!(Arc::ptr_eq(&peer.inflight.find(&1).unwrap(), &again));
        // The end of the grace drops the second, which runs still.
        peer.inflight.clear();
        assert!(second.dropped.load(Ordering::SeqCst));
    });
}

#[test]
fn a_call_that_comes_while_all_are_aborted_is_aborted_or_refused() {
    model("abort all × enter", 5, 5, || {
        let peer = Arc::new(Peer::default());
        let first = enter(&peer, 1);
        let closing = thread::spawn({
            let peer = peer.clone();
            move || peer.inflight.abort_all(&Reason::ServerClosed)
        });
        let second = Call::new(&peer, 2);
        let entered = peer.inflight.insert(&second, MOST);
        closing.join().unwrap();
        assert!(first.signal.is_aborted());
        match entered {
            Ok(()) => assert!(second.signal.is_aborted()),
            Err(refused) => assert_eq!(refused, Refused::Shut),
        }
        peer.inflight.clear();
    });
}

#[test]
fn clearing_the_table_meets_calls_that_settle() {
    model("clear × settle × drained", 5, 55, || {
        let peer = Arc::new(Peer::default());
        let (call, state) = (enter(&peer, 1), State::new());
        peer.inflight.own(&call, Task::new(state.clone()));
        let handler = thread::spawn({
            let (call, state) = (call.clone(), state.clone());
            move || {
                state.ended.store(true, Ordering::SeqCst);
                call.settle(b"answer");
            }
        });
        peer.inflight.clear();
        assert_eq!(peer.inflight.len(), 0);
        handler.join().unwrap();
        block_on(Box::pin(peer.inflight.drained(&Signal::never())));
        assert_eq!(peer.inflight.insert(&call, 1), Ok(()));
        peer.inflight.clear();
    });
}

#[test]
fn a_message_never_follows_the_answer() {
    model("message × answer", 4, 2, || {
        let peer = Arc::new(Peer::default());
        let call = enter(&peer, 1);
        let other = thread::spawn({
            let call = call.clone();
            move || call.say(b"message".to_vec())
        });
        call.settle(b"answer");
        let mut read = Read::default();
        call.drain_lines(&mut read.0);
        let said = other.join().unwrap();
        call.drain_lines(&mut read.0);
        let expected: &[&str] = match said {
            true => &["message", "answer"],
            false => &["answer"],
        };
        assert_eq!(read.lines(), expected);
    });
}
