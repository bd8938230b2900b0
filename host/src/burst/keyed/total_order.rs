//! The total order of a keyed operator's outputs.

use std::collections::BTreeMap;

use super::lease::{Place, StepId};

/// Outputs that wait until everything before them is there.
///
/// A lease makes the outputs of some keys for many steps, and the next lease those of others for
/// the same steps. In [`Order::Total`](crate::burst::Order::Total) they leave as a single-threaded
/// run makes them: step after step; in the step of an input batch, in the order in which the keys
/// first appear in it; in the step of a watermark, by the bytes of the keys.
///
/// **Invariant:** [`drain`](Self::drain) gives an output only when no output of an earlier place
/// can still come, except for those of processing-time timers, which have no place in the order
/// of the input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TotalOrder<O> {
    waiting: BTreeMap<Place, Vec<O>>,
    outputs: usize,
}

impl<O> TotalOrder<O> {
    /// One that holds nothing.
    pub fn new() -> Self {
        Self { waiting: BTreeMap::new(), outputs: 0 }
    }

    /// Takes an output; those of one place stay in the order in which they are added.
    pub fn add(&mut self, place: Place, output: O) {
        self.waiting.entry(place).or_default().push(output);
        self.outputs += 1;
    }

    /// The outputs of all steps before `frontier`, in order. It is what
    /// [`KeySchedule::frontier`](super::KeySchedule::frontier) says after the release of the keys
    /// whose outputs were added.
    pub fn drain(&mut self, frontier: StepId) -> impl Iterator<Item = O> {
        let first = |place: &Place| place.step < frontier;
        let mut ready = Vec::new();
        while let Some(entry) = self.waiting.first_entry() {
            if !first(entry.key()) {
                break;
            }
            ready.push(entry.remove());
        }
        self.outputs -= ready.iter().map(Vec::len).sum::<usize>();
        ready.into_iter().flatten()
    }

    /// How many outputs wait.
    pub fn len(&self) -> usize {
        self.outputs
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.outputs == 0
    }
}

impl<O> Default for TotalOrder<O> {
    fn default() -> Self {
        Self::new()
    }
}
