//! The directory that is served, and the way from a client's path to a file in it.

use std::fs::{self, ReadDir};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use smol_mcp::{HandlerError, Signal};

/// A tree of more files is not walked: the client has to name a part of it.
const MOST_FILES: usize = 200_000;

/// A directory that clients cannot leave.
///
/// This confines clients, which cannot change files. It does not confine other programs that may: one that swaps a file
/// for a link, between the check and the reading, gets through.
pub(crate) struct Root(PathBuf);

/// A regular file below the root.
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    /// The path that clients use.
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

impl Root {
    pub(crate) fn open(dir: &Path) -> Result<Self, String> {
        let found = dir
            .canonicalize()
            .and_then(|dir| fs::read_dir(&dir).map(|_| dir));
        found
            .map(Self)
            .map_err(|err| format!("cannot serve {dir:?}: {err}"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Finds the target of a client's path, if that is inside. Blocks.
    pub(crate) fn find(&self, path: &str) -> Result<PathBuf, HandlerError> {
        let outside = |what: &str| HandlerError::public(format!("{path:?} {what}."));
        for component in Path::new(path).components() {
            match component {
                Component::Normal(_) | Component::CurDir => {}
                Component::ParentDir => return Err(outside("is refused: '..' may not be used")),
                _ => {
                    return Err(outside(
                        "is refused: paths are relative to the served directory",
                    ));
                }
            }
        }
        let found = self.0.join(path).canonicalize();
        let found = found.map_err(|err| unreadable(path, &err))?;
        match found.starts_with(&self.0) {
            true => Ok(found),
            false => Err(outside("is refused: it leads out of the served directory")),
        }
    }

    /// Finds all files at or below a client's path, in the order of their names. Blocks.
    ///
    /// Links are not followed, so nothing comes twice and no loop is walked. Files that cannot be read are left out.
    pub(crate) fn walk(&self, path: &str, signal: &Signal) -> Result<Vec<Entry>, HandlerError> {
        let mut waiting = vec![self.find(path)?];
        let mut files = Vec::new();
        while let Some(path) = waiting.pop() {
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            if metadata.is_file() {
                let (name, bytes) = (self.name(&path), metadata.len());
                files.push(Entry { path, name, bytes });
            } else if metadata.is_dir() {
                waiting.extend(fs::read_dir(&path).into_iter().flat_map(paths));
            }
            if files.len() > MOST_FILES {
                let text =
                    format!("There are more than {MOST_FILES} files. Give a narrower 'path'.");
                return Err(HandlerError::public(text));
            }
            signal.check()?;
        }
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    /// The path that clients use.
    fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.0).unwrap_or(path);
        let names: Vec<_> = inside.iter().map(|name| name.to_string_lossy()).collect();
        names.join("/")
    }
}

fn paths(entries: ReadDir) -> impl Iterator<Item = PathBuf> {
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

/// Tells the client why a file cannot be read.
pub(crate) fn unreadable(path: &str, err: &io::Error) -> HandlerError {
    HandlerError::public(match err.kind() {
        ErrorKind::NotFound => format!("{path:?} does not exist."),
        ErrorKind::PermissionDenied => format!("{path:?} may not be read."),
        _ => format!("{path:?} cannot be read: {err}."),
    })
}
