//! What was compiled, kept on disk for other processes.
//!
//! Nothing depends on it: a file that cannot be read, or is not what it should be, is compiled again.

use std::env;
use std::fs::{self, File, FileTimes};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::hash::Hash;

/// Bytes that the files may take together. Those not used for longest go first.
const LIMIT: u64 = 256 << 20;
/// How many files are written between two looks at what all of them take.
const LOOK: u64 = 32;
/// What every file begins with.
const MAGIC: [u8; 8] = *b"ustcubn1";
const HEADER: usize = 8 + 16 + 16;

/// The folder of everything that this crate keeps on disk.
pub(crate) fn folder() -> Option<PathBuf> {
    let own = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let root = own("UST_CACHE_DIR")
        .or_else(|| Some(own("XDG_CACHE_HOME")?.join("ust")))
        .or_else(|| Some(own("LOCALAPPDATA")?.join("ust")))
        .or_else(|| {
            let home = own("HOME")?;
            let cache = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
            Some(home.join(cache).join("ust"))
        })?;
    Some(root.join("cuda"))
}

/// Machine code that is kept on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cache {
    /// Where: in `$UST_CACHE_DIR`, or in the user's folder for such files.
    pub folder: PathBuf,
    /// Bytes of all files.
    pub bytes: u64,
}

/// What is kept on disk now. `None` where no folder is known to keep anything in.
#[must_use]
pub fn cache() -> Option<Cache> {
    let folder = folder()?;
    let files = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
    let bytes = files.filter_map(|file| file.metadata().ok()).filter(fs::Metadata::is_file);
    Some(Cache { bytes: bytes.map(|data| data.len()).sum(), folder })
}

/// What is kept under a key.
pub(crate) fn load(key: Hash) -> Option<Vec<u8>> {
    load_from(&folder()?, key)
}

/// Whether something is kept under a key.
pub(crate) fn has(key: Hash) -> bool {
    folder().is_some_and(|folder| path(&folder, key).is_file())
}

/// Keeps bytes under a key, if that is possible.
pub(crate) fn store(key: Hash, content: &[u8]) {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let Some(folder) = folder() else { return };
    // A full or read-only disk is no reason not to run.
    let _ = store_to(&folder, key, content);
    if WRITTEN.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOK) {
        let _ = bound(&folder, LIMIT);
    }
}

fn path(folder: &Path, key: Hash) -> PathBuf {
    folder.join(format!("{:032x}.cubin", key.value()))
}

fn header(key: Hash, content: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..24].copy_from_slice(&key.value().to_le_bytes());
    header[24..].copy_from_slice(&Hash::new().with(content).value().to_le_bytes());
    header
}

fn load_from(folder: &Path, key: Hash) -> Option<Vec<u8>> {
    let mut file = File::open(path(folder, key)).ok()?;
    let mut all = Vec::new();
    file.read_to_end(&mut all).ok()?;
    let content = all.get(HEADER..)?;
    if all[..HEADER] != header(key, content) {
        return None;
    }
    // Times of access are not kept everywhere; this one says when the file was used last.
    let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
    Some(all.split_off(HEADER))
}

/// Other processes see the whole file or none.
fn store_to(folder: &Path, key: Hash, content: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    fs::create_dir_all(folder)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!("{}-{number}.tmp", process::id()));
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(&header(key, content))?;
        file.write_all(content)?;
        drop(file);
        fs::rename(&temporary, path(folder, key))
    };
    write().inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// Removes files until the others take `limit` bytes at most.
fn bound(folder: &Path, limit: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.filter_map(Result::ok) {
        let Ok(data) = entry.metadata() else { continue };
        if data.is_file() {
            files.push((
                data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                data.len(),
                entry.path(),
            ));
        }
    }
    files.sort();
    let mut sum: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, bytes, path) in files {
        if sum <= limit {
            break;
        }
        // Another process may have removed it.
        let _ = fs::remove_file(path);
        sum -= bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(text: &str) -> Hash {
        Hash::new().with(text.as_bytes())
    }

    #[test]
    fn what_is_stored_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let folder = &folder.path().join("made");
        assert_eq!(load_from(folder, key("a")), None);
        store_to(folder, key("a"), b"one").unwrap();
        store_to(folder, key("b"), b"").unwrap();
        assert_eq!(load_from(folder, key("a")).unwrap(), b"one");
        assert_eq!(load_from(folder, key("b")).unwrap(), b"");
        store_to(folder, key("a"), b"two").unwrap();
        assert_eq!(load_from(folder, key("a")).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 2, "no temporary files stay");
    }

    #[test]
    fn a_file_that_is_not_what_it_should_be_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        store_to(folder, key("a"), b"content").unwrap();
        let good = fs::read(path(folder, key("a"))).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(path(folder, key("a")), &bad).unwrap();
            assert_eq!(load_from(folder, key("a")), None, "byte {at}");
            fs::write(path(folder, key("a")), &good[..at]).unwrap();
            assert_eq!(load_from(folder, key("a")), None, "{at} bytes");
        }
        // The file of another key.
        fs::write(path(folder, key("b")), &good).unwrap();
        assert_eq!(load_from(folder, key("b")), None);
    }

    #[test]
    fn files_not_used_for_longest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for (age, name) in [(30, "a"), (20, "b"), (10, "c")] {
            store_to(folder, key(name), &[0; 1000]).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            let file = File::options().write(true).open(path(folder, key(name))).unwrap();
            file.set_times(FileTimes::new().set_modified(then)).unwrap();
        }
        assert!(load_from(folder, key("a")).is_some(), "used now");
        bound(folder, 2500).unwrap();
        let left = ["a", "b", "c"].map(|name| load_from(folder, key(name)).is_some());
        assert_eq!(left, [true, false, true]);
    }
}
