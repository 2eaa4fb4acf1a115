//! Rules that the repository keeps, and the public surface, so that changes to it are seen.
//!
//! `UPDATE_SURFACE=1 cargo test --test tidy` writes the surface anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const SURFACE: &str = "tests/surface.txt";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}

/// All files of these kinds below a folder, by their paths from the root, in order.
fn files(folder: &str, kinds: &[&str]) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let hidden = name.starts_with('.') || ["target", "node_modules"].contains(&&*name);
            let kind = path.extension().and_then(|kind| kind.to_str());
            if path.is_dir() && !hidden {
                folders.push(path);
            } else if kind.is_some_and(|kind| kinds.contains(&kind)) {
                found.push(
                    path.strip_prefix(root())
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned(),
                );
            }
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<String> {
    ["src", "examples", "tests"]
        .iter()
        .flat_map(|folder| files(folder, &["rs"]))
        .collect()
}

/// The examples by name, each with its first file.
fn examples() -> Vec<(String, String)> {
    let files = files("examples", &["rs"]).into_iter();
    let example = |file: String| {
        let path = file.strip_prefix("examples/").unwrap();
        let name = path
            .strip_suffix("/main.rs")
            .or_else(|| path.strip_suffix(".rs"))?;
        (!name.contains('/')).then(|| (name.to_owned(), file.clone()))
    };
    files.filter_map(example).collect()
}

#[test]
fn the_changelog_tells_of_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let changelog = read("CHANGELOG.md");
    assert!(
        changelog.contains(&format!("\n## {version}")),
        "no section for {version}"
    );
}

#[test]
fn nothing_is_left_for_later() {
    for path in sources() {
        // Written apart, so that this file may say it.
        for macro_name in ["todo", "dbg"] {
            let left = format!("{macro_name}!(");
            assert!(!read(&path).contains(&left), "{path}: {left}");
        }
        for (number, line) in (1..).zip(read(&path).lines()) {
            assert_eq!(line.trim_end(), line, "{path}:{number} ends with a space");
            let bare = ["// TODO", "// FIXME", "// XXX"]
                .iter()
                .any(|note| line.contains(note));
            assert!(!bare || path == "tests/tidy.rs", "{path}:{number}: {line}");
        }
    }
}

#[test]
fn every_module_says_what_it_is() {
    for path in files("src", &["rs"]) {
        assert!(read(&path).starts_with("//! "), "{path} has no head");
    }
}

#[test]
fn every_example_says_what_it_is_and_how_to_run_it_and_is_run_by_a_test() {
    let tests: String = files("tests", &["rs"]).iter().map(read).collect();
    let examples = examples();
    assert!(examples.len() > 10, "{examples:?}");
    for (name, path) in examples {
        let text = read(&path);
        assert!(text.starts_with("//! "), "{path} has no head");
        let head: String = text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .collect();
        assert!(
            head.contains("cargo run"),
            "{path} does not say how to run it"
        );
        assert!(
            head.contains(&format!("--example {name}")),
            "{path} is run by another name"
        );
        assert!(
            !text.contains("#![allow") && !text.contains("#[allow"),
            "{path} allows something"
        );
        // The benchmark drives this one.
        let tested = name == "bench" || tests.contains(&format!("\"{name}\""));
        assert!(
            tested || tests.contains(&format!("/{name}\"")),
            "no test runs {path}"
        );
    }
}

#[test]
fn what_the_documentation_names_is_there() {
    // The package goes without what runs other people's programs.
    let packaged = root().join("Cargo.toml.orig").exists();
    let left_out = |path: &str| packaged && path.ends_with("/run.sh");
    for page in ["README.md", "CONTRIBUTING.md"] {
        let text = read(page);
        let quoted = text.split('`').skip(1).step_by(2);
        for path in
            quoted.filter(|quoted| quoted.starts_with("src/") || quoted.starts_with("tests/"))
        {
            let there = left_out(path) || root().join(path).exists();
            assert!(there, "{page} names {path}");
        }
    }
}

#[test]
fn the_public_surface_is_the_committed_one() {
    let surface = surface();
    if env::var_os("UPDATE_SURFACE").is_some() {
        fs::write(root().join(SURFACE), &surface).unwrap();
        return;
    }
    let committed = read(SURFACE);
    let differs = committed
        .lines()
        .zip(surface.lines())
        .find(|(was, is)| was != is);
    assert!(
        committed == surface,
        "the public surface has changed, first at {differs:?}; if that is meant, run UPDATE_SURFACE=1 cargo test --test tidy"
    );
}

/// Everything public, by file, and what it implements. The lint `unreachable_pub` sees to it that what is called public is.
fn surface() -> String {
    let mut surface = String::new();
    let texts: Vec<_> = files("src", &["rs"])
        .into_iter()
        .map(|path| (read(&path), path))
        .collect();
    let names = Names::of(&texts);
    for (text, path) in texts {
        let mut items = items(&text);
        items.extend(implementations(&text, &names));
        if !items.is_empty() {
            writeln!(surface, "\n{path}").unwrap();
            items
                .iter()
                .for_each(|item| writeln!(surface, "{item}").unwrap());
        }
    }
    surface.trim_start().to_owned()
}

