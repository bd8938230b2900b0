//! Records by key, accumulated: calls for many groups, and what is done with a group that fails.

use std::ops::Range;

use overspill_protocol::keyed::{KeyedRecords, Partials};
use overspill_protocol::{Batch, Cause, Column, Rejection};

use super::{Aggregate, Stopped, merge};
use crate::calls::{Effort, deserves_another, reason};
use crate::{Call, RunError};

/// The partials of the first groups.
pub(super) fn run(
    process: &mut impl Aggregate,
    records: &KeyedRecords,
) -> Result<Partials, RunError> {
    let mut driver = Driver { process, records, parts: Vec::new(), done: 0 };
    match driver.drive() {
        // What is done is worth more than the reason, which the next run will give.
        Err(Stopped::Instance(_)) if driver.done > 0 => {}
        Err(Stopped::TimeIsUp { .. }) | Ok(()) => {}
        Err(stopped) => return Err(stopped.error(&Call::default())),
    }
    Partials::concat(driver.parts, records)
        .map_err(|error| RunError::Input { reason: format!("joining the partials: {error}") })
}

struct Driver<'a, P> {
    process: &'a mut P,
    records: &'a KeyedRecords,
    /// The answers for the first `done` groups.
    parts: Vec<Partials>,
    done: usize,
}

impl<P: Aggregate> Driver<'_, P> {
    fn drive(&mut self) -> Result<(), Stopped> {
        let mut pending = Vec::new();
        if !self.records.is_empty() {
            pending.push((0..self.records.len(), false));
        }
        while let Some((mut groups, searching)) = pending.pop() {
            if self.process.is_over(self.done) {
                break;
            }
            let fitting = self.fitting(&groups, searching);
            if fitting < groups.len() {
                let middle = groups.start + fitting;
                pending.push((middle..groups.end, searching));
                groups.end = middle;
            }
            let part = self.records.slice(groups.clone());
            let weight = part.records().len();
            if groups.len() == 1 && weight > self.process.fit(weight, searching) {
                if !self.one_by_one(&part, searching)? {
                    break;
                }
                continue;
            }
            let effort = Effort { alone: weight == 1, searching };
            let ends = part.record_ends();
            match self.process.accumulate(part.keys(), part.records(), ends, effort) {
                Ok((values, rejected)) => {
                    if !self.accept(partials(values, rejected)?) {
                        break;
                    }
                }
                Err(failed) => {
                    let doing = || "accumulating".to_owned();
                    let (fault, _) = Stopped::of(failed, doing)?;
                    let searching = searching || fault.cause == Cause::Deadline;
                    if groups.len() > 1 {
                        let middle = groups.start + groups.len() / 2;
                        pending.push((middle..groups.end, searching));
                        pending.push((groups.start..middle, searching));
                    } else if !self.one_by_one(&part, searching)? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// How many of the groups the next call gets.
    fn fitting(&self, groups: &Range<usize>, searching: bool) -> usize {
        let place = |group: usize| {
            group.checked_sub(1).map_or(0, |last| self.records.record_ends()[last] as usize)
        };
        let begin = place(groups.start);
        let most = begin + self.process.fit(place(groups.end) - begin, searching);
        let ends = &self.records.record_ends()[groups.clone()];
        ends.partition_point(|&end| end as usize <= most).max(1)
    }

    /// One group in parts, whose partials are merged. Whether there may be more.
    fn one_by_one(&mut self, group: &KeyedRecords, searching: bool) -> Result<bool, Stopped> {
        let (keys, records) = (group.keys(), group.records());
        let (mut values, mut rejected) = (Vec::new(), Vec::new());
        let mut pending = vec![(0..records.len(), searching)];
        while let Some((mut range, searching)) = pending.pop() {
            let fit = self.process.fit(range.len(), searching);
            if fit < range.len() {
                pending.push((range.start + fit..range.end, searching));
                range.end = range.start + fit;
            }
            let alone = range.len() == 1;
            let part = records.slice(range.clone());
            let effort = Effort { alone, searching };
            let failed = match self.process.accumulate(keys, &part, &[part.len() as u32], effort) {
                Ok((value, part_rejected)) => {
                    values.push(value);
                    let first = range.start as u32;
                    let moved = |r: Rejection| Rejection { index: r.index + first, ..r };
                    rejected.extend(part_rejected.into_iter().map(moved));
                    continue;
                }
                Err(failed) => failed,
            };
            let (fault, fresh) = Stopped::of(failed, || "accumulating".to_owned())?;
            let searching = searching || fault.cause == Cause::Deadline;
            if !alone {
                let middle = range.start + range.len() / 2;
                pending.extend([(middle..range.end, searching), (range.start..middle, searching)]);
            } else if deserves_another(&fault, fresh) {
                pending.push((range, searching));
            } else {
                let (index, cause) = (range.start as u32, fault.cause);
                rejected.push(Rejection { index, cause, reason: reason(&fault) });
            }
        }
        let value = match &values[..] {
            [] => self.of_nothing(keys)?,
            [value] => value.clone(),
            _ => {
                let parts: Vec<&Column> = values.iter().collect();
                let parts = Column::concat(&parts)
                    .map_err(|error| Stopped::Input(format!("the partials of a group: {error}")))?;
                merge::run(self.process, &parts, &[parts.len() as u32])?
            }
        };
        Ok(self.accept(partials(value, rejected)?))
    }

    /// The partial of a group of no records.
    fn of_nothing(&mut self, keys: &Column) -> Result<Column, Stopped> {
        let effort = Effort { alone: true, searching: false };
        loop {
            let failed = match self.process.accumulate(keys, &Batch::empty(), &[0], effort) {
                Ok((value, _)) => return Ok(value),
                Err(failed) => failed,
            };
            let doing =
                || "accumulating no records, for a group of which all were rejected,".to_owned();
            let (fault, fresh) = Stopped::of(failed, doing)?;
            if !deserves_another(&fault, fresh) {
                return Err(Stopped::Fault { doing: doing(), fault });
            }
        }
    }

    /// Adds the answer for the next groups. Whether there may be more.
    fn accept(&mut self, partials: Partials) -> bool {
        let room = self.process.room();
        let asked = self.records.slice(self.done..self.done + partials.len());
        let mut fitting = partials.len();
        // The first group always goes on: it is no larger than the limit of a state.
        let fewest = usize::from(self.done == 0);
        while fitting > fewest && partials.first(fitting, &asked).bytes() > room {
            fitting = (fitting / 2).max(fewest);
        }
        if fitting == 0 {
            return false;
        }
        let all = fitting == partials.len();
        let partials = if all { partials } else { partials.first(fitting, &asked) };
        self.process.answered(partials.bytes());
        self.done += fitting;
        self.parts.push(partials);
        all
    }
}

fn partials(values: Column, rejected: Vec<Rejection>) -> Result<Partials, Stopped> {
    Partials::new(values, rejected).map_err(|error| Stopped::Input(error.to_string()))
}
