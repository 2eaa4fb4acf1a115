//! What the compiler says of an author's mistake: it names the one thing that does not fit.
//!
//! A program with all the mistakes is checked by cargo, which takes a while; `.ci/full` asks for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mistake, where it is, and what the compiler says there.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "an_input_that_does_not_deserialise",
        "struct Input; async fn handler(_: Input, _: Context) {}",
        "the trait bound `Input: serde::de::DeserializeOwned` is not satisfied",
    ),
    (
        "a_context_instead_of_an_input",
        "async fn handler(_: Context) {}",
        "the trait bound `smol_mcp::Context: serde::de::DeserializeOwned` is not satisfied",
    ),
    (
        "a_future_that_stays_on_its_thread",
        "async fn handler(_: NoInput, cx: Context) { let held = std::rc::Rc::new(()); cx.signal().await; drop(held); }",
        "future cannot be sent between threads safely",
    ),
    (
        "a_result_that_says_nothing_to_a_client",
        "struct Output; async fn handler(_: NoInput) -> Output { Output }",
        "a handler of a tool cannot return `Output`",
    ),
    (
        "a_function_that_is_not_async",
        "fn handler(_: NoInput, _: Context) -> String { String::new() }",
        "`String` is not a future",
    ),
    (
        "a_function_without_input",
        "async fn handler() {}",
        "is not a handler of a tool",
    ),
    (
        "a_failure_that_is_not_returned",
        "async fn handler(_: NoInput) { HandlerError::public(\"No.\"); }",
        "unused `HandlerError` that must be used",
    ),
    (
        "an_option_of_a_number_as_total",
        "async fn handler(_: NoInput, cx: Context) { cx.progress(1, Some(2_u64), \"\"); }",
        "`Option<u64>` is not a total of progress",
    ),
    (
        "a_server_as_a_service",
        "async fn handler(_: NoInput) {} fn serve(_: impl Service) {} fn put(server: Server) { serve(server) }",
        "`Server` is not a service of a listener",
    ),
    (
        "a_function_with_the_context_first",
        "async fn handler(_: Context, _: NoInput) {}",
        "is not a handler of a tool",
    ),
];

/// Writes a crate with a program for each mistake, and returns its folder.
fn write(place: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = place.join("diagnostics");
    let bins = folder.join("src/bin");
    fs::create_dir_all(&bins).unwrap();
    let manifest = format!(
        "[package]\nname = \"mistakes\"\nedition = \"2024\"\n\n[dependencies]\nsmol-mcp = {{ path = {root:?} }}\n\n\
         [workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    for (name, handler, _) in MISTAKES {
        let program = format!(
            "#![allow(unused)]\n#![deny(unused_must_use)]\nuse smol_mcp::{{Context, HandlerError, NoInput, Server, Tool, http::Service}};\n{handler}\n\
             fn main() {{ let _ = Tool::new(\"tool\", handler); }}\n"
        );
        fs::write(bins.join(name).with_extension("rs"), program).unwrap();
    }
    folder
}

#[test]
#[ignore = "builds the crate anew; run by `.ci/full`"]
fn a_mistake_of_an_author_is_named_once_and_precisely() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let output = Command::new(env!("CARGO"))
        .args([
            "check",
            "--offline",
            "--keep-going",
            "--message-format=short",
        ])
        .current_dir(write(place))
        .env("CARGO_TARGET_DIR", place.join("diagnostics-target"))
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    for (name, _, expected) in MISTAKES {
        let here = format!("src/bin/{name}.rs:");
        let errors: Vec<_> = told
            .lines()
            .filter(|line| line.starts_with(&here) && line.contains(": error"))
            .collect();
        assert!(
            matches!(&errors[..], [error] if error.contains(expected)),
            "{name}: expected one error with {expected:?}, got {errors:#?} in\n{told}"
        );
    }
}