/// The public items of a file, with what they stand in. Reads what rustfmt has written, not any Rust.
fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut pending: Option<(usize, String)> = None;
    // The header of the block that is being read, and whether all that stands in it is public.
    let (mut block, mut open, mut hidden) = (None::<String>, false, false);
    for line in text.lines() {
        let (code, indent) = (line.trim(), line.len() - line.trim_start().len());
        if code.starts_with("//") || code.is_empty() {
            continue;
        }
        if code.starts_with("#[") {
            // Tests stand at the end of a file.
            if indent == 0 && code == "#[cfg(test)]" {
                break;
            }
            hidden |= code.contains("doc(hidden)");
            continue;
        }
        let (at, item) = match pending.take() {
            Some((at, begun)) => (at, format!("{begun} {code}")),
            None => (indent, code.to_owned()),
        };
        let is_header = at == 0
            && ["impl", "pub enum ", "pub trait "]
                .iter()
                .any(|word| item.starts_with(word));
        let is_public =
            item.starts_with("pub ") || (open && at == 4 && indent >= 4 && !item.starts_with('}'));
        if !is_header && !is_public {
            if line == "}" {
                (block, open) = (None, false);
            }
            hidden = false;
            continue;
        }
        let is_variant = open
            && !["fn ", "type ", "const ", "async "]
                .iter()
                .any(|word| item.starts_with(word));
        let is_field = item.starts_with("pub ") && at > 0 && !has_body(&item);
        let ended =
            item.ends_with(['{', ';', '}']) || ((is_variant || is_field) && item.ends_with(','));
        if !ended {
            pending = Some((at, item));
            continue;
        }
        let item = without_private_fields(item.trim_end_matches(['{', ';', ',', ' ']));
        if std::mem::take(&mut hidden) {
            continue;
        }
        if is_header {
            open = !item.starts_with("impl");
            block = item.starts_with("impl").then(|| item.to_owned());
            if open {
                items.push(item.to_owned());
            }
            continue;
        }
        if let Some(block) = block.take() {
            items.push(block);
        }
        let indent = if at > 0 { "    " } else { "" };
        items.push(format!("{indent}{item}"));
    }
    items
}

/// The types and traits of ours that are public, and the traits that are not.
struct Names {
    public: BTreeSet<String>,
    private_traits: BTreeSet<String>,
}

impl Names {
    fn of(texts: &[(String, String)]) -> Self {
        let (mut public, mut traits) = (BTreeSet::new(), BTreeSet::new());
        for (text, _) in texts {
            for line in text.lines().map(str::trim) {
                let item = line.strip_prefix("pub ").unwrap_or(line);
                let item = item.strip_prefix("pub(crate) ").unwrap_or(item);
                let item = item.strip_prefix("pub(super) ").unwrap_or(item);
                let kinds = ["struct ", "enum ", "trait "];
                let Some(kind) = kinds.iter().find(|kind| item.starts_with(**kind)) else {
                    continue;
                };
                let name = words(&item[kind.len()..]).next().unwrap_or_default();
                if line.starts_with("pub ") {
                    public.insert(name.to_owned());
                } else if *kind == "trait " {
                    traits.insert(name.to_owned());
                }
            }
        }
        Self {
            public,
            private_traits: traits,
        }
    }

    /// Tells whether users can rely on an `impl … for …`: it names something of ours that is public, and no trait that
    /// is not. In a macro it is for whatever the macro declares.
    fn rely_on(&self, header: &str) -> bool {
        let known = |word: &str| self.public.contains(word);
        let hidden = |word: &str| self.private_traits.contains(word) && !known(word);
        (header.contains("$name") || words(header).any(known)) && !words(header).any(hidden)
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// What public types implement, by hand and by derives, and for whom public traits are implemented.
fn implementations(text: &str, names: &Names) -> Vec<String> {
    let mut found = Vec::new();
    let (mut begun, mut derived) = (String::new(), String::new());
    let mut tagged = false;
    for line in text.lines() {
        if line == "#[cfg(test)]" {
            break;
        }
        let code = line.trim();
        let goes_on = !begun.is_empty();
        if std::mem::take(&mut tagged) {
            found.push(format!("tagged! for {}", code.trim_end_matches(" {")));
        }
        tagged = code == "tagged! {";
        if goes_on || code.starts_with("impl") || code.starts_with("#[derive(") {
            let space = if goes_on { " " } else { "" };
            begun = format!("{begun}{space}{code}");
            let is_derive = begun.starts_with("#[derive(");
            match (is_derive, code) {
                (true, code) if code.ends_with(")]") => derived = std::mem::take(&mut begun),
                (false, code) if code.ends_with(['{', '}']) => {
                    let header = begun.trim_end_matches(['{', '}', ' ']);
                    if header.contains(" for ") && names.rely_on(header) {
                        found.push(header.to_owned());
                    }
                    begun.clear();
                }
                _ => {}
            }
        } else if code.starts_with("pub struct ")
            || code.starts_with("pub enum ")
            || code.starts_with("$vis ")
        {
            let name = code.split(' ').nth(2).unwrap_or_default();
            let name = name
                .trim_end_matches([':', ';', '{'])
                .split(['(', '<'])
                .next();
            if !derived.is_empty() {
                let traits = derived.trim_start_matches("#[").trim_end_matches(']');
                found.push(format!("{traits} for {}", name.unwrap_or_default()));
            }
            derived.clear();
        } else if !code.starts_with("#[") && !code.starts_with("//") {
            derived.clear();
        }
    }
    found
}

/// What stands in a tuple that shows nothing is nobody's business.
fn without_private_fields(item: &str) -> &str {
    match item.split_once('(') {
        Some((name, fields)) if item.starts_with("pub struct ") && !fields.contains("pub ") => name,
        _ => item,
    }
}

fn has_body(item: &str) -> bool {
    ["fn ", "async fn ", "const fn ", "const "]
        .iter()
        .any(|word| item["pub ".len()..].starts_with(word))
}
