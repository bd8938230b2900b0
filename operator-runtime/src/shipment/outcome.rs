//! What a call of `process` gave back, and the promises that it keeps.

use overspill_protocol::keyed::{StateChange, TimeDomain, Timer};
use overspill_protocol::{Batch, BatchError, Column, Rejection};

use super::Groups;
use crate::{LimitExceeded, LimitName};

/// Timers of several groups as a guest names them: in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timers {
    pub(crate) times: Vec<i64>,
    pub(crate) domains: Vec<TimeDomain>,
    pub(crate) ends: Vec<u32>,
}

impl Timers {
    pub(crate) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The timers of a group, of lists that have been checked.
    pub(crate) fn of(&self, group: usize) -> impl Iterator<Item = Timer> + '_ {
        let begin = group.checked_sub(1).map_or(0, |last| self.ends[last]) as usize;
        let range = begin..self.ends[group] as usize;
        range.map(|index| Timer { time: self.times[index], domain: self.domains[index] })
    }

    fn check(&self, list: &'static str, groups: usize) -> Result<(), OutcomeError> {
        let (found, expected) = (self.domains.len(), self.times.len());
        if found != expected {
            return Err(OutcomeError::Domains { list, found, expected });
        }
        ends(list, &self.ends, groups, self.times.len())?;
        // The least time means everywhere that there is none.
        match self.times.contains(&i64::MIN) {
            true => Err(OutcomeError::LeastTime { list }),
            false => Ok(()),
        }
    }
}

/// An answer of which nothing but the columns is checked.
#[derive(Clone, Debug)]
pub(crate) struct Unchecked {
    pub(crate) records: Batch,
    pub(crate) ends: Vec<u32>,
    pub(crate) outlets: Option<Vec<u8>>,
    pub(crate) changes: Vec<StateChange>,
    pub(crate) states: Column,
    pub(crate) set: Timers,
    pub(crate) cancelled: Timers,
    pub(crate) rejected: Vec<Rejection>,
}

/// An answer that keeps the contract for the groups that it was made from.
#[derive(Clone, Debug)]
pub(crate) struct Outcome(Unchecked);

impl std::ops::Deref for Outcome {
    type Target = Unchecked;

    fn deref(&self) -> &Unchecked {
        &self.0
    }
}

/// What an answer is held against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// How many side outputs the operator describes.
    pub(crate) side_outputs: usize,
    /// How large the state of a key may be, in bytes.
    pub(crate) state: usize,
}

