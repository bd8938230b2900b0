//! What stands around the core in a simulation: it makes the work and takes the answers, and
//! knows what is right.

use std::fmt::Debug;

use overspill::burst::{Core, Sequence, Time, Work};

/// Work that a simulated lane can do.
pub(crate) trait Simulated: Work<Answer: Clone + Debug> + Debug {
    /// Names its first piece: the same for whatever is cut off behind it, different for all else.
    fn place(&self) -> u64;

    /// The right answer for its first pieces.
    fn answer(&self, pieces: usize) -> Self::Answer;

    /// An answer that claims to be for this many pieces.
    fn lie(&self, claims: usize) -> Self::Answer;

    /// What an answer counts for.
    fn weight_of(answer: &Self::Answer) -> usize;
}

/// What stands around the core.
pub(crate) trait Driver {
    type Work: Simulated;

    /// When it must be called at the latest.
    fn next_wake(&self) -> Option<Time>;

    /// Takes what is due, and submits it as far as the core has room. Whether it submitted any.
    fn feed(&mut self, now: Time, core: &mut Core<Self::Work>) -> Result<bool, String>;

    /// Whether it has more to submit, now or later.
    fn is_open(&self) -> bool;

    /// The submitted piece that work is cut from, if it isn't emitted: a name for it.
    fn holds(&self, work: &Self::Work) -> Option<u64>;

    /// Takes what was emitted.
    fn emit(
        &mut self,
        now: Time,
        sequence: Sequence,
        answer: <Self::Work as Work>::Answer,
    ) -> Result<(), String>;

    /// What holds between any two steps.
    fn check(&mut self, now: Time, core: &Core<Self::Work>) -> Result<(), String>;

    /// What holds at the end.
    fn finish(&mut self) -> Result<(), String>;
}
