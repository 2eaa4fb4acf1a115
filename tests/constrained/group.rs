//! A control group that bounds the memory of what enters it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// Removed when it is dropped, after those who entered have ended.
pub(crate) struct Group(PathBuf);

impl Group {
    /// Makes a group, or says on standard error why it cannot be had here.
    pub(crate) fn new(name: &str, bytes: u64) -> Option<Self> {
        match make(name, bytes) {
            Ok(group) => Some(group),
            Err(reason) => {
                // Not by a macro, whose words the harness keeps to itself.
                let line = format!("skipped, {bytes} bytes for {name}: {reason}\n");
                io::stderr().write_all(line.as_bytes()).unwrap();
                None
            }
        }
    }

    /// What a shell executes to enter it.
    pub(crate) fn enter(&self) -> String {
        format!("echo $$ > '{}/cgroup.procs'", self.0.display())
    }
}

/// The files of either version, beside where they lie.
const VERSIONS: [(&str, &str); 2] = [
    ("/sys/fs/cgroup", "memory.max"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
];

fn make(name: &str, bytes: u64) -> Result<Group, String> {
    let mut reasons = Vec::new();
    for (root, limit) in VERSIONS {
        let path = Path::new(root).join(format!("smol-mcp-test-{name}-{}", process::id()));
        if let Err(err) = fs::create_dir(&path) {
            reasons.push(format!("{}: {err}", path.display()));
            continue;
        }
        let group = Group(path.clone());
        // Opened, not created: in a plain folder there is no such file.
        let file = fs::OpenOptions::new().write(true).open(path.join(limit));
        match file.and_then(|mut file| write!(file, "{bytes}")) {
            Ok(()) => return Ok(group),
            Err(err) => reasons.push(format!("{}/{limit}: {err}", path.display())),
        }
    }
    Err(reasons.join("; "))
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
