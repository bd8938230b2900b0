//! Which keys have work, which are away, and what waits behind them.

use super::super::policy::Order;
use super::keys::{Keys, Waiting, Whereabouts};
use super::lease::{Chunk, LeaseToken, Ready, Stale, StepId};
use super::timeline::Timeline;

/// The most steps of a lease.
const MOST_STEPS: usize = 1024;
/// The most steps in a row of a lease in which none of its keys has records.
const MOST_IDLE_STEPS: usize = 64;

/// Which keys of an operator have work, which are away with a lease, and what waits behind them.
///
/// **Invariants.**
/// 1. *A key is in one place at a time.* Between the [`take`](Self::take) that hands it out and
///    the [`release`](Self::release) that shows the same token, no other take hands it out.
/// 2. *A key's work is handed out in its order, once.* The leases of a key, one after the other,
///    hold its records in the order they were added, each once.
/// 3. *A timer fires where it would in a single-threaded run.* A lease holds every step, from the
///    key's first unfinished work on, in which one of its keys could fire a timer. What it doesn't
///    reach is found again on release, by the time of the key's first timer. And a lease holds no
///    step before a key's first unfinished work in which that key could fire one: a key with a
///    timer for a time that had passed when it was set goes in no lease that begins earlier.
/// 4. *No watermark overtakes.* [`passed`](Self::passed) names a watermark only when all work of
///    before it, records and timers, was released.
/// 5. What is kept (keys, steps, chunks) is what waits or is away, and no more.
#[derive(Clone)]
pub struct KeySchedule<C> {
    pub(super) timeline: Timeline,
    pub(super) keys: Keys<C>,
    /// Keys to look at when the watermark rises.
    pub(super) parked: Vec<u32>,
    pub(super) next_token: u64,
    /// How many keys have appeared in this input batch.
    pub(super) appeared: u32,
    pub(super) ready: Ready,
    pub(super) waiting: Ready,
    /// How many keys are away.
    pub(super) leased: usize,
    pub(super) most_steps: usize,
    pub(super) most_idle_steps: usize,
}

impl<C: Chunk> KeySchedule<C> {
    /// One with no work. [`Order::None`] is the same as [`Order::PerKey`] here: state needs the
    /// order of its key's records.
    pub fn new(order: Order) -> Self {
        Self {
            timeline: Timeline::new(order),
            keys: Keys::new(),
            parked: Vec::new(),
            next_token: 0,
            appeared: 0,
            ready: Ready::default(),
            waiting: Ready::default(),
            leased: 0,
            most_steps: MOST_STEPS,
            most_idle_steps: MOST_IDLE_STEPS,
        }
    }

    /// Other limits for a lease than the defaults: the most steps (1,024), and the most in a row
    /// in which none of its keys has records (64). A lease ends before it would exceed them; its
    /// keys go on from there with the next one.
    #[must_use]
    pub fn with_step_limits(mut self, most: usize, idle: usize) -> Self {
        (self.most_steps, self.most_idle_steps) = (most.max(1), idle);
        self
    }

    /// An input batch begins.
    pub fn begin_batch(&mut self) {
        self.timeline.begin_batch();
        self.appeared = 0;
    }

    /// Records of a key. Call it once a key and batch, in the order of the keys' first records.
    pub fn add(&mut self, key: &[u8], chunk: C) {
        let step = self.timeline.enter();
        let slot = self.keys.find_or_insert(key);
        let (records, bytes) = (chunk.records(), chunk.bytes());
        let appearance = self.appeared;
        self.appeared += 1;
        let Some(entry) = self.keys.get_mut(slot) else { return };
        entry.chunks.push(Waiting { step, appearance, chunk });
        entry.records += records;
        entry.bytes += bytes;
        self.waiting.records += records;
        self.waiting.bytes += bytes;
        match entry.at {
            Whereabouts::Leased { .. } => {
                self.waiting.keys += usize::from(entry.chunks.len() == 1);
            }
            Whereabouts::Parked => self.make_ready(slot, step),
            Whereabouts::Ready => {
                self.ready.records += records;
                self.ready.bytes += bytes;
                self.keys.classify(slot);
            }
        }
    }

    /// The watermark rises; one that doesn't is ignored. Afterwards, and before anything else,
    /// call [`fire`](Self::fire) for each key that has an event-time timer above the watermark
    /// before and up to this one. (To call it for more keys does no harm.)
    pub fn advance(&mut self, watermark: i64) {
        let Some(step) = self.timeline.advance(watermark) else { return };
        self.appeared = 0;
        for slot in std::mem::take(&mut self.parked) {
            let Some(entry) = self.keys.get_mut(slot) else { continue };
            entry.listed = false;
            match entry.at {
                Whereabouts::Parked if entry.past_timer => self.make_ready(slot, step),
                Whereabouts::Parked => self.keys.remove(slot),
                // Its work reaches back to this step, or its release will tell.
                Whereabouts::Ready | Whereabouts::Leased { .. } => {}
            }
        }
    }

