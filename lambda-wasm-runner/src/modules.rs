//! The components that may run here, and those that are loaded.
//!
//! Trust comes first: a digest that is on no list is refused before anything is looked up, let
//! alone compiled. A trusted component that isn't here yet can be uploaded, and is checked against
//! its digest. What is loaded is kept, within bounds; the least recently used goes first.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use overspill_operator_runtime::{ConfigureError, Limits, LoadError, Operator, Pool, Runtime};
use overspill_protocol::{CallLimits, Digest};

/// How many components are kept loaded, and how many pools (a component with its settings and
/// limits).
const MAX_OPERATORS: usize = 64;
const MAX_POOLS: usize = 128;

/// The components of this runner.
pub struct Modules {
    runtime: Runtime,
    trusted: HashSet<Digest>,
    files: HashMap<Digest, PathBuf>,
    operators: Mutex<Recent<Digest, Arc<Mutex<Option<Operator>>>>>,
    pools: Mutex<Recent<PoolKey, Pool>>,
}

/// A component, its settings by name, and what its calls may use.
type PoolKey = (Digest, Vec<(String, String)>, CallLimits);

/// Why a component can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// It is on no list.
    #[error(
        "component {0} is not trusted by this runner: start the runner with `--trust {0}`, or put \
         the component into its `--modules` folder"
    )]
    NotTrusted(Digest),
    /// It is trusted, but not here.
    #[error("component {0} is not here yet: upload it with PUT /v1/modules/{0}")]
    Missing(Digest),
    /// The bytes are not those that the digest names.
    #[error(
        "the uploaded component has digest {found}, but was announced as {announced}: it was \
         altered on its way, or is another version"
    )]
    Altered {
        /// What the upload called itself.
        announced: Digest,
        /// What it is.
        found: Digest,
    },
    /// Its file can't be read.
    #[error("cannot read component {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no operator, or none of a kind that this runner knows.
    #[error("component {digest} can't be loaded: {source}")]
    Load {
        /// Which.
        digest: Digest,
        /// Why.
        source: Box<LoadError>,
    },
    /// It doesn't take the settings.
    #[error("component {digest} can't be set up: {source}")]
    Configure {
        /// Which.
        digest: Digest,
        /// Why.
        source: Box<ConfigureError>,
    },
}

impl Modules {
    /// The components of `trusted`, and those in `folder`. Nothing is loaded yet.
    ///
    /// # Errors
    /// When the folder or a component in it can't be read.
    pub fn new(
        runtime: Runtime,
        trusted: &[Digest],
        folder: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let files = match folder {
            Some(folder) => scan(folder)
                .with_context(|| format!("cannot use `--modules {}`", folder.display()))?,
            None => HashMap::new(),
        };
        let trusted = trusted.iter().chain(files.keys()).copied().collect();
        Ok(Self {
            runtime,
            trusted,
            files,
            operators: Mutex::new(Recent::new(MAX_OPERATORS)),
            pools: Mutex::new(Recent::new(MAX_POOLS)),
        })
    }

    /// Whether the component may run here.
    pub fn is_trusted(&self, digest: Digest) -> bool {
        self.trusted.contains(&digest)
    }

    /// How many components are loaded.
    pub fn loaded(&self) -> usize {
        lock(&self.operators).entries.len()
    }

    /// Whether the component is loaded.
    pub fn is_loaded(&self, digest: Digest) -> bool {
        let slot = lock(&self.operators).get(&digest).cloned();
        // A slot that is locked is being loaded.
        slot.is_some_and(|slot| slot.try_lock().is_ok_and(|operator| operator.is_some()))
    }

    /// Instances of the component with these settings and limits, and whether it had to be loaded or set up
    /// for this call. Takes milliseconds then, or seconds if it has to be compiled.
    ///
    /// # Errors
    /// When the component isn't trusted, isn't here, or can't be used.
    pub fn pool(
        &self,
        digest: Digest,
        settings: &[(String, String)],
        limits: Limits,
    ) -> Result<(Pool, bool), ModuleError> {
        if !self.is_trusted(digest) {
            return Err(ModuleError::NotTrusted(digest));
        }
        let Limits { deadline, memory, output, state, .. } = limits;
        let call_limits = CallLimits { deadline, memory, output, state };
        let mut key = (digest, settings.to_vec(), call_limits);
        key.1.sort_unstable();
        if let Some(pool) = lock(&self.pools).get(&key) {
            return Ok((pool.clone(), false));
        }
        let operator = self.operator(digest)?;
        let pool = operator
            .pool(settings, limits)
            .map_err(|source| ModuleError::Configure { digest, source: Box::new(source) })?;
        // Of two threads that set up the same pool at once, the later one's is kept; both work.
        lock(&self.pools).insert(key, pool.clone());
        Ok((pool, true))
    }

