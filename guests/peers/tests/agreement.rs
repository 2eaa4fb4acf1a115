//! Our listener and other readers of HTTP read the same out of the same bytes, or one of them refuses what the other has been
//! too kind about: then it is said below why.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use peers::answers::{Answers, exchange};
use peers::node::Node;
use peers::random::Random;
use peers::requests::Writer;
use peers::{hyper, ours};

/// What we refuse and hyper serves, by our words, and why we do. Sections are of RFC 9112 unless said otherwise.
const STRICTER_THAN_HYPER: &[(&str, &str)] = &[
    (
        "Content-Length is not a number",
        "6.3 allows a list of equal numbers; nobody sends it in good faith",
    ),
    ("Transfer-Encoding is not chunked", "6.3 asks for 400"),
    (
        "a line does not end with CR LF",
        "2.2 allows a lone LF; proxies differ about it",
    ),
    (
        "both Content-Length and Transfer-Encoding",
        "6.1: it ought to be handled as an error",
    ),
    (
        "empty lines before the request",
        "2.2 asks for one to be skipped",
    ),
    ("more than one Host header", "3.2 asks for 400"),
    (
        "more than one Transfer-Encoding header",
        "6.1: chunked is the only coding here, and applied once",
    ),
    ("the Host header is malformed", "3.2 asks for 400"),
    ("the Host header is missing", "3.2 asks for 400"),
    (
        "the chunked body is malformed",
        "7.1.1: an extension has a form, and no LF in it",
    ),
    (
        "the expectation is not known",
        "RFC 9110, 10.1.1 allows 417",
    ),
    (
        "the request target is malformed",
        "3.2 knows no fragments, and 4.2.4 of RFC 9110 warns of user information",
    ),
    (
        "this is not a proxy",
        "RFC 9110, 9.3.6: CONNECT is for proxies",
    ),
];

/// The same for Node.js, of which any version may be installed.
const STRICTER_THAN_NODE: &[(&str, &str)] = &[
    (
        "Transfer-Encoding in an HTTP/1.0 request",
        "6.1: its framing is to be treated as faulty",
    ),
    ("Transfer-Encoding is not chunked", "6.3 asks for 400"),
    (
        "a line does not end with CR LF",
        "2.2 allows a lone LF; proxies differ about it",
    ),
    (
        "empty lines before the request",
        "2.2 asks for one to be skipped",
    ),
    ("more than one Host header", "3.2 asks for 400"),
    (
        "more than one Transfer-Encoding header",
        "6.1: chunked is the only coding here, and applied once",
    ),
    (
        "only HTTP/1.0 and HTTP/1.1 are spoken here",
        "RFC 9110, 15.6.6: 505 is for that",
    ),
    ("the Host header is malformed", "3.2 asks for 400"),
    (
        "the expectation is not known",
        "RFC 9110, 10.1.1 allows 417",
    ),
    (
        "the request line is malformed",
        "3 has one space between its words",
    ),
    (
        "the request target is malformed",
        "3.2 knows no fragments, and 4.2.4 of RFC 9110 warns of user information",
    ),
];

/// How many sequences of requests are compared.
const ROUNDS: u64 = 2000;

/// Two servers that get the same bytes.
struct Pair {
    ours: SocketAddr,
    theirs: SocketAddr,
}

impl Pair {
    /// Sends both the same, and returns what each makes of it.
    fn read(&self, input: &[u8], random: &mut Random) -> (Answers, Answers) {
        let pieces = 1 + random.below(4);
        let mut ours = exchange(self.ours, input, pieces, random);
        let mut theirs = exchange(self.theirs, input, pieces, random);
        ours.seen.iter_mut().for_each(forget_host);
        theirs.seen.iter_mut().for_each(forget_host);
        assert!(ours.ended, "our listener has not closed: {}", text(input));
        (ours, theirs)
    }
}

/// The authority of a target in absolute form replaces what `Host` says (3.2.2): our listener does that, others leave it
/// to the application.
fn forget_host(seen: &mut String) {
    let target = seen.split(' ').nth(1).unwrap_or_default();
    if target.starts_with('/') || target == "*" {
        return;
    }
    for start in [" host=", ";host="] {
        if let Some(at) = seen.find(start) {
            let start = at + 1;
            let end = start + seen[start..].find(';').expect("the end of a value");
            seen.replace_range(start..=end, "");
        }
    }
}

fn text(input: &[u8]) -> impl std::fmt::Display {
    input.escape_ascii()
}

