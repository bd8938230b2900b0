//! What a guest call may use here: what the pipeline allows, and no more than this runner does.
//!
//! Where work runs must not decide what becomes of it. So what fails only because this runner
//! allows less than the pipeline is not answered here, but left to be done where there is no such
//! limit.

use overspill_operator_runtime::Limits;
use overspill_protocol::{CallLimits, Cause, FailCode, Request, Response};

/// The limits of the calls of one invocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceiling {
    asked: CallLimits,
    limits: Limits,
    /// How much the whole answer may take, in bytes.
    max_output: usize,
}

impl Ceiling {
    /// What is asked for, lowered to what this runner allows.
    pub(crate) fn new(own: &Limits, asked: CallLimits, max_output: usize) -> Self {
        let limits = Limits {
            deadline: own.deadline.min(asked.deadline),
            memory: own.memory.min(asked.memory),
            output: own.output.min(asked.output),
            state: own.state.min(asked.state),
            ..*own
        };
        Self { asked, limits, max_output }
    }

    /// What a guest call may use.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether a failure of this cause may be due to this runner alone.
    fn is_own(&self, cause: Cause, work: &Request) -> bool {
        let Self { asked, limits, max_output } = self;
        match cause {
            Cause::Deadline => limits.deadline < asked.deadline,
            Cause::Memory => limits.memory < asked.memory,
            // Of the runs, that of a batch alone rejects what is too large for the whole answer.
            Cause::Output => {
                limits.output < asked.output
                    || matches!(work, Request::FlatMap(_)) && *max_output < asked.output
            }
            Cause::State => limits.state < asked.state,
            Cause::Operator | Cause::Trap | Cause::Contract => false,
        }
    }

