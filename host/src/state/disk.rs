//! The store on disk: fjall, set up as a place to put things for a while.

use std::fmt;
use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, LsmError, Slice};

use super::directory::PrivateFolder;
use super::error::DiskError;
use super::spill::ColdStore;

/// What the store may keep of what it has read.
const CACHE: u64 = 8 << 20;
/// How much it gathers before it writes a table.
const MEMTABLE: u64 = 8 << 20;
/// Its journals; the least that it takes.
const JOURNALS: u64 = 64 << 20;

/// A store in a private folder.
pub(super) struct FjallStore {
    // The folder is dropped last.
    states: Keyspace,
    database: Database,
    folder: PrivateFolder,
}

impl FjallStore {
    /// A new store. The folder is the store's alone.
    pub(super) fn open(folder: PrivateFolder) -> Result<Self, DiskError> {
        let database = Database::builder(folder.path().join("states"))
            .cache_size(CACHE)
            .max_journaling_size(JOURNALS)
            // Nothing has to survive the process.
            .manual_journal_persist(true)
            .worker_threads(1)
            .open()
            .map_err(failed)?;
        let options = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(MEMTABLE)
                .manual_journal_persist(true)
        };
        let states = database.keyspace("states", options).map_err(failed)?;
        Ok(Self { states, database, folder })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl ColdStore for FjallStore {
    fn get(&self, key: &[u8]) -> Result<Option<Slice>, DiskError> {
        self.states.get(key).map_err(failed)
    }

    fn write(&self, changes: Vec<(Vec<u8>, Option<Slice>)>) -> Result<(), DiskError> {
        let mut batch = self.database.batch();
        for (key, value) in changes {
            match value {
                Some(value) => batch.insert(&self.states, key, value),
                None => batch.remove(&self.states, key),
            }
        }
        batch.commit().map_err(failed)
    }

    fn scan(&self, from: &[u8], most: usize) -> Result<Vec<(Vec<u8>, Slice)>, DiskError> {
        let records = self.states.range(from..).take(most);
        let pairs = records.map(|record| record.into_inner().map_err(failed));
        pairs.map(|pair| pair.map(|(key, value)| (key.to_vec(), value))).collect()
    }
}

impl fmt::Debug for FjallStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallStore").field("folder", &self.folder).finish_non_exhaustive()
    }
}

fn failed(error: fjall::Error) -> DiskError {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(LsmError::Io(error)) => error.into(),
        other => DiskError::Store(other.to_string()),
    }
}