fn assert_equal(pair: &Pair, input: &[u8], random: &mut Random, seed: u64) {
    let (ours, theirs) = pair.read(input, random);
    assert_eq!(ours, theirs, "seed {seed}: {}", text(input));
}

#[test]
fn hyper_reads_well_formed_requests_as_we_do() {
    let pair = Pair {
        ours: ours::start(),
        theirs: hyper::start(),
    };
    for seed in 0..ROUNDS {
        let random = &mut Random::new(seed);
        let for_node = false;
        let input = Writer { random, for_node }.well_formed();
        assert_equal(&pair, &input, random, seed);
    }
}

#[test]
fn node_reads_well_formed_requests_as_we_do() {
    let Some(node) = Node::start() else {
        return eprintln!("node is not installed");
    };
    let pair = Pair {
        ours: ours::start(),
        theirs: node.address,
    };
    for seed in 0..ROUNDS {
        let random = &mut Random::new(seed);
        let for_node = true;
        let input = Writer { random, for_node }.well_formed();
        assert_equal(&pair, &input, random, seed);
    }
}

#[test]
fn what_hyper_serves_of_broken_requests_we_serve_too_or_refuse_for_a_reason() {
    let pair = Pair {
        ours: ours::start(),
        theirs: hyper::start(),
    };
    let mut met: BTreeSet<&str> = BTreeSet::new();
    for seed in 0..3 * ROUNDS {
        let random = &mut Random::new(seed);
        let for_node = false;
        let input = Writer { random, for_node }.broken();
        let (ours, theirs) = pair.read(&input, random);
        let told = || format!("seed {seed}: {}\n{ours:?}\n{theirs:?}", text(&input));
        let same = theirs.seen.get(..ours.seen.len()) == Some(&ours.seen[..]);
        assert!(same, "{}", told());
        if theirs.seen.len() > ours.seen.len() {
            met.insert(reason(&ours, STRICTER_THAN_HYPER).unwrap_or_else(|| panic!("{}", told())));
        }
    }
    assert_eq!(Vec::from_iter(met), names(STRICTER_THAN_HYPER));
}

/// Node.js drops the answers that it owes when a later request is refused, so what it serves may be less.
#[test]
fn what_node_serves_of_broken_requests_we_serve_too_or_refuse_for_a_reason() {
    let Some(node) = Node::start() else {
        return eprintln!("node is not installed");
    };
    let pair = Pair {
        ours: ours::start(),
        theirs: node.address,
    };
    let mut met: BTreeSet<&str> = BTreeSet::new();
    for seed in 0..3 * ROUNDS {
        let random = &mut Random::new(seed);
        let for_node = true;
        let input = Writer { random, for_node }.broken();
        // What follows these is of another protocol to Node.js, and it says nothing more.
        if contains(&input, b"CONNECT ") || contains(&input, b"Upgrade: ") {
            continue;
        }
        let (ours, theirs) = pair.read(&input, random);
        let told = || format!("seed {seed}: {}\n{ours:?}\n{theirs:?}", text(&input));
        let both = ours.seen.len().min(theirs.seen.len());
        assert_eq!(ours.seen[..both], theirs.seen[..both], "{}", told());
        if theirs.seen.len() > both && !keeps_and_closes(&ours) {
            met.insert(reason(&ours, STRICTER_THAN_NODE).unwrap_or_else(|| panic!("{}", told())));
        }
        assert!(
            ours.seen.len() == both || theirs.refusal.is_some(),
            "{}",
            told()
        );
    }
    assert!(!met.is_empty(), "nothing differs: was anything broken?");
}

/// Whether the last request was one of HTTP/1.0 that wants its connection kept and closed. Closing wins (9.3), but not for
/// Node.js.
fn keeps_and_closes(ours: &Answers) -> bool {
    let last = ours.seen.last().map_or("", String::as_str);
    let is_both = |name: &str| last.matches(name).count() > 1;
    ours.refusal.is_none() && last.contains(" HTTP/1.0 ") && is_both("connection=")
}

/// The words of our refusal, if they are listed.
fn reason(ours: &Answers, listed: &[(&'static str, &str)]) -> Option<&'static str> {
    let (_, words) = ours.refusal.as_ref()?;
    names(listed).into_iter().find(|name| name == words)
}

fn names(listed: &[(&'static str, &str)]) -> Vec<&'static str> {
    listed.iter().map(|(name, _)| *name).collect()
}

fn contains(input: &[u8], part: &[u8]) -> bool {
    input.windows(part.len()).any(|window| window == part)
}
