//! Taking keys: which ones, and which of their steps.

use std::sync::Arc;

use super::keys::Whereabouts;
use super::lease::{
    Chunk, Lease, LeaseStep, LeaseToken, LeasedChunk, LeasedKey, Prefer, StepId, Take,
};
use super::schedule::KeySchedule;

/// How many ready keys are looked at to find those with small states, at least and at most.
const LEAST_LOOKED_AT: usize = 256;
const MOST_LOOKED_AT: usize = 4096;
/// What a key costs beside its bytes.
const KEY_BYTES: usize = 32;

/// Where a lease ends at the latest.
#[derive(Clone, Copy)]
struct Bound {
    /// The first step that is not part of it.
    end: u64,
    /// The step before that is cut: more of its records wait, and nothing fires after it.
    cut: bool,
    /// The most chunks of a key.
    chunks: usize,
}

impl<C: Chunk> KeySchedule<C> {
    /// Takes ready keys with what waits for them; `None` when none is ready.
    ///
    /// A key is taken with all of its waiting steps, as far as the limits allow. `state_bytes`
    /// says how big a key's state is; it is asked only where that matters.
    pub fn take(
        &mut self,
        want: Take,
        mut state_bytes: impl FnMut(&[u8]) -> usize,
    ) -> Option<Lease<C>> {
        let mut chosen = match want.prefer {
            Prefer::Oldest => self.choose_oldest(want, &mut state_bytes),
            Prefer::SmallState => self.choose_small_states(want, &mut state_bytes),
        };
        self.leave_early_timers(&mut chosen);
        let bound = match chosen[..] {
            [] => return None,
            [slot] => self.bound_of(slot, want, &mut state_bytes),
            _ => self.no_bound(),
        };
        let steps = self.choose_steps(&chosen, bound);
        let last = *steps.last()?;
        let token = LeaseToken(self.next_token);
        self.next_token += 1;
        let cut_at = bound.cut.then_some(bound.end.saturating_sub(1));
        let leased_steps: Vec<LeaseStep> = steps
            .iter()
            .map(|at| {
                let (watermark, then) = self.timeline.watermarks(*at);
                let then_watermark = if cut_at == Some(*at) { watermark } else { then };
                LeaseStep { id: StepId(*at), watermark, then_watermark }
            })
            .collect();
        let fires_last = leased_steps.last().is_some_and(|s| s.then_watermark > s.watermark);
        let at = Whereabouts::Leased { token, next: last + u64::from(fires_last) };
        let mut keys = Vec::with_capacity(chosen.len());
        let mut fire_processing = false;
        for slot in chosen {
            let Some(entry) = self.keys.get(slot) else { continue };
            if entry.first > last {
                continue;
            }
            fire_processing |= entry.processing;
            let within = entry.chunks.partition_point(|waiting| waiting.step <= last);
            keys.push(self.lease_out(slot, at, within.min(bound.chunks), &steps)?);
        }
        Some(Lease { token, steps: leased_steps, keys, fire_processing })
    }

    /// Marks a key as away, with its first `count` chunks.
    fn lease_out(
        &mut self,
        slot: u32,
        at: Whereabouts,
        count: usize,
        steps: &[u64],
    ) -> Option<LeasedKey<C>> {
        self.keys.leave(slot);
        let entry = self.keys.get_mut(slot)?;
        self.ready.keys -= 1;
        self.ready.records -= entry.records;
        self.ready.bytes -= entry.bytes;
        self.leased += 1;
        entry.at = at;
        entry.processing = false;
        let behind = entry.chunks.split_off(count);
        let taken = std::mem::replace(&mut entry.chunks, behind);
        let mut leased = LeasedKey {
            key: Arc::clone(&entry.key),
            chunks: Vec::with_capacity(taken.len()),
            records: 0,
            bytes: 0,
        };
        for waiting in taken {
            leased.records += waiting.chunk.records();
            leased.bytes += waiting.chunk.bytes();
            let step = steps.partition_point(|step| *step < waiting.step);
            let (appearance, chunk) = (waiting.appearance, waiting.chunk);
            leased.chunks.push(LeasedChunk { step, appearance, chunk });
        }
        entry.records -= leased.records;
        entry.bytes -= leased.bytes;
        self.waiting.keys -= usize::from(entry.chunks.is_empty());
        self.waiting.records -= leased.records;
        self.waiting.bytes -= leased.bytes;
        Some(leased)
    }

    fn choose_oldest(&self, want: Take, state_bytes: &mut impl FnMut(&[u8]) -> usize) -> Vec<u32> {
        let mut room = Room::new(want);
        let mut chosen = Vec::new();
        for slot in self.keys.oldest().take(want.most_keys.max(1)) {
            let Some(entry) = self.keys.get(slot) else { continue };
            let more = match want.most_bytes {
                usize::MAX => 0,
                _ => entry.bytes + cost(&entry.key, state_bytes),
            };
            let fits = room.takes(entry.records, more);
            if fits || chosen.is_empty() {
                chosen.push(slot);
            }
            if !fits {
                break;
            }
        }
        chosen
    }

