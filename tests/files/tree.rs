//! A directory of a test's own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) struct Tree {
    dir: PathBuf,
}

impl Tree {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("files-{}-{number}", std::process::id());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&dir).unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn link(self, name: &str, target: impl AsRef<Path>) -> Self {
        symlink(target, self.dir.join(name)).unwrap();
        self
    }

    /// A tree that takes seconds to read and little room: one file of 16 MiB under many names, after a small one.
    pub(crate) fn large() -> Self {
        let line = "the quick brown fox\n";
        let tree = Self::new()
            .file("a.txt", "needle\n")
            .file("b.txt", line.repeat((16 << 20) / line.len()));
        for number in 0..400 {
            let name = tree.dir.join(format!("c{number:03}.txt"));
            fs::hard_link(tree.dir.join("b.txt"), name).unwrap();
        }
        tree
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}
