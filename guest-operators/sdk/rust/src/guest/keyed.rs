//! The world `keyed-operator`.

use std::marker::PhantomData;

use super::{batch, column, wit_batch, wit_column, wit_rejections, with_runner};
use crate::{Groups, Keyed, KeyedRunner, StateChange, TimeDomain, Timer, Timers};

pub use overspill_world_keyed::guest::keyed::bindings;

pub use bindings::export;

/// `process` of a world's component: see [`super::describe_and_configure`].
macro_rules! process {
    ($trait:path) => {
        impl<O: $trait> keyed::Guest for Component<O> {
            fn process(input: keyed::Groups) -> keyed::Outcome {
                let groups = Groups {
                    keys: column(input.keys),
                    states: column(input.states.values),
                    present: input.states.present,
                    records: batch(input.records),
                    record_ends: input.record_ends,
                    inputs: input.inputs,
                    fired: timers(input.fired),
                    watermark: input.watermark,
                    processing_time: input.processing_time,
                };
                let outcome = with_runner(|runner: &KeyedRunner<O>| runner.run(&groups));
                keyed::Outcome {
                    records: wit_batch(outcome.records),
                    ends: outcome.ends,
                    outlets: outcome.outlets,
                    changes: outcome
                        .changes
                        .into_iter()
                        .map(|change| match change {
                            StateChange::Unchanged => keyed::StateChange::Unchanged,
                            StateChange::Replaced => keyed::StateChange::Replaced,
                            StateChange::Cleared => keyed::StateChange::Cleared,
                        })
                        .collect(),
                    states: wit_column(outcome.states),
                    set: wit_timers(outcome.set),
                    cancelled: wit_timers(outcome.cancelled),
                    rejected: wit_rejections(outcome.rejected),
                }
            }
        }

        fn timers(timers: keyed::Timers) -> Timers {
            let domain = |domain| match domain {
                keyed::TimeDomain::EventTime => TimeDomain::EventTime,
                keyed::TimeDomain::ProcessingTime => TimeDomain::ProcessingTime,
            };
            let pairs = timers.times.into_iter().zip(timers.domains);
            Timers {
                timers: pairs.map(|(time, of)| Timer { time, domain: domain(of) }).collect(),
                ends: timers.ends,
            }
        }

        fn wit_timers(timers: Timers) -> keyed::Timers {
            let domain = |timer: &Timer| match timer.domain {
                TimeDomain::EventTime => keyed::TimeDomain::EventTime,
                TimeDomain::ProcessingTime => keyed::TimeDomain::ProcessingTime,
            };
            keyed::Timers {
                times: timers.timers.iter().map(|timer| timer.time).collect(),
                domains: timers.timers.iter().map(domain).collect(),
                ends: timers.ends,
            }
        }
    };
}

pub(crate) use process;

use bindings::exports::overspill::operator::{configure, describe, keyed};

/// A component around one operator.
#[derive(Debug)]
pub struct Component<O>(PhantomData<O>);

super::describe_and_configure!(Keyed, KeyedRunner<O>, Keyed);
process!(Keyed);