/// How an answer breaks the contract, or which limit it passes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutcomeError {
    #[error("the output records are broken: {0}")]
    Records(#[from] BatchError),
    #[error("`{list}` has {found} entries for {groups} groups")]
    Entries { list: &'static str, found: usize, groups: usize },
    #[error("`{list}`: group {group} is said to end at {end}, before it begins at {begin}")]
    Decreasing { list: &'static str, group: usize, begin: u32, end: u32 },
    #[error("`{list}` covers {end} entries, but there are {found}")]
    Coverage { list: &'static str, end: u32, found: usize },
    #[error("`outlets` has {found} entries for {records} output records")]
    Outlets { found: usize, records: usize },
    #[error(
        "output record {record} goes to output {outlet}, but the operator describes \
         {side_outputs} side outputs"
    )]
    Outlet { record: usize, outlet: u8, side_outputs: usize },
    #[error("`states` has {found} bytes for group {group}, whose state isn't replaced")]
    HiddenState { group: usize, found: usize },
    #[error("`{list}` has {found} domains for {expected} times")]
    Domains { list: &'static str, found: usize, expected: usize },
    #[error("`{list}` has a timer for the least time, which stands for none")]
    LeastTime { list: &'static str },
    #[error("group {group} has the timer for {time} both in `set` and in `cancelled`")]
    Both { group: usize, time: i64 },
    #[error(
        "group {group} sets a timer for {set} when the one for {fired} fires: it would fire at \
         once, expected a later time"
    )]
    Early { group: usize, set: i64, fired: i64 },
    #[error("rejection of record {index} comes after that of record {previous}")]
    Unordered { index: u32, previous: u32 },
    #[error("record {index} was rejected, but there are only {records} input records")]
    Unknown { index: u32, records: usize },
    #[error(transparent)]
    State(#[from] LimitExceeded),
}

impl Unchecked {
    /// The outcome, if it keeps the contract for `groups`.
    pub(crate) fn check(self, groups: &Groups, rules: Rules) -> Result<Outcome, OutcomeError> {
        let count = groups.len();
        ends("ends", &self.ends, count, self.records.len())?;
        self.check_outlets(rules.side_outputs)?;
        self.check_states(count, rules.state)?;
        self.set.check("set", count)?;
        self.cancelled.check("cancelled", count)?;
        self.check_timers(groups)?;
        self.check_rejections(groups.records.len())?;
        Ok(Outcome(self))
    }

    fn check_outlets(&self, side_outputs: usize) -> Result<(), OutcomeError> {
        let Some(outlets) = &self.outlets else { return Ok(()) };
        let (found, records) = (outlets.len(), self.records.len());
        if found != records {
            return Err(OutcomeError::Outlets { found, records });
        }
        match outlets.iter().position(|&outlet| usize::from(outlet) > side_outputs) {
            None => Ok(()),
            Some(record) => {
                let outlet = outlets[record];
                Err(OutcomeError::Outlet { record, outlet, side_outputs })
            }
        }
    }

    fn check_states(&self, groups: usize, limit: usize) -> Result<(), OutcomeError> {
        for (list, found) in [("changes", self.changes.len()), ("states", self.states.len())] {
            if found != groups {
                return Err(OutcomeError::Entries { list, found, groups });
            }
        }
        let mut begin = 0;
        for (group, (change, &end)) in
            self.changes.iter().zip(self.states.ends().iter()).enumerate()
        {
            let found = (end - std::mem::replace(&mut begin, end)) as usize;
            if *change != StateChange::Replaced && found > 0 {
                return Err(OutcomeError::HiddenState { group, found });
            }
            if found > limit {
                return Err(OutcomeError::State(too_large(limit, found)));
            }
        }
        Ok(())
    }

    fn check_timers(&self, groups: &Groups) -> Result<(), OutcomeError> {
        if self.set.is_empty() {
            return Ok(());
        }
        let mut cancelled = Vec::new();
        for group in 0..groups.len() {
            // Sorted, as a group may have very many of both.
            cancelled.clear();
            cancelled.extend(self.cancelled.of(group));
            cancelled.sort_unstable();
            for timer in self.set.of(group) {
                if cancelled.binary_search(&timer).is_ok() {
                    return Err(OutcomeError::Both { group, time: timer.time });
                }
                // Else a key could fire for ever at the same watermark.
                let fired = groups.fired.get(group).filter(|fired| fired.domain == timer.domain);
                if let Some(fired) = fired.last().filter(|fired| fired.time >= timer.time) {
                    let (set, fired) = (timer.time, fired.time);
                    return Err(OutcomeError::Early { group, set, fired });
                }
            }
        }
        Ok(())
    }

    fn check_rejections(&self, records: usize) -> Result<(), OutcomeError> {
        rejections(&self.rejected, records)
    }
}

/// The error for a state or partial of `found` bytes.
pub(crate) fn too_large(limit: usize, found: usize) -> LimitExceeded {
    LimitExceeded {
        name: LimitName::State,
        limit: limit as u64,
        current: 0,
        requested: Some(found as u64),
    }
}

/// Checks that rejections are by rising index of `records` records.
pub(crate) fn rejections(rejected: &[Rejection], records: usize) -> Result<(), OutcomeError> {
    let mut previous = None;
    for &Rejection { index, .. } in rejected {
        if let Some(previous) = previous.filter(|&previous| previous >= index) {
            return Err(OutcomeError::Unordered { index, previous });
        }
        if index as usize >= records {
            return Err(OutcomeError::Unknown { index, records });
        }
        previous = Some(index);
    }
    Ok(())
}

/// Checks the ends of `groups` groups that cover `found` entries.
pub(crate) fn ends(
    list: &'static str,
    ends: &[u32],
    groups: usize,
    found: usize,
) -> Result<(), OutcomeError> {
    if ends.len() != groups {
        return Err(OutcomeError::Entries { list, found: ends.len(), groups });
    }
    if !ends.is_sorted() {
        let mut begin = 0;
        for (group, &end) in ends.iter().enumerate() {
            if end < begin {
                return Err(OutcomeError::Decreasing { list, group, begin, end });
            }
            begin = end;
        }
    }
    let end = ends.last().copied().unwrap_or(0);
    match end as usize == found {
        true => Ok(()),
        false => Err(OutcomeError::Coverage { list, end, found }),
    }
}
