//! What clients reach, and what they do not.

use serde_json::json;

use crate::child::Files;
use crate::tree::Tree;

#[test]
fn paths_that_lead_out_are_refused_by_name() {
    let outside = Tree::new().file("secret.txt", "secret\n");
    let tree = Tree::new()
        .file("inside.txt", "inside\n")
        .file("dir/deep.txt", "deep\n")
        .link("file-out", outside.path().join("secret.txt"))
        .link("dir-out", outside.path());
    let mut files = Files::over(tree.path());
    let absolute = tree.path().join("inside.txt");
    for path in [
        "..",
        "../",
        "dir/../inside.txt",
        "dir/../../x",
        "/etc/passwd",
        absolute.to_str().unwrap(),
        "file-out",
        "dir-out",
        "dir-out/secret.txt",
    ] {
        for tool in ["read", "list", "search", "digest"] {
            let mut arguments = json!({ "path": path });
            if tool == "search" {
                arguments["text"] = "secret".into();
            }
            let refusal = files.call(tool, arguments).unwrap_err();
            let named = format!("{path:?} is refused: ");
            assert!(refusal.starts_with(&named), "{tool}: {refusal}");
        }
    }
}

#[test]
fn what_does_not_exist_is_named() {
    let tree = Tree::new();
    let mut files = Files::over(tree.path());
    assert_eq!(
        files.call("read", json!({ "path": "a/b" })),
        Err("\"a/b\" does not exist.".to_owned())
    );
    assert_eq!(
        files.call("list", json!({ "path": "a\0b" })).unwrap_err(),
        "\"a\\0b\" cannot be read: file name contained an unexpected NUL byte."
    );
}

#[test]
fn links_that_stay_inside_are_fine() {
    let tree = Tree::new()
        .file("dir/deep.txt", "deep\n")
        .link("file-in", "dir/deep.txt")
        .link("dir-in", "dir");
    let mut files = Files::over(tree.path());
    let deep = Ok("deep\n".to_owned());
    assert_eq!(files.call("read", json!({ "path": "file-in" })), deep);
    assert_eq!(
        files.call("read", json!({ "path": "./dir-in//deep.txt" })),
        deep
    );
    assert_eq!(
        files.call("list", json!({})).unwrap(),
        "dir-in@\ndir/\nfile-in@"
    );
}

#[test]
fn no_walk_follows_links() {
    let outside = Tree::new().file("secret.txt", "needle\n");
    let tree = Tree::new()
        .file("dir/deep.txt", "needle\n")
        .link("dir/up", "..")
        .link("dir/self", ".")
        .link("out", outside.path());
    let mut files = Files::over(tree.path());
    assert_eq!(
        files.call("search", json!({ "text": "needle" })).unwrap(),
        "dir/deep.txt:1: needle\nFound 1 lines in 1 files; 0 of them binary or not readable."
    );
}

#[test]
fn only_regular_files_are_read() {
    let tree = Tree::new().file("dir/a.txt", "");
    let pipe = tree.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let mut files = Files::over(tree.path());
    for path in ["dir", "pipe"] {
        let refusal = files.call("read", json!({ "path": path })).unwrap_err();
        assert_eq!(refusal, format!("{path:?} is not a file."));
    }
    let found = files.call("search", json!({ "text": "x" })).unwrap();
    assert_eq!(
        found,
        "Found 0 lines in 1 files; 0 of them binary or not readable."
    );
}
