//! What a driver is given when it takes keys, and how it asks for them.

use std::fmt;
use std::sync::Arc;

/// The records of one key in one input batch, in whatever form the driver keeps them.
pub trait Chunk {
    /// How many records it has.
    fn records(&self) -> usize;

    /// What sending it takes, in bytes.
    fn bytes(&self) -> usize;
}

/// A step of an operator's input. Per key, a step is the time between two watermarks; in total
/// order, each input batch and each watermark is one. Counted up, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u64);

/// Names one lease. Never used twice: whoever shows the token of an older lease of a key is
/// turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseToken(pub u64);

/// How much to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Take {
    /// The most keys.
    pub most_keys: usize,
    /// The most records. One chunk may exceed it.
    pub most_records: usize,
    /// The most bytes: keys, records and states. One chunk with its key's state may exceed it.
    pub most_bytes: usize,
    /// Which keys first.
    pub prefer: Prefer,
}

/// Which keys are taken first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// Those that have waited longest.
    Oldest,
    /// Those with most records for each byte of state: what is worth being sent away.
    SmallState,
}

/// How much waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ready {
    /// Keys that have work, be it that only a timer fires.
    pub keys: usize,
    /// Their records.
    pub records: usize,
    /// The bytes of these.
    pub bytes: usize,
}

/// Keys that are in one place until they are released, with their work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease<C> {
    /// Names the lease.
    pub token: LeaseToken,
    /// In order: all steps of the input, from the first that any of the keys has work in, in
    /// which one of them has records or could fire a timer. At least one.
    pub steps: Vec<LeaseStep>,
    /// In the order they were chosen. At least one.
    pub keys: Vec<LeasedKey<C>>,
    /// Whether processing-time timers that are due fire after the last step.
    pub fire_processing: bool,
}

/// A step of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseStep {
    /// Which step of the input.
    pub id: StepId,
    /// The watermark that its records see; `i64::MIN` before the first.
    pub watermark: i64,
    /// The watermark after it. Above `watermark`: the event-time timers up to it fire, after the
    /// records. The same as `watermark`: nothing fires.
    pub then_watermark: i64,
}

/// A key of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeasedKey<C> {
    /// The key.
    pub key: Arc<[u8]>,
    /// Its records in order. None: it is taken because a timer fires.
    pub chunks: Vec<LeasedChunk<C>>,
    /// How many records these are.
    pub records: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// Records of a leased key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeasedChunk<C> {
    /// The place of their step in [`Lease::steps`].
    pub step: usize,
    /// How many other keys first appeared before this one in the input batch.
    pub appearance: u32,
    /// The records.
    pub chunk: C,
}

/// The records of one key in one step of a lease.
#[derive(Debug)]
pub struct Group<'a, C> {
    /// The place of the step in [`Lease::steps`].
    pub step: usize,
    /// The place of the key in [`Lease::keys`].
    pub key: usize,
    /// The records, in order.
    pub chunks: &'a [LeasedChunk<C>],
}

impl<C> Lease<C> {
    /// The watermark after the last step. No timer beyond it can fire.
    pub fn last_watermark(&self) -> i64 {
        self.steps.last().map_or(i64::MIN, |step| step.then_watermark)
    }

    /// How many records it has.
    pub fn records(&self) -> usize {
        self.keys.iter().map(|key| key.records).sum()
    }

    /// All groups, by rising step, and within a step by rising key.
    pub fn groups(&self) -> Vec<Group<'_, C>> {
        let mut groups: Vec<Group<'_, C>> = Vec::new();
        for (key, leased) in self.keys.iter().enumerate() {
            let runs = leased.chunks.chunk_by(|a, b| a.step == b.step);
            groups.extend(runs.filter_map(|chunks| {
                let step = chunks.first()?.step;
                Some(Group { step, key, chunks })
            }));
        }
        groups.sort_by_key(|group| group.step);
        groups
    }

    /// Where in the total order the output of a key in a step stands: `key` and `step` are places
    /// in [`Self::keys`] and [`Self::steps`].
    pub fn place(&self, key: usize, step: usize) -> Option<Place> {
        let leased = self.keys.get(key)?;
        let at = leased.chunks.partition_point(|chunk| chunk.step < step);
        let appearance = match leased.chunks.get(at) {
            Some(chunk) if chunk.step == step => Appearance::Records(chunk.appearance),
            _ => Appearance::Timer(Arc::clone(&leased.key)),
        };
        Some(Place { step: self.steps.get(step)?.id, appearance })
    }
}

/// A place in the total order of outputs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Which step made the output.
    pub step: StepId,
    /// Which key.
    pub appearance: Appearance,
}

/// The order of the keys in a step of the total order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Appearance {
    /// By their first record in the input batch.
    Records(u32),
    /// Where only timers fire: by their bytes.
    Timer(Arc<[u8]>),
}

/// A key isn't leased under this token: it was released already, or given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale(pub LeaseToken);

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key is not leased under the token {}", self.0.0)
    }
}

impl std::error::Error for Stale {}
