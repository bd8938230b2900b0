//! What is known of one key.

use super::timers::{Firsts, KeyTimers};

/// Where the state of a key is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Residence {
    /// The key has none.
    #[default]
    Nowhere,
    /// In memory.
    Here,
    /// On disk alone.
    Away,
}

/// What a timer counts against the limit on everything.
const TIMER: usize = 16;

/// What is known of one key, in a cache line.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// The key, then the state if it is here: one allocation, so that a look at a key that isn't
    /// in the processor's caches waits for memory once less.
    bytes: Vec<u8>,
    key_length: u32,
    /// How long the state is, wherever it is.
    state_length: u32,
    pub(super) version: u64,
    /// When it was last committed, in milliseconds since 1970.
    pub(super) committed: i64,
    pub(super) timers: Option<Box<KeyTimers>>,
    pub(super) residence: Residence,
    /// Whether it was used since the hand of the clock came by.
    pub(super) used: bool,
    /// Whether there is a record of it on disk, perhaps an old one.
    pub(super) on_disk: bool,
    /// Whether the record on disk is what is here.
    pub(super) clean: bool,
    /// Whether a commit that is under way has it.
    pub(super) committing: bool,
    /// Whether its state is being moved to disk.
    pub(super) leaving: bool,
    /// Whether it is in the list of versions that are remembered.
    pub(super) remembered: bool,
    /// Whether the slot is taken at all.
    pub(super) taken: bool,
}

/// What an entry takes besides its bytes and timers: itself, and its part of an index that is
/// between half and seven eighths full.
const OVERHEAD: usize = size_of::<Entry>() + 24;

/// What an entry counts in sums.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    pub(super) memory: usize,
    pub(super) pinned: usize,
    pub(super) live: bool,
    pub(super) bytes: usize,
    pub(super) timers: usize,
    pub(super) movable: bool,
}

impl Entry {
    pub(super) fn new(key: &[u8], key_length: u32, version: u64) -> Self {
        Self { bytes: key.to_vec(), key_length, version, taken: true, ..Self::default() }
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.bytes[..self.key_length as usize]
    }

    /// The state, if it is here.
    pub(super) fn state(&self) -> Option<&[u8]> {
        (self.residence == Residence::Here).then(|| &self.bytes[self.key_length as usize..])
    }

    pub(super) fn state_length(&self) -> usize {
        self.state_length as usize
    }

    /// Replaces the state, or puts back one that was away. `length` is that of `state`.
    pub(super) fn put(&mut self, state: &[u8], length: u32) {
        let key = self.key_length as usize;
        self.bytes.truncate(key);
        let needed = key + state.len();
        // Room that is much more than needed goes back.
        if self.bytes.capacity() > 2 * needed + 64 {
            self.bytes.shrink_to(needed);
        } else if self.bytes.capacity() < needed && self.residence == Residence::Nowhere {
            self.bytes.reserve_exact(state.len());
        }
        self.bytes.extend_from_slice(state);
        self.state_length = length;
        self.residence = Residence::Here;
    }

    /// Drops the state.
    pub(super) fn clear(&mut self) {
        self.cut();
        self.state_length = 0;
        self.residence = Residence::Nowhere;
    }

    /// Notes that the state is on disk, and lets it go here.
    pub(super) fn send_away(&mut self) {
        self.cut();
        self.residence = Residence::Away;
        self.on_disk = true;
        self.clean = true;
    }

    fn cut(&mut self) {
        self.bytes.truncate(self.key_length as usize);
        self.bytes.shrink_to_fit();
    }

    /// Whether there is anything but a version.
    pub(super) fn is_live(&self) -> bool {
        self.residence != Residence::Nowhere || self.timers.is_some()
    }

    pub(super) fn firsts(&self) -> Firsts {
        Firsts::of(self.timers.as_deref())
    }

    /// What the entry would take with a key and nothing else.
    pub(super) fn memory_of(key: &[u8]) -> usize {
        OVERHEAD + key.len()
    }

    pub(super) fn weight(&self) -> Weight {
        let timers = self.timers.as_deref();
        let around = OVERHEAD + timers.map_or(0, KeyTimers::memory);
        let memory = around + self.bytes.capacity();
        let count = timers.map_or(0, KeyTimers::len);
        let live = self.is_live();
        let movable = self.residence == Residence::Here;
        let pinned = match (timers.is_some(), movable) {
            (false, true) => 0,
            (true, true) => around + self.key_length as usize,
            (_, false) => memory,
        };
        let of_key = if live { self.key_length as usize + count * TIMER } else { 0 };
        Weight { memory, pinned, live, bytes: of_key + self.state_length(), timers: count, movable }
    }

    /// How many bytes it would count with this length of its state, or none, and so many timers.
    pub(super) fn bytes_with(&self, state: Option<usize>, timers: usize) -> usize {
        let of_key = if state.is_some() || timers > 0 { self.key_length as usize } else { 0 };
        of_key + state.unwrap_or(0) + timers * TIMER
    }
}