    /// The part of an answer in front of the first unit that failed only because of this runner,
    /// and what is to be said if there is no such part.
    pub(crate) fn cut(&self, answer: Response, work: &Request) -> (Response, Option<FailCode>) {
        let is_own = |cause| self.is_own(cause, work);
        let first = match (&answer, work) {
            (Response::FlatMap(emission), _) => {
                let first = emission.rejected().iter().find(|rejected| is_own(rejected.cause));
                first.map(|rejected| (rejected.index as usize, rejected.cause))
            }
            (Response::Keyed(answer), _) => {
                let records = answer.rejected().iter().find(|rejected| is_own(rejected.cause));
                let timers =
                    answer.rejected_timers().iter().find(|rejected| is_own(rejected.cause));
                let records = records.map(|rejected| (rejected.key as usize, rejected.cause));
                let timers = timers.map(|rejected| (rejected.key as usize, rejected.cause));
                records.into_iter().chain(timers).min_by_key(|(key, _)| *key)
            }
            (Response::Accumulate(partials), Request::Accumulate(records)) => {
                let first = partials.rejected().iter().find(|rejected| is_own(rejected.cause));
                first.map(|rejected| {
                    let ends = records.record_ends();
                    (ends.partition_point(|&end| end <= rejected.index), rejected.cause)
                })
            }
            (Response::Accumulate(_), _) => None,
        };
        let Some((unit, cause)) = first else { return (answer, None) };
        let code = match cause {
            Cause::Deadline => FailCode::Deadline,
            Cause::Output => FailCode::ReplyTooLarge,
            _ => FailCode::Memory,
        };
        (answer.first(unit, work), Some(code))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use std::time::Duration;

    use overspill_protocol::keyed::{
        KeyedRecords, Partials, RejectedRecord, RejectedTimer, Shipment, ShipmentAnswerBuilder,
        ShipmentBuilder, StateChange, StateEntry, Timer,
    };
    use overspill_protocol::{Batch, Column, Emission, Rejection};

    use super::*;

    const ASKED: CallLimits = CallLimits {
        deadline: Duration::from_secs(10),
        memory: 256 << 20,
        output: 64 << 20,
        state: 1 << 20,
    };

    /// As much as is asked for.
    fn same() -> Limits {
        let CallLimits { deadline, memory, output, state } = ASKED;
        Limits { deadline, memory, output, state, ..Limits::default() }
    }

    fn rejection(index: u32, cause: Cause) -> Rejection {
        Rejection { index, cause, reason: String::new() }
    }

    fn batch(len: usize) -> Request {
        Batch::from_values(Column::from_values(vec![""; len])).into()
    }

    fn emission() -> Response {
        let emission = Emission::new(
            5,
            Batch::from_values(Column::from_values(["a", "b", "c"])),
            vec![1, 1, 2, 2, 3],
            vec![rejection(1, Cause::Operator), rejection(3, Cause::Output)],
        );
        Response::FlatMap(emission.unwrap())
    }

    #[test]
    fn a_record_too_large_for_the_caller_is_left_to_others_and_not_rejected() {
        let ceiling = Ceiling::new(&same(), ASKED, 1 << 20);
        let (cut, code) = ceiling.cut(emission(), &batch(5));
        assert_eq!(code, Some(FailCode::ReplyTooLarge));
        assert_eq!(cut, emission().first(3, &batch(5)));
        let roomy = Ceiling::new(&same(), ASKED, 1 << 30);
        assert_eq!(roomy.cut(emission(), &batch(5)), (emission(), None));
    }

    #[test]
    fn the_lower_limit_counts_and_only_a_runners_own_limit_cuts_an_answer() {
        let own = Limits { memory: 1 << 20, deadline: Duration::from_secs(60), ..same() };
        let ceiling = Ceiling::new(&own, ASKED, usize::MAX);
        assert_eq!(ceiling.limits(), Limits { memory: 1 << 20, ..same() });
        for (cause, is_cut) in [
            (Cause::Memory, true),
            (Cause::Deadline, false),
            (Cause::Output, false),
            (Cause::State, false),
            (Cause::Trap, false),
        ] {
            let records = Batch::empty();
            let rejected = vec![rejection(1, cause)];
            let answer = Emission::new(2, records, vec![0, 0], rejected).unwrap();
            let (cut, code) = ceiling.cut(Response::FlatMap(answer), &batch(2));
            assert_eq!((cut.len() == 1, code.is_some()), (is_cut, is_cut), "{cause:?}");
        }
    }

    fn shipment(keys: usize) -> Shipment {
        let mut builder = ShipmentBuilder::new(1, keys);
        for key in 0..keys {
            builder.key(&[key as u8], 0, StateEntry::Missing, []);
        }
        builder.finish(false).unwrap()
    }

    #[test]
    fn an_answer_to_a_shipment_is_cut_in_front_of_the_first_key_with_such_a_record_or_timer() {
        let own = Limits { state: 1, ..same() };
        let ceiling = Ceiling::new(&own, ASKED, 1);
        let asked = shipment(4);
        let mut builder = ShipmentAnswerBuilder::default();
        for _ in 0..4 {
            builder.key(StateChange::Unchanged, &[], [], [], []);
        }
        let reason = String::new;
        let rejected =
            |key, cause| RejectedRecord { key, step: 0, index: 0, cause, reason: reason() };
        builder.reject(rejected(0, Cause::Output));
        builder.reject(rejected(3, Cause::State));
        let (key, timer, cause) = (2, Timer::event(1), Cause::State);
        builder.reject_timer(RejectedTimer { key, timer, cause, reason: reason() });
        let answer = Response::Keyed(builder.finish(asked.keys()).unwrap());
        let (cut, code) = ceiling.cut(answer, &Request::Keyed(asked));
        assert_eq!((cut.len(), code), (2, Some(FailCode::Memory)));
    }

    #[test]
    fn partials_are_cut_in_front_of_the_group_of_such_a_record() {
        let own = Limits { deadline: Duration::from_secs(1), ..same() };
        let ceiling = Ceiling::new(&own, ASKED, 1);
        let keys = Column::from_values(["a", "b", "c"]);
        let records = Batch::from_values(Column::from_values(["1", "2", "3", "4"]));
        let asked = KeyedRecords::new(keys, records, vec![1, 3, 4]).unwrap();
        let rejected = vec![rejection(2, Cause::Deadline)];
        let partials = Partials::new(Column::from_values(["x", "y", "z"]), rejected).unwrap();
        let work = Request::Accumulate(asked);
        let (cut, code) = ceiling.cut(Response::Accumulate(partials), &work);
        assert_eq!((cut.len(), code), (1, Some(FailCode::Deadline)));
    }
}
