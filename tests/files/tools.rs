//! What the tools do.

use serde_json::{Value, json};

use crate::child::Files;
use crate::tree::Tree;

#[test]
fn search_skips_binary_files() {
    let tree = Tree::new()
        .file("a.txt", "one needle\ntwo\nthree needles")
        .file("b.bin", b"needle\0needle\n")
        .file("c.txt", b"\xff needle \xfe\n");
    let mut files = Files::over(tree.path());
    assert_eq!(
        files.call("search", json!({ "text": "needle" })).unwrap(),
        "a.txt:1: one needle\n\
         a.txt:3: three needles\n\
         c.txt:1: \u{fffd} needle \u{fffd}\n\
         Found 3 lines in 3 files; 1 of them binary or not readable."
    );
}

#[test]
fn search_reports_each_file_before_it_is_searched() {
    let tree = Tree::new()
        .file("b/two.txt", "")
        .file("a.txt", "")
        .file("b/one.txt", "");
    let mut files = Files::over(tree.path());
    let id = files.begin("search", json!({ "text": "x" }));
    for (progress, name) in ["a.txt", "b/one.txt", "b/two.txt"].iter().enumerate() {
        assert_eq!(
            files.next(),
            json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": { "progressToken": id, "progress": progress, "total": 3, "message": name },
            })
        );
    }
    assert!(files.answer(id).is_ok());
}

#[test]
fn search_is_bounded() {
    let tree = Tree::new()
        .file("a.txt", "needle\n".repeat(10))
        .file("b.txt", "needle\n");
    let mut files = Files::over(tree.path());
    let arguments = json!({ "text": "needle", "max_results": 2 });
    assert_eq!(
        files.call("search", arguments).unwrap(),
        "a.txt:1: needle\na.txt:2: needle\nStopped after 2 lines, with 1 of 2 files searched."
    );
    // With the feature `validate` the schema refuses what else the handler would.
    for (name, arguments) in [
        ("text", json!({ "text": "" })),
        ("text", json!({ "text": "a\nb" })),
        ("text", json!({ "text": "x".repeat(1001) })),
        ("max_results", json!({ "text": "x", "max_results": 0 })),
        ("max_results", json!({ "text": "x", "max_results": 1001 })),
    ] {
        let refusal = files.call("search", arguments).unwrap_err();
        assert!(refusal.contains(name), "{refusal}");
    }
    let refusal = files.call("search", json!({ "text": "x", "paht": "a" }));
    assert!(refusal.unwrap_err().contains("paht"));
}

#[test]
fn search_finds_text_anywhere_in_long_lines_and_shows_a_part() {
    // Blocks are of 64 KiB: once across the border of two, and twice in one line.
    let mut text = "ä".repeat(32 * 1024 - 2);
    text += "needle";
    text += &"ö".repeat(100_000);
    text += "needle\nafter needle\n";
    let tree = Tree::new().file("long.txt", text);
    let mut files = Files::over(tree.path());
    let found = files.call("search", json!({ "text": "needle" })).unwrap();
    let before = "ä".repeat(60);
    assert!(
        found.starts_with(&format!("long.txt:1: {before}needle")),
        "{found}"
    );
    assert!(found.contains("needleö"), "{found}");
    assert!(
        found.contains("\nlong.txt:2: after needle\nFound 2 lines in 1 files;"),
        "{found}"
    );
    assert!(found.chars().count() < 500, "{found}");
}

#[test]
fn search_that_times_out_says_how_far_it_came() {
    let tree = Tree::large();
    let mut files = Files::over(tree.path());
    let arguments = json!({ "text": "needle", "timeout_ms": 500 });
    let text = files.call("search", arguments).unwrap_err();
    let searched = text
        .strip_prefix("The search timed out after 500 ms: ")
        .and_then(|rest| rest.strip_suffix(
            " of 402 files were searched, 1 lines found. Give a longer 'timeout_ms' or a narrower 'path'.",
        ));
    let searched: u32 = searched.expect(&text).parse().unwrap();
    assert!((1..402).contains(&searched));

    let arguments = json!({ "text": "needle", "timeout_ms": 0 });
    assert_eq!(
        files.call("search", arguments).unwrap_err(),
        "The search timed out after 0 ms: the files were still being listed. \
         Give a longer 'timeout_ms' or a narrower 'path'."
    );
}