    /// Takes an uploaded component in: checks it, compiles it and keeps it.
    ///
    /// # Errors
    /// When it isn't trusted, isn't what it says, or is no operator.
    pub fn insert(&self, announced: Digest, component: &[u8]) -> Result<(), ModuleError> {
        if !self.is_trusted(announced) {
            return Err(ModuleError::NotTrusted(announced));
        }
        let found = Digest::of(component);
        if found != announced {
            return Err(ModuleError::Altered { announced, found });
        }
        let slot = self.slot(announced);
        let mut operator = lock(&slot);
        if operator.is_none() {
            *operator = Some(self.compile(announced, component)?);
        }
        Ok(())
    }

    /// Loads what the cache of compiled components holds of the trusted ones, so that the first
    /// invocation finds it loaded.
    pub fn warm_up(&self) {
        for &digest in self.trusted.iter().take(MAX_OPERATORS) {
            let slot = self.slot(digest);
            let mut operator = lock(&slot);
            if operator.is_none() {
                match self.runtime.load_cached(digest) {
                    Ok(found) => *operator = found,
                    Err(error) => tracing::debug!(%digest, "not loaded ahead of time: {error}"),
                }
            }
        }
    }

    fn slot(&self, digest: Digest) -> Arc<Mutex<Option<Operator>>> {
        let mut operators = lock(&self.operators);
        match operators.get(&digest) {
            Some(slot) => slot.clone(),
            None => {
                let slot = Arc::default();
                operators.insert(digest, Arc::clone(&slot));
                slot
            }
        }
    }

    fn operator(&self, digest: Digest) -> Result<Operator, ModuleError> {
        let slot = self.slot(digest);
        // Held while loading, so that two threads don't compile the same component.
        let mut operator = lock(&slot);
        if let Some(operator) = &*operator {
            return Ok(operator.clone());
        }
        let load = |source| ModuleError::Load { digest, source: Box::new(source) };
        let found = match self.runtime.load_cached(digest).map_err(load)? {
            Some(operator) => operator,
            None => {
                let path = self.files.get(&digest).ok_or(ModuleError::Missing(digest))?;
                let component = std::fs::read(path)
                    .map_err(|source| ModuleError::Read { path: path.clone(), source })?;
                let found = Digest::of(&component);
                if found != digest {
                    return Err(ModuleError::Altered { announced: digest, found });
                }
                self.compile(digest, &component)?
            }
        };
        Ok(operator.insert(found).clone())
    }

    fn compile(&self, digest: Digest, component: &[u8]) -> Result<Operator, ModuleError> {
        let operator = self
            .runtime
            .load(component)
            .map_err(|source| ModuleError::Load { digest, source: Box::new(source) })?;
        tracing::info!(%digest, operator = operator.description().name, "component loaded");
        Ok(operator)
    }
}

/// The components in `folder` by their digest. A file that is named by a digest is taken at its
/// word, and checked when it is loaded.
fn scan(folder: &Path) -> anyhow::Result<HashMap<Digest, PathBuf>> {
    let mut files = HashMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        let named = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let digest = match named {
            Some(digest) => digest,
            None => Digest::of(
                &std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?,
            ),
        };
        files.insert(digest, path);
    }
    anyhow::ensure!(!files.is_empty(), "there is no component (*.wasm) in it");
    Ok(files)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half-changed by a panic: entries are put in whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A map that forgets the least recently used entry when it is full.
struct Recent<K, V> {
    entries: HashMap<K, (V, u64)>,
    capacity: usize,
    uses: u64,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    fn new(capacity: usize) -> Self {
        Self { entries: HashMap::new(), capacity, uses: 0 }
    }

    fn get(&mut self, key: &K) -> Option<&V> {
        self.uses += 1;
        let (value, used) = self.entries.get_mut(key)?;
        *used = self.uses;
        Some(value)
    }

    fn insert(&mut self, key: K, value: V) {
        self.uses += 1;
        if self.entries.len() >= self.capacity && !self.entries.contains_key(&key) {
            let oldest = self.entries.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.entries.remove(&oldest);
            }
        }
        self.entries.insert(key, (value, self.uses));
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_forgotten() {
        let mut recent = Recent::new(2);
        recent.insert("a", 1);
        recent.insert("b", 2);
        assert_eq!(recent.get(&"a"), Some(&1));
        recent.insert("c", 3);
        assert_eq!(recent.get(&"b"), None);
        assert_eq!((recent.get(&"a").copied(), recent.get(&"c").copied()), (Some(1), Some(3)));
        recent.insert("c", 4);
        assert_eq!(recent.entries.len(), 2);
    }

    #[test]
    fn a_folder_without_components_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("readme.txt"), "no component").unwrap();
        let error = scan(folder.path()).unwrap_err().to_string();
        assert!(error.contains("no component"), "{error}");
    }

    #[test]
    fn a_component_is_known_by_its_bytes_or_its_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.wasm"), b"bytes").unwrap();
        let digest = Digest::of(b"others");
        std::fs::write(folder.path().join(format!("{digest}.wasm")), b"others").unwrap();
        let files = scan(folder.path()).unwrap();
        assert!(files.contains_key(&Digest::of(b"bytes")) && files.contains_key(&digest));
    }
}
