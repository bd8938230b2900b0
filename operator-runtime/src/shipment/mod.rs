//! A shipment of keys through one instance.
//!
//! ```text
//!  Shipment --blocks of keys--> steps: calls and what they come to (steps)
//!     keys, states, timers        |  one call, or the parts that faults make of it (spans)
//!     steps of records            |  what a guest promised and what it gave (outcome)
//!                                 v
//!  ShipmentAnswer <--joined-- the answers of the blocks
//! ```
//!
//! The same code runs a shipment on a local lane and in a runner, so the answers are the same.
//!
//! What runs is *as if* each key were alone and its records came one after the other, which is
//! what the contract asks of an operator: a call for several keys, or with several records, is
//! that for each of them. So a call that fails is halved by keys and then by records, until a
//! record alone fails: it is rejected, and the state is as if it had never come. A timer that
//! fails alone is gone.
//!
//! Keys are worked on in blocks, from left to right, so that there is an answer for the first keys
//! when time or room is up. With neither a budget nor a ceiling, all keys are one block.

mod groups;
mod outcome;
mod pick;
mod spans;
mod states;
mod steps;
#[cfg(test)]
mod tests;
mod timers;

use overspill_protocol::keyed::{Shipment, ShipmentAnswer};

pub(crate) use self::groups::{Groups, Process};
pub(crate) use self::outcome::{
    Outcome, OutcomeError, Rules, Timers, Unchecked, ends, rejections, too_large,
};
pub(crate) use self::pick::TooLong;
use self::steps::{Patience, Stopped};
use crate::calls::{Calls, Effort, Failed};
use crate::pool::Instance;
use crate::{Call, Kind, RunError, RunReport};

/// What became of a shipment.
#[derive(Clone, Debug)]
pub struct KeyedRun {
    /// The answer for the first [`ShipmentAnswer::len`] keys. These are all of them unless time or
    /// room was up. They can be none, when the budget was over before the first key was done, or
    /// the answer for the first key alone is larger than the ceiling: then the same call would get
    /// no further, and the key needs a larger budget, or to be run where there is no ceiling.
    pub answer: ShipmentAnswer,
    /// What it took.
    pub report: RunReport,
}

impl Instance {
    /// Runs a shipment of keys. The clock of the calls is that of its steps; of `call`, only the
    /// budget and the ceiling count.
    ///
    /// Records and timers on which the component traps, passes a limit or breaks the contract are
    /// rejected, each with its cause, and the others go on as if those had never come. A slice of
    /// the keys gives the same answer as the whole does for them.
    ///
    /// # Errors
    /// When the operator isn't a keyed one, a state was left out, or no instance can be made and
    /// no key is done yet.
    pub fn run_keyed(&mut self, shipment: &Shipment, call: &Call) -> Result<KeyedRun, RunError> {
        self.expect_kind(Kind::Keyed)?;
        match shipment.held_keys().count() {
            0 => {}
            keys => return Err(RunError::HeldStates { keys }),
        }
        let rules = Rules {
            side_outputs: self.pool.operator().description().side_outputs.len(),
            state: self.pool.limits().state,
        };
        let mut guests = Guests { calls: Calls::new(self, call), rules };
        let parts = run_blocks(&mut guests, shipment)?;
        let too_large = |error| RunError::Input { reason: format!("joining its answers: {error}") };
        let answer = match parts.is_empty() {
            true => ShipmentAnswer::empty(),
            false => ShipmentAnswer::concat(parts, shipment.keys()).map_err(too_large)?,
        };
        Ok(KeyedRun { answer, report: guests.calls.report })
    }
}

/// The answers for the first keys, block by block.
fn run_blocks(
    guests: &mut Guests<'_>,
    shipment: &Shipment,
) -> Result<Vec<ShipmentAnswer>, RunError> {
    let weights = guests.calls.is_bounded().then(|| weights(shipment));
    let (mut parts, mut done, mut most) = (Vec::new(), 0, shipment.len());
    let mut searching = false;
    while done < shipment.len() {
        if guests.calls.time_is_up() || (done > 0 && guests.calls.room_is_up()) {
            break;
        }
        let left = shipment.len() - done;
        let keys = match &weights {
            Some(weights) => block(&weights[done..], &guests.calls),
            None => left,
        };
        let keys = keys.min(most);
        let patience = Patience { stops_when_slow: weights.is_some() && keys > 1, searching };
        let answer = match keys == shipment.len() {
            true => steps::run(guests, shipment, patience),
            false => steps::run(guests, &shipment.slice(done..done + keys), patience),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(Stopped::TimeIsUp) => break,
            // What is done is worth more than the reason, which the next run will give.
            Err(Stopped::Instance(_)) if done > 0 => break,
            Err(Stopped::Instance(error)) => return Err(error.into()),
            Err(Stopped::TooLarge(_)) if keys > 1 => {
                most = keys / 2;
                continue;
            }
            // It comes only where there are several keys.
            Err(Stopped::TooSlow) => {
                most = (keys / 2).max(1);
                searching = true;
                continue;
            }
            Err(Stopped::TooLarge(error)) => {
                let reason = format!("one key is too much for one answer: {error}");
                return Err(RunError::Input { reason });
            }
        };
        let fitting = fitting(&answer, guests.calls.room());
        if fitting > 0 {
            let answer = if fitting == keys { answer } else { answer.first(fitting) };
            guests.calls.answered(answer.bytes());
            parts.push(answer);
            done += fitting;
        }
        if fitting < keys {
            // Nobody could take more: not even a run that has no ceiling.
            if done == 0 && !guests.calls.has_ceiling() {
                let reason = "the answer for one key is larger than 1 GiB".to_owned();
                return Err(RunError::Input { reason });
            }
            break;
        }
    }
    Ok(parts)
}

/// For how many keys an answer fits into `room` bytes.
fn fitting(answer: &ShipmentAnswer, room: usize) -> usize {
    if answer.bytes() <= room {
        return answer.len();
    }
    let (mut low, mut high) = (0, answer.len() - 1);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match answer.first(middle).bytes() <= room {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

/// How many records and timers each key has.
fn weights(shipment: &Shipment) -> Vec<usize> {
    let timers = shipment.timers();
    let mut weights: Vec<usize> = (0..shipment.len()).map(|key| timers.get(key).len()).collect();
    for step in shipment.steps() {
        for (group, &key) in step.keys.iter().enumerate() {
            weights[key as usize] += step.group(group).len();
        }
    }
    weights
}

/// How many of the keys with these weights are run at once.
fn block(weights: &[usize], calls: &Calls<'_>) -> usize {
    let most = calls.fit(weights.iter().sum(), false);
    let mut weight = 0;
    let fits = |of: &&usize| {
        weight += **of;
        weight <= most
    };
    weights.iter().take_while(fits).count().max(1)
}

/// Makes the calls in instances of a component.
struct Guests<'a> {
    calls: Calls<'a>,
    rules: Rules,
}

impl Process for Guests<'_> {
    fn fit(&self, weight: usize, searching: bool) -> usize {
        self.calls.fit(weight, searching)
    }

    fn process(&mut self, groups: &Groups, effort: Effort) -> Result<Outcome, Failed> {
        let rules = self.rules;
        self.calls.attempt(
            groups.weight(0..groups.len()),
            effort,
            |guest, operator, deadline| guest.process(operator, groups, rules, deadline),
            |outcome| outcome.records.bytes() + outcome.states.bytes(),
        )
    }
}
