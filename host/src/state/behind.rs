//! Writes behind the caller's back, so that no record waits for the disk to sync.
//!
//! ```text
//! write -> [ waiting: by key, and in order ] -> thread -> store
//! get, scan <- what waits, over what the store has
//! ```
//!
//! What waits is seen by every read until the store has it. When the store fails, nothing that
//! waits is lost: it is read from memory on, and the next write says that the disk has failed.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use fjall::Slice;

use super::error::DiskError;
use super::spill::ColdStore;

/// How many bytes may wait. A write waits while there are more.
const MOST_WAITING: usize = 8 << 20;

/// A store that is written to by a thread of its own.
pub(super) struct Behind<S: ColdStore + 'static> {
    // Dropped with the thread, which has a part in it.
    store: Arc<S>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// The newest of what waits for each key, with the number of its write.
    newest: BTreeMap<Vec<u8>, (u64, Option<Slice>)>,
    writes: VecDeque<Write>,
    bytes: usize,
    next: u64,
    failed: Option<String>,
    closing: bool,
}

struct Write {
    number: u64,
    bytes: usize,
    changes: Vec<(Vec<u8>, Option<Slice>)>,
}

impl<S: ColdStore + 'static> Behind<S> {
    /// Writes to a store from now on.
    pub(super) fn new(store: S) -> Result<Self, DiskError> {
        let (store, shared) = (Arc::new(store), Arc::new(Shared::default()));
        let (to, from) = (Arc::clone(&store), Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("state-disk".to_owned())
            .spawn(move || from.write_on(&*to))?;
        Ok(Self { store, shared, thread: Some(thread) })
    }

    pub(super) fn store(&self) -> &S {
        &self.store
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while it is locked but for want of memory, and then nothing is half done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, waiting: MutexGuard<'a, Waiting>) -> MutexGuard<'a, Waiting> {
        self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what waits until the store is dropped or fails.
    fn write_on(&self, store: &dyn ColdStore) {
        let mut waiting = self.lock();
        while !waiting.closing {
            let Some(Write { number, bytes, changes }) = waiting.writes.pop_front() else {
                waiting = self.wait(waiting);
                continue;
            };
            drop(waiting);
            let keys: Vec<Vec<u8>> = changes.iter().map(|(key, _)| key.clone()).collect();
            let written = store.write(changes);
            waiting = self.lock();
            match written {
                Ok(()) => {
                    waiting.bytes -= bytes;
                    for key in keys {
                        if waiting.newest.get(&key).is_some_and(|newest| newest.0 == number) {
                            waiting.newest.remove(&key);
                        }
                    }
                }
                Err(error) => {
                    waiting.failed = Some(error.to_string());
                    waiting.closing = true;
                }
            }
            self.changed.notify_all();
        }
    }
}

impl<S: ColdStore + 'static> ColdStore for Behind<S> {
    fn get(&self, key: &[u8]) -> Result<Option<Slice>, DiskError> {
        if let Some((_, newest)) = self.shared.lock().newest.get(key) {
            return Ok(newest.clone());
        }
        // What doesn't wait any more, the store has.
        self.store.get(key)
    }

    fn write(&self, changes: Vec<(Vec<u8>, Option<Slice>)>) -> Result<(), DiskError> {
        let mut waiting = self.shared.lock();
        while waiting.bytes > MOST_WAITING && waiting.failed.is_none() {
            waiting = self.shared.wait(waiting);
        }
        if let Some(reason) = &waiting.failed {
            return Err(DiskError::Store(format!("an earlier write failed: {reason}")));
        }
        let number = waiting.next;
        waiting.next += 1;
        let mut bytes = 0;
        for (key, value) in &changes {
            bytes += key.len() + value.as_ref().map_or(0, |value| value.len());
            waiting.newest.insert(key.clone(), (number, value.clone()));
        }
        waiting.bytes += bytes;
        waiting.writes.push_back(Write { number, bytes, changes });
        self.shared.changed.notify_all();
        Ok(())
    }

    fn scan(&self, from: &[u8], most: usize) -> Result<Vec<(Vec<u8>, Slice)>, DiskError> {
        // Locked until the end: what waits at the start must not get into the store meanwhile.
        let waiting = self.shared.lock();
        let there = self.store.scan(from, most)?;
        let mut end = Bound::Unbounded;
        if let Some((last, _)) = there.last().filter(|_| there.len() == most) {
            end = Bound::Included(last.clone());
        }
        let mut merged: BTreeMap<Vec<u8>, Slice> = there.into_iter().collect();
        for (key, (_, newest)) in waiting.newest.range((Bound::Included(from.to_vec()), end)) {
            match newest {
                Some(value) => merged.insert(key.clone(), value.clone()),
                None => merged.remove(key),
            };
        }
        Ok(merged.into_iter().take(most).collect())
    }
}

impl<S: ColdStore + 'static> Drop for Behind<S> {
    fn drop(&mut self) {
        // Nobody will read what still waits.
        self.shared.lock().closing = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It can't have panicked with anything that is still needed.
            drop(thread.join());
        }
    }
}

impl<S: ColdStore + 'static> fmt::Debug for Behind<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behind").field("store", &self.store).finish_non_exhaustive()
    }
}
