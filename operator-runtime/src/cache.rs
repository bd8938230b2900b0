//! Compiled components on disk.
//!
//! ```text
//! <folder>/<SHA-256 of the component>-<what wasmtime's compatibility depends on>.compiled
//!   the artifact, as wasmtime wrote it | format | component's size | artifact's size | xxh3-128
//! ```
//!
//! A file is written under another name in the same folder, flushed and renamed, so a reader sees
//! all of it or none, whoever else writes at the same time. What was cut short or altered since
//! fails its checksum; it is compiled again and replaced. A folder that is full or can't be
//! written costs one warning, and nothing else.
//!
//! The checksum guards against accidents. It can't guard against people: who can write here could
//! write a matching one, whatever the hash, so the folder and the files must belong to this user
//! and be writable by nobody else. That is why it is xxh3 and not SHA-256, which takes ten times
//! as long: 20 ms for the 35 MB of a Python component, as much as loading it.
//!
//! The artifact comes first, so that it can be mapped into memory from the file: all processes on
//! a machine then share its pages.

use std::fs::{self, DirBuilder, File};
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use overspill_protocol::Digest;
use tempfile::NamedTempFile;
use wasmtime::Engine;
use wasmtime::component::Component;
use xxhash_rust::xxh3::Xxh3;

const EXTENSION: &str = "compiled";
const UNFINISHED: &str = ".unfinished-";
/// The format of the file, for when it changes.
const FORMAT: [u8; 8] = *b"overspl1";
const TRAILER: usize = 40;
/// A file's time says when it was used, this exactly.
const USED_RESOLUTION: Duration = Duration::from_secs(3600);

/// `$XDG_CACHE_HOME/overspill/compiled`, or the same under `~/.cache`; none without a home.
pub(crate) fn default_dir() -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("overspill").join("compiled"))
}

/// A folder of compiled components for one configuration of wasmtime.
pub(crate) struct Cache {
    dir: PathBuf,
    max_bytes: u64,
    /// What artifacts must have in common with this engine.
    compatibility: u64,
    /// A folder that can't be written can't be written a thousand times.
    warned: AtomicBool,
}

impl Cache {
    /// The cache in that folder, which is made if need be. None, and a warning, when it can't be
    /// used.
    pub(crate) fn open(dir: &Path, max_bytes: u64, engine: &Engine) -> Option<Self> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        if let Err(error) = made.and_then(|()| trusted(&fs::metadata(dir)?)) {
            tracing::warn!(
                folder = %dir.display(),
                "compiled components are not kept: {error}; each process compiles for itself"
            );
            return None;
        }
        let mut hasher = Xxh3::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Some(Self {
            dir: dir.to_owned(),
            max_bytes,
            compatibility: hasher.finish(),
            warned: AtomicBool::new(false),
        })
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.dir.join(format!("{digest}-{:016x}.{EXTENSION}", self.compatibility))
    }

    /// The compiled component and the size of what it was compiled from, in bytes.
    pub(crate) fn load(&self, digest: Digest, engine: &Engine) -> Option<(Component, u64)> {
        let path = self.path(digest);
        match read(&path, digest, engine) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(
                    file = %path.display(),
                    "a compiled component is unusable and is compiled again: {error}"
                );
                // It is replaced once it is compiled; until then nobody need stumble over it.
                let _ = fs::remove_file(&path);
                None
            }
        }
    }

    /// Keeps a compiled component, if that can be done.
    pub(crate) fn store(&self, digest: Digest, component_size: u64, artifact: &[u8]) {
        let path = self.path(digest);
        let stored = self.write(&path, digest, component_size, artifact);
        if let Err(error) = stored.and_then(|()| self.evict(&path))
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                folder = %self.dir.display(),
                "a compiled component is not kept, and will be compiled again: {error}"
            );
        }
    }

    fn write(
        &self,
        path: &Path,
        digest: Digest,
        component_size: u64,
        artifact: &[u8],
    ) -> io::Result<()> {
        let mut file: NamedTempFile =
            tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.dir)?;
        let mut hasher = Xxh3::new();
        hasher.update(artifact);
        file.write_all(artifact)?;
        file.write_all(&trailer(hasher, digest, component_size, artifact.len() as u64))?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    /// Removes what was used longest ago until the rest is small enough, but never `kept`; and
    /// what processes left that were killed while they wrote.
    fn evict(&self, kept: &Path) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            // Another process may have removed it just now.
            let Ok(metadata) = entry.metadata() else { continue };
            let (path, used) = (entry.path(), metadata.modified()?);
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                if age(used) > USED_RESOLUTION {
                    let _ = fs::remove_file(path);
                }
            } else if path.extension().is_some_and(|extension| extension == EXTENSION) {
                files.push((used, metadata.len(), path));
            }
        }
        let mut bytes: u64 = files.iter().map(|(_, len, _)| len).sum();
        files.sort();
        for (_, len, path) in files {
            if bytes <= self.max_bytes {
                break;
            }
            if path != kept && fs::remove_file(&path).is_ok() {
                bytes -= len;
            }
        }
        Ok(())
    }
}

