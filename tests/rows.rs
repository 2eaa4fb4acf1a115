//! Holds the table of what a server has to do, `rows/table.txt`, against the tests that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rows that bind and that nothing proves yet. Who proves one takes it from here.
const GAPS: &[&str] = &[];

/// The scenarios of the official suite for servers, of which the table may name those that `tests/conformance` runs.
const SCENARIOS: &[&str] = &[
    "caching",
    "dns-rebinding-protection",
    "ping",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
];

const STRENGTHS: &[&str] = &[
    "MUST",
    "MUST NOT",
    "SHOULD",
    "SHOULD NOT",
    "STATED",
    "PRODUCT",
];

/// Strengths that leave no choice.
const BINDING: &[&str] = &["MUST", "MUST NOT", "STATED", "PRODUCT"];

struct Row<'a> {
    id: &'a str,
    strength: &'a str,
    era: &'a str,
    proof: Proof<'a>,
}

enum Proof<'a> {
    Tests(Vec<&'a str>),
    Policy(&'a str),
    NotOffered(&'a str),
    Missing(&'a str),
}

impl<'a> Proof<'a> {
    fn read(text: &'a str) -> Self {
        if let Some(reason) = text.strip_prefix("policy: ") {
            Self::Policy(reason)
        } else if let Some(reason) = text.strip_prefix("not offered: ") {
            Self::NotOffered(reason)
        } else if let Some(reason) = text.strip_prefix("missing: ") {
            Self::Missing(reason)
        } else {
            Self::Tests(text.split(", ").collect())
        }
    }
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rows() -> Vec<Row<'static>> {
    include_str!("rows/table.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let columns: Vec<_> = line.split(" | ").collect();
            let &[id, strength, era, statement, proof] = &*columns else {
                panic!("not five columns: {line}");
            };
            assert!(STRENGTHS.contains(&strength), "{line}");
            assert!(!statement.is_empty(), "{line}");
            let proof = Proof::read(proof);
            Row {
                id,
                strength,
                era,
                proof,
            }
        })
        .collect()
}

/// The Rust files of a directory, by their path in it; none of those that other tools have put there.
fn sources(directory: &Path) -> BTreeMap<String, String> {
    fn collect(top: &Path, directory: PathBuf, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("node_modules") {
                    collect(top, path, found);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(top).unwrap();
                let name: Vec<_> = name.iter().map(|part| part.to_str().unwrap()).collect();
                found.insert(name.join("/"), fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(directory, directory.to_owned(), &mut found);
    found
}

/// The names of a file's tests. Those that are ignored prove nothing.
fn tests_of(source: &str) -> BTreeSet<&str> {
    let (mut names, mut marked) = (BTreeSet::new(), false);
    for line in source.lines().map(str::trim) {
        if line == "#[test]" {
            marked = true;
        } else if line.starts_with("#[ignore") {
            marked = false;
        } else if let Some(rest) = line.strip_prefix("fn ") {
            if std::mem::take(&mut marked) {
                names.extend(rest.split('(').next());
            }
        } else if !line.starts_with("#[") && !line.starts_with("//") {
            marked = false;
        }
    }
    names
}

#[test]
fn every_row_is_in_the_table_once() {
    let mut expected: Vec<_> = (1..=391).map(|n| format!("R{n}")).collect();
    expected.extend((1..=25).map(|n| format!("P{n}")));
    let mut found: Vec<_> = rows().iter().map(|row| row.id.to_owned()).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn every_test_that_the_table_names_is_there() {
    let in_tests = sources(&here().join("tests"));
    let in_src = sources(&here().join("src"));
    let mut wrong = Vec::new();
    for row in rows() {
        let names = match row.proof {
            Proof::Tests(names) => names,
            Proof::Policy(reason) | Proof::NotOffered(reason) | Proof::Missing(reason) => {
                assert!(reason.len() >= 10, "{}: {reason}", row.id);
                continue;
            }
        };
        for name in names {
            let known = match name.strip_prefix("suite:") {
                Some(scenario) => SCENARIOS.contains(&scenario),
                None => name.split_once("::").is_some_and(|(file, test)| {
                    let source = match file.strip_prefix("src/") {
                        Some(file) => in_src.get(file),
                        None => in_tests.get(file),
                    };
                    source.is_some_and(|source| tests_of(source).contains(test))
                }),
            };
            if !known {
                wrong.push(format!("{}: {name}", row.id));
            }
        }
    }
    assert!(wrong.is_empty(), "no such tests: {wrong:#?}");
}

#[test]
fn what_binds_is_proven_but_for_the_gaps() {
    let rows = rows();
    let count = |is: fn(&Proof<'_>) -> bool| rows.iter().filter(|row| is(&row.proof)).count();
    let gaps: Vec<_> = rows
        .iter()
        .filter(|row| matches!(row.proof, Proof::Missing(_)) && BINDING.contains(&row.strength))
        .map(|row| row.id)
        .collect();
    println!(
        "{} rows by tests, {} by policy, {} not offered, {} missing; {} gaps",
        count(|proof| matches!(proof, Proof::Tests(_))),
        count(|proof| matches!(proof, Proof::Policy(_))),
        count(|proof| matches!(proof, Proof::NotOffered(_))),
        count(|proof| matches!(proof, Proof::Missing(_))),
        gaps.len(),
    );
    assert_eq!(gaps, GAPS);
}

#[test]
fn eras_are_known_words() {
    for row in rows() {
        for word in row.era.split(&[',', ' ', '…'][..]) {
            let word = word.trim_start_matches('≥');
            let date = word.len() == 10 && word.starts_with("202");
            let known = ["", "and", "modern", "legacy", "both"].contains(&word) || date;
            assert!(known, "{}: {}", row.id, row.era);
        }
    }
}
