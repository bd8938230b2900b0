//! Partials of several groups, merged group by group.

use std::ops::Range;

use overspill_protocol::Column;

use super::Stopped;
use crate::RunError;
use crate::calls::{Effort, Failed, deserves_another};

/// What makes the calls of `merge`.
pub(super) trait Merge {
    /// One call: a partial for each of the groups that `ends` divide `partials` into.
    fn merge(&mut self, partials: &Column, ends: &[u32], effort: Effort) -> Result<Column, Failed>;
}

/// Checks that `ends` divide the partials into groups of at least one.
pub(super) fn check(partials: &Column, ends: &[u32]) -> Result<(), RunError> {
    let wrong = |reason| Err(RunError::Input { reason });
    let mut begin = 0;
    for (group, &end) in ends.iter().enumerate() {
        if end <= begin {
            return wrong(format!("group {group} of the partials to merge is empty"));
        }
        begin = end;
    }
    match begin as usize == partials.len() {
        true => Ok(()),
        false => wrong(format!("the groups cover {begin} partials of {}", partials.len())),
    }
}

/// Merges groups that have been checked.
pub(super) fn run(
    process: &mut impl Merge,
    partials: &Column,
    ends: &[u32],
) -> Result<Column, Stopped> {
    let mut merged = Vec::new();
    // In order: groups that are still to do, and whether one of them is known to take too long.
    let mut pending = vec![(0..ends.len(), false)];
    while let Some((groups, searching)) = pending.pop() {
        if groups.is_empty() {
            continue;
        }
        let begin = place(ends, groups.start);
        let part = partials.slice(begin..place(ends, groups.end));
        let part_ends: Vec<u32> =
            ends[groups.clone()].iter().map(|end| end - begin as u32).collect();
        let pair = groups.len() == 1 && part.len() <= 2;
        let failed = match process.merge(&part, &part_ends, Effort { alone: pair, searching }) {
            Ok(column) => {
                merged.push(column);
                continue;
            }
            Err(failed) => failed,
        };
        let doing = || format!("merging the {} partials of group {}", part.len(), groups.start);
        let (fault, fresh) = Stopped::of(failed, doing)?;
        let searching = searching || fault.cause == overspill_protocol::Cause::Deadline;
        if groups.len() > 1 {
            let middle = groups.start + groups.len() / 2;
            pending.extend([(middle..groups.end, searching), (groups.start..middle, searching)]);
        } else if !pair {
            merged.push(halves(process, &part)?);
        } else if deserves_another(&fault, fresh) {
            pending.push((groups, searching));
        } else {
            return Err(Stopped::Fault { doing: doing(), fault });
        }
    }
    let parts: Vec<&Column> = merged.iter().collect();
    Column::concat(&parts).map_err(|error| Stopped::Input(format!("the merged partials: {error}")))
}

/// Merges one group's halves on their own, and then the two.
fn halves(process: &mut impl Merge, partials: &Column) -> Result<Column, Stopped> {
    let half = partials.len() / 2;
    let mut one = |range: Range<usize>| {
        let part = partials.slice(range);
        let ends = [part.len() as u32];
        match part.len() {
            1 => Ok(part),
            _ => run(process, &part, &ends),
        }
    };
    let both = [one(0..half)?, one(half..partials.len())?];
    let both = Column::concat(&[&both[0], &both[1]])
        .map_err(|error| Stopped::Input(format!("two partials to merge: {error}")))?;
    run(process, &both, &[2])
}

fn place(ends: &[u32], group: usize) -> usize {
    group.checked_sub(1).map_or(0, |last| ends[last]) as usize
}