fn age(used: SystemTime) -> Duration {
    SystemTime::now().duration_since(used).unwrap_or_default()
}

/// Whether nobody but this user could have written it.
fn trusted(metadata: &fs::Metadata) -> io::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o777);
    if owner != user {
        return Err(io::Error::other(format!("it belongs to user {owner}, not to {user}")));
    }
    if mode & 0o022 != 0 {
        return Err(io::Error::other(format!(
            "others can write it (mode {mode:o}); make it 700 after a look at what is in it"
        )));
    }
    Ok(())
}

fn trailer(mut hasher: Xxh3, digest: Digest, component_size: u64, artifact: u64) -> [u8; TRAILER] {
    let mut trailer = [0; TRAILER];
    trailer[..8].copy_from_slice(&FORMAT);
    trailer[8..16].copy_from_slice(&component_size.to_le_bytes());
    trailer[16..24].copy_from_slice(&artifact.to_le_bytes());
    hasher.update(&trailer[..24]);
    // A file under another component's name is as wrong as a broken one.
    hasher.update(digest.as_bytes());
    trailer[24..].copy_from_slice(&hasher.digest128().to_le_bytes());
    trailer
}

fn read(path: &Path, digest: Digest, engine: &Engine) -> io::Result<(Component, u64)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    trusted(&metadata)?;
    let cut_short = || io::Error::other("it is cut short");
    let artifact = metadata.len().checked_sub(TRAILER as u64).ok_or_else(cut_short)?;
    let mut reader = BufReader::with_capacity(256 << 10, &file);
    let mut hasher = Xxh3::new();
    let hashed = io::copy(&mut (&mut reader).take(artifact), &mut Hashing(&mut hasher))?;
    let mut found = [0; TRAILER];
    reader.read_exact(&mut found).map_err(|_| cut_short())?;
    let component_size = u64::from_le_bytes(found[8..16].try_into().expect("8 bytes"));
    if hashed != artifact || found != trailer(hasher, digest, component_size, artifact) {
        return Err(io::Error::other("its checksum doesn't match: it was cut short or altered"));
    }
    // SAFETY: an artifact must come from wasmtime's own compiler and be unchanged for as long as
    // the component lives. The file and its folder belong to this user and nobody else can write
    // them; the checksum shows that it is what this user's process wrote; and files here are
    // replaced and removed, never written in place.
    let component = unsafe { Component::deserialize_file(engine, path) }
        .map_err(|error| io::Error::other(format!("{error:#}")))?;
    if metadata.modified().is_ok_and(|used| age(used) > USED_RESOLUTION) {
        // For eviction only; a folder that can't be written isn't evicted from either.
        let _ = file.set_modified(SystemTime::now());
    }
    Ok((component, component_size))
}

/// Hashes what is written to it.
struct Hashing<'a>(&'a mut Xxh3);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