    /// The first event-time timer of a key, as far as it is known here, is due by the watermark
    /// that [`advance`](Self::advance) was just called with: the key becomes ready. One that has
    /// work already or is away needs nothing: its lease or its release sees to the timer.
    pub fn fire(&mut self, key: &[u8], first_timer: i64) {
        // A key without work has finished every step but the one that has just ended.
        if let Some(step) = self.timeline.fired()
            && first_timer <= self.timeline.watermark()
            && let Some(slot) = self.want(key, step)
            && let Some(entry) = self.keys.get_mut(slot)
        {
            entry.past_timer |= first_timer <= self.timeline.watermarks(step).0;
        }
    }

    /// A processing-time timer of a key is due. A key that is away needs nothing: if the timer is
    /// still set after its release, call this again.
    pub fn fire_processing(&mut self, key: &[u8]) {
        let step = self.timeline.enter();
        if let Some(slot) = self.want(key, step)
            && let Some(entry) = self.keys.get_mut(slot)
        {
            entry.processing = true;
        }
    }

    /// A key has work in this step; its entry, unless it is away.
    fn want(&mut self, key: &[u8], step: u64) -> Option<u32> {
        let slot = self.keys.find_or_insert(key);
        let entry = self.keys.get_mut(slot)?;
        match entry.at {
            Whereabouts::Leased { .. } => return None,
            Whereabouts::Parked => self.make_ready(slot, step),
            Whereabouts::Ready if step < entry.first => {
                let before = entry.first;
                entry.first = self.timeline.pin(step);
                self.timeline.unpin(before);
            }
            Whereabouts::Ready => {}
        }
        Some(slot)
    }

    /// A key that is neither ready nor away has its first unfinished work in this step.
    pub(super) fn make_ready(&mut self, slot: u32, step: u64) {
        let step = self.timeline.pin(step);
        let Some(entry) = self.keys.get_mut(slot) else { return };
        entry.first = step;
        self.ready.keys += 1;
        self.ready.records += entry.records;
        self.ready.bytes += entry.bytes;
        self.waiting.keys += 1;
        self.keys.join(slot);
    }

    /// What can be taken.
    pub fn ready(&self) -> Ready {
        self.ready
    }

    /// What can be taken, and what waits behind leases. What is leased is not counted.
    pub fn waiting(&self) -> Ready {
        self.waiting
    }

    /// Whether nothing waits and nothing is away.
    pub fn is_idle(&self) -> bool {
        self.leased == 0 && self.waiting.keys == 0
    }

    /// Whether a key is away.
    pub fn is_leased(&self, key: &[u8]) -> bool {
        let entry = self.keys.find(key).and_then(|slot| self.keys.get(slot));
        entry.is_some_and(|entry| matches!(entry.at, Whereabouts::Leased { .. }))
    }

    /// The watermark as of now.
    pub fn watermark(&self) -> i64 {
        self.timeline.watermark()
    }

    /// How many steps are remembered: those since the oldest work that isn't released.
    pub fn remembered_steps(&self) -> usize {
        self.timeline.len()
    }

    /// Gives a key back, after its lease was committed. `first_event_timer` is the key's first
    /// event-time timer as of now, due or not.
    ///
    /// # Errors
    /// [`Stale`] when the key is not leased under this token. Nothing is changed then.
    pub fn release(
        &mut self,
        token: LeaseToken,
        key: &[u8],
        first_event_timer: Option<i64>,
    ) -> Result<(), Stale> {
        let slot = self.keys.find(key).ok_or(Stale(token))?;
        let entry = self.keys.get_mut(slot).ok_or(Stale(token))?;
        let Whereabouts::Leased { token: current, next } = entry.at else {
            return Err(Stale(token));
        };
        if current != token {
            return Err(Stale(token));
        }
        let pinned = entry.first;
        let waits = entry.chunks.first().map(|waiting| waiting.step);
        let fires = first_event_timer.and_then(|timer| self.timeline.fires(timer, next));
        // A timer for a time that has passed, which no rise of the watermark has reached since it
        // was set: nothing but the next rise will show it.
        let overdue =
            fires.is_none() && first_event_timer.is_some_and(|t| t <= self.timeline.watermark());
        let first = [waits, fires].into_iter().flatten().min();
        let seen = first.map_or(i64::MIN, |first| self.timeline.watermarks(first).0);
        entry.at = Whereabouts::Parked;
        entry.past_timer = overdue || first_event_timer.is_some_and(|timer| timer <= seen);
        self.leased -= 1;
        let listed = entry.listed;
        entry.listed |= overdue;
        self.waiting.keys -= usize::from(waits.is_some());
        if overdue && !listed {
            self.parked.push(slot);
        }
        match first {
            Some(step) => self.make_ready(slot, step),
            None if overdue || listed => {}
            None => self.keys.remove(slot),
        }
        self.timeline.unpin(pinned);
        Ok(())
    }

    /// The highest watermark that may go on now, if it is another than the last time: all work
    /// from before it is released. The driver must have passed on what came of that work.
    pub fn passed(&mut self) -> Option<i64> {
        self.timeline.passed()
    }

    /// The first step with work that isn't released: for
    /// [`TotalOrder::drain`](super::TotalOrder::drain).
    pub fn frontier(&mut self) -> StepId {
        self.timeline.frontier()
    }
}