#[test]
fn read_returns_a_range() {
    let tree = Tree::new().file("a.txt", "one\ntwo\nthree\nfour");
    let mut files = Files::over(tree.path());
    let mut read = |first: Value, last: Value| {
        let mut arguments = json!({ "path": "a.txt" });
        for (name, line) in [("first_line", first), ("last_line", last)] {
            if !line.is_null() {
                arguments[name] = line;
            }
        }
        files.call("read", arguments)
    };
    assert_eq!(
        read(Value::Null, Value::Null).unwrap(),
        "one\ntwo\nthree\nfour"
    );
    assert_eq!(read(2.into(), 3.into()).unwrap(), "two\nthree\n");
    assert_eq!(read(4.into(), 9.into()).unwrap(), "four");
    assert_eq!(
        read(5.into(), Value::Null).unwrap_err(),
        "\"a.txt\" has only 4 lines."
    );
    for (first, last) in [(0, 1), (3, 2)] {
        let refusal = read(first.into(), last.into()).unwrap_err();
        assert!(refusal.contains("Line") || refusal.contains("first_line"));
    }
}

#[test]
fn read_is_bounded_and_says_where_to_go_on() {
    let tree = Tree::new()
        .file("long.txt", format!("{}\nshort\n", "x".repeat(1 << 20)))
        .file("many.txt", "0123456789abcde\n".repeat(20_000))
        .file("empty.txt", "")
        .file("binary", b"\0");
    let mut files = Files::over(tree.path());
    let many = files.call("read", json!({ "path": "many.txt" })).unwrap();
    assert!(many.ends_with("\n---\nThere is more: go on with 'first_line' 16385."));
    let rest = files.call("read", json!({ "path": "many.txt", "first_line": 16385 }));
    assert_eq!(rest.unwrap().lines().count(), 20_000 - 16_384);

    let long = files.call("read", json!({ "path": "long.txt" })).unwrap();
    let note = "\n---\nLine 1 is longer than what is shown of it.";
    let text = long.strip_suffix(note).expect("a note");
    assert_eq!(text, format!("{}…\nshort\n", "x".repeat(64 * 1024)));
    assert_eq!(
        files.call("read", json!({ "path": "empty.txt" })).unwrap(),
        ""
    );
    let refusal = files.call("read", json!({ "path": "binary" })).unwrap_err();
    assert_eq!(refusal, "\"binary\" is a binary file.");
}

#[test]
fn list_tells_directories_links_and_sizes() {
    let tree = Tree::new()
        .file("b.txt", "12345")
        .file("a/x", "")
        .link("c", "b.txt");
    let mut files = Files::over(tree.path());
    assert_eq!(files.call("list", json!({})).unwrap(), "a/\nb.txt 5\nc@");
    assert_eq!(files.call("list", json!({ "path": "a" })).unwrap(), "x 0");
    let refusal = files.call("list", json!({ "path": "b.txt" })).unwrap_err();
    assert_eq!(refusal, "\"b.txt\" is not a directory.");
}

#[test]
fn digest_is_fnv_1a() {
    let tree = Tree::new().file("empty", "").file("foobar", "foobar");
    let mut files = Files::over(tree.path());
    let text = files.call("digest", json!({})).unwrap();
    let digest: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        digest["each"],
        json!([
            { "path": "empty", "digest": "cbf29ce484222325" },
            { "path": "foobar", "digest": "85944171f73967e8" },
        ])
    );
    assert_eq!(digest["bytes"], 6);
    assert_eq!(digest["files"], 2);
    assert_eq!(digest["unreadable"], 0);
    let again: Value = serde_json::from_str(&files.call("digest", json!({})).unwrap()).unwrap();
    assert_eq!(again, digest);
    let slower = json!({ "path": "foobar", "bytes_per_second": 100 });
    let slower: Value = serde_json::from_str(&files.call("digest", slower).unwrap()).unwrap();
    assert_eq!(slower["each"][0], digest["each"][1]);
}
