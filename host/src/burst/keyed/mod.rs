//! The work of a keyed operator: a key is in one place at a time, and its records wait for it.
//!
//! Records of keys pile up in the [`KeySchedule`] until a lane wants work. Then the keys are taken
//! that have waited longest (or whose state is small against their work), each with *all* that
//! waits for it: a hot key that comes back finds its next batch of work ready. What is taken is a
//! [`Lease`]. It says which steps of the input it covers, so that whoever runs it fires each timer
//! at the watermark at which a single-threaded run fires it, wherever the key is at that time.
//!
//! ```text
//! input: batch     --> begin_batch, add a key ...                          (records wait)
//!        watermark --> advance, fire for each key with a timer that is due
//!        clock     --> fire_processing for each key with a timer that is due
//!
//! Core::wants > 0  --> take --> read states and timers, build the shipment --> Core::submit_for
//!
//! Action::Emit     --> commit state, timers and outputs at once --> release each key
//!                  --> passed: send the watermark on, behind the outputs
//! ```
//!
//! # How a driver uses it
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use overspill::burst::Order;
//! use overspill::burst::keyed::{Chunk, KeySchedule, Prefer, Take};
//!
//! struct Numbers(Vec<i64>);
//!
//! impl Chunk for Numbers {
//!     fn records(&self) -> usize {
//!         self.0.len()
//!     }
//!     fn bytes(&self) -> usize {
//!         self.0.len() * 8
//!     }
//! }
//!
//! // The state of each key: a sum, and when to say it.
//! let mut states: BTreeMap<Vec<u8>, (i64, Option<i64>)> = BTreeMap::new();
//! let mut outputs = Vec::new();
//! let mut schedule = KeySchedule::new(Order::PerKey);
//!
//! // Input: a batch, and a watermark.
//! schedule.begin_batch();
//! schedule.add(b"ann", Numbers(vec![1, 2]));
//! schedule.add(b"bob", Numbers(vec![5]));
//! let before = schedule.watermark();
//! schedule.advance(10);
//! for (key, (_, timer)) in &states {
//!     // The timers that this watermark reaches.
//!     if let Some(timer) = timer.filter(|timer| before < *timer && *timer <= 10) {
//!         schedule.fire(key, timer);
//!     }
//! }
//!
//! // A lane wants work. (`Core::wants` says so, and `Core::submit_for` takes the shipment.)
//! let want = Take {
//!     most_keys: 1000,
//!     most_records: 10_000,
//!     most_bytes: 1 << 20,
//!     prefer: Prefer::Oldest,
//! };
//! let state_bytes = |key: &[u8]| states.get(key).map_or(0, |_| 16);
//! let lease = schedule.take(want, state_bytes).expect("two keys are ready");
//! assert_eq!(lease.last_watermark(), 10);
//!
//! // What a lane makes of it: all steps in order. It works on copies of the states.
//! let mut changed: Vec<(i64, Option<i64>)> =
//!     lease.keys.iter().map(|key| states.get(&*key.key).copied().unwrap_or_default()).collect();
//! let mut made = Vec::new();
//! let groups = lease.groups();
//! for (index, step) in lease.steps.iter().enumerate() {
//!     for group in groups.iter().filter(|group| group.step == index) {
//!         let (sum, timer) = &mut changed[group.key];
//!         *sum += group.chunks.iter().flat_map(|chunk| &chunk.chunk.0).sum::<i64>();
//!         *timer = Some(7);
//!     }
//!     for (key, (sum, timer)) in changed.iter_mut().enumerate() {
//!         if step.then_watermark > step.watermark
//!             && timer.take_if(|timer| *timer <= step.then_watermark).is_some()
//!         {
//!             made.push((lease.keys[key].key.to_vec(), *sum));
//!         }
//!     }
//! }
//!
//! // It is emitted: commit, release, and let the watermark go.
//! outputs.extend(made);
//! for (key, state) in lease.keys.iter().zip(changed) {
//!     states.insert(key.key.to_vec(), state);
//!     schedule.release(lease.token, &key.key, state.1).expect("it is leased");
//! }
//! assert_eq!(outputs, [(b"ann".to_vec(), 3), (b"bob".to_vec(), 5)]);
//! assert_eq!(schedule.passed(), Some(10));
//! ```
//!
//! A failed attempt doesn't end a lease: the [`Core`](crate::burst::Core) runs the same work
//! again, and emits each submitted piece once. When the core stops, the operator stops, and so do
//! all leases. The core itself runs with [`Order::None`](crate::burst::Order::None) for keyed
//! work: the schedule keeps each key's order, and [`TotalOrder`] the total one.
//!
//! Fencing: a lease's token lets nobody release a key that was given to another since, and a
//! key's state version lets nobody commit to one. So even a driver that mixes up two answers
//! can't lose a record.

mod canonical;
mod keys;
mod lease;
mod schedule;
mod take;
mod timeline;
mod total_order;

#[cfg(test)]
mod tests;

pub use lease::{
    Appearance, Chunk, Group, Lease, LeaseStep, LeaseToken, LeasedChunk, LeasedKey, Place, Prefer,
    Ready, Stale, StepId, Take,
};
pub use schedule::KeySchedule;
pub use total_order::TotalOrder;