    /// The keys whose states are small against their work. Only as many are looked at as is worth
    /// it, those with most records first.
    fn choose_small_states(
        &self,
        want: Take,
        state_bytes: &mut impl FnMut(&[u8]) -> usize,
    ) -> Vec<u32> {
        let most = want.most_keys.max(1);
        let look_at = most.saturating_mul(4).clamp(LEAST_LOOKED_AT, MOST_LOOKED_AT);
        let mut rated: Vec<(f64, usize, u32)> = self
            .keys
            .heaviest()
            .take(look_at)
            .filter_map(|slot| {
                let entry = self.keys.get(slot)?;
                let cost = cost(&entry.key, state_bytes);
                let work = entry.records.max(1) as f64 / cost as f64;
                Some((work, cost, slot))
            })
            .collect();
        // Stable: among equals, those with most records, and then the oldest.
        rated.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        let mut room = Room::new(want);
        let mut chosen = Vec::new();
        for (_, cost, slot) in rated {
            let Some(entry) = self.keys.get(slot) else { continue };
            if chosen.len() == most {
                break;
            }
            let fits = room.takes(entry.records, entry.bytes + cost);
            if !fits && chosen.is_empty() {
                // It goes alone, as far as it fits.
                return vec![slot];
            }
            if fits {
                chosen.push(slot);
            }
        }
        chosen
    }

    /// Leaves out the keys whose timers would fire too early in a lease for all of these keys.
    fn leave_early_timers(&self, chosen: &mut Vec<u32>) {
        let entries = chosen.iter().filter_map(|slot| self.keys.get(*slot));
        let Some(begin) = entries.map(|entry| entry.first).min() else { return };
        chosen.retain(|slot| {
            self.keys.get(*slot).is_some_and(|entry| {
                !entry.past_timer || self.timeline.firing_between(begin, entry.first) == 0
            })
        });
    }

    /// Where the lease of one key ends so that it holds no more than is wanted.
    fn bound_of(
        &self,
        slot: u32,
        want: Take,
        state_bytes: &mut impl FnMut(&[u8]) -> usize,
    ) -> Bound {
        let Some(entry) = self.keys.get(slot) else { return self.no_bound() };
        let fixed = if want.most_bytes == usize::MAX { 0 } else { cost(&entry.key, state_bytes) };
        let chunks = fitting(entry.chunks.iter().map(|waiting| &waiting.chunk), want, fixed);
        match entry.chunks.get(chunks.saturating_sub(1)..) {
            Some([last, left, ..]) if last.step == left.step => {
                Bound { end: left.step + 1, cut: true, chunks }
            }
            Some([_, left, ..]) => Bound { end: left.step, cut: false, chunks },
            _ => self.no_bound(),
        }
    }

    fn no_bound(&self) -> Bound {
        Bound { end: self.timeline.newest() + 1, cut: false, chunks: usize::MAX }
    }

    /// The steps of a lease for these keys: from their first work on, as far as no more than the
    /// allowed number of steps follow one another in which they have no records.
    ///
    /// Those must be in it, because a timer that was set in the lease could fire in any of them.
    /// Where it ends before a run of them, the release jumps over it: by then the time of the
    /// key's first timer is known.
    fn choose_steps(&self, chosen: &[u32], bound: Bound) -> Vec<u64> {
        let entries = || chosen.iter().filter_map(|slot| self.keys.get(*slot));
        let mut work: Vec<u64> = entries()
            .flat_map(|e| std::iter::once(e.first).chain(e.chunks.iter().map(|w| w.step)))
            .filter(|step| *step < bound.end)
            .collect();
        work.sort_unstable();
        work.dedup();
        let mut steps = Vec::with_capacity(work.len());
        let mut at = work.first().copied().unwrap_or_default();
        for step in work {
            if !self.has_room(&steps, at, step) {
                return steps;
            }
            steps.extend(self.timeline.firing(at, step));
            steps.push(step);
            at = step + 1;
        }
        if self.has_room(&steps, at, bound.end) {
            steps.extend(self.timeline.firing(at, bound.end));
        }
        steps
    }

    fn has_room(&self, steps: &[u64], from: u64, to: u64) -> bool {
        let idle = usize::try_from(self.timeline.firing_between(from, to)).unwrap_or(usize::MAX);
        steps.is_empty() || idle <= self.most_idle_steps && steps.len() + idle < self.most_steps
    }
}

/// What still fits into a lease.
struct Room {
    records: usize,
    bytes: usize,
}

impl Room {
    fn new(want: Take) -> Self {
        Self { records: want.most_records, bytes: want.most_bytes }
    }

    /// Takes the room for a key, if it fits.
    fn takes(&mut self, records: usize, bytes: usize) -> bool {
        let fits = records <= self.records && bytes <= self.bytes;
        if fits {
            self.records -= records;
            self.bytes -= bytes;
        }
        fits
    }
}

/// What sending a key takes beside its records.
fn cost(key: &[u8], state_bytes: &mut impl FnMut(&[u8]) -> usize) -> usize {
    KEY_BYTES.saturating_add(key.len()).saturating_add(state_bytes(key))
}

/// How many of a key's chunks fit, at least one.
fn fitting<'a, C: Chunk + 'a>(
    chunks: impl Iterator<Item = &'a C>,
    want: Take,
    fixed: usize,
) -> usize {
    let (mut records, mut bytes) = (0_usize, fixed);
    chunks
        .enumerate()
        .take_while(|(n, chunk)| {
            records = records.saturating_add(chunk.records());
            bytes = bytes.saturating_add(chunk.bytes());
            *n == 0 || records <= want.most_records && bytes <= want.most_bytes
        })
        .count()
}
