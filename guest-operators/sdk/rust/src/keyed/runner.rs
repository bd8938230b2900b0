//! Runs a keyed operator over groups. The component and the native tests run this same code.

use std::borrow::Cow;
use std::cell::Cell;

use super::output::CallOutput;
use super::{Context, Groups, KeyState, Keyed, KeyedRecord, Outcome, StateChange, Timer, range};
use crate::{Emitter, NO_TIME, StateCodec};

/// A keyed operator that has been set up, and runs groups.
#[derive(Debug)]
pub struct KeyedRunner<O> {
    operator: O,
    /// How much the last call emitted, to size the next output.
    last_output: Cell<(usize, usize)>,
}

/// A group at work: what was in it, and what its state was at some record.
struct Group<'a> {
    groups: &'a Groups,
    key: &'a [u8],
    /// The state at a record of the group, as bytes, and that record's index: from there on its
    /// records can be done again.
    base: Option<Cow<'a, [u8]>>,
    base_at: usize,
}

impl<O: Keyed> KeyedRunner<O> {
    /// A runner of the operator.
    pub fn new(operator: O) -> Self {
        Self { operator, last_output: Cell::new((0, 0)) }
    }

    /// The operator.
    pub fn operator(&self) -> &O {
        &self.operator
    }

    /// Runs groups.
    ///
    /// # Panics
    /// When the groups break the contract, the operator panics, or a timer fires of a key whose
    /// state can't be read.
    pub fn run(&self, groups: &Groups) -> Outcome {
        let (bytes, records) = self.last_output.get();
        let room = |last: usize| last + last / 8 + 64;
        let out = Emitter::with_capacity(room(bytes), room(records));
        let mut output = CallOutput::new(out, groups.keys.len());
        for index in 0..groups.keys.len() {
            self.run_group(groups, index, &mut output);
        }
        let outcome = output.finish(&groups.keys);
        let values = &outcome.records.values;
        self.last_output.set((values.data.len(), values.len()));
        outcome
    }

    fn run_group(&self, groups: &Groups, index: usize, output: &mut CallOutput) {
        let records = range(&groups.record_ends, index);
        let fired = groups.fired.get(index);
        let before = groups.state(index);
        output.begin_group(groups.records.timestamps.is_some() || !fired.is_empty());
        let mut group = Group {
            groups,
            key: groups.keys.get(index),
            base: before.map(Cow::Borrowed),
            base_at: records.start,
        };
        let mut state = match read::<O>(before) {
            Ok(state) => state,
            Err(reason) => {
                // Nothing but a trap tells the host that a timer wasn't handled.
                assert!(fired.is_empty(), "{reason}");
                for record in records {
                    output.reject(record, reason.clone());
                }
                output.end_group(StateChange::Unchanged, |_| ());
                return;
            }
        };
        let mut changed = false;
        for record in records {
            changed |= self.run_record(&mut group, record, &mut state, output);
        }
        for &timer in fired {
            changed |= self.fire(&group, timer, &mut state, output);
        }
        match (changed, state.get()) {
            (true, Some(state)) => {
                output.end_group(StateChange::Replaced, |states| O::Codec::encode(state, states))
            }
            (true, None) if before.is_some() => output.end_group(StateChange::Cleared, |_| ()),
            _ => output.end_group(StateChange::Unchanged, |_| ()),
        }
    }

    /// Runs a record and says whether it changed the state.
    #[inline]
    fn run_record(
        &self,
        group: &mut Group<'_>,
        index: usize,
        state: &mut KeyState<O::State>,
        output: &mut CallOutput,
    ) -> bool {
        let mark = output.mark();
        let record = group.record(index);
        let result = {
            let mut context = group.context(record.timestamp, output);
            self.operator.process(record, state, &mut context)
        };
        let touched = state.take_touched();
        match result {
            Ok(()) => {
                output.end_run(record.timestamp.unwrap_or(NO_TIME));
                touched
            }
            Err(rejection) => {
                output.roll_back(mark);
                output.reject(index, rejection.reason.into_owned());
                if touched {
                    self.restore(group, index, state, output);
                }
                false
            }
        }
    }

    /// Brings the state back to what it was before a record that was rejected after it had changed
    /// it: an operator is pure, so its records up to there, done again, lead there again. That
    /// state is kept as bytes, so that the next such record does not do them all again.
    #[cold]
    fn restore(
        &self,
        group: &mut Group<'_>,
        rejected: usize,
        state: &mut KeyState<O::State>,
        output: &mut CallOutput,
    ) {
        let mark = output.mark();
        *state = read::<O>(group.base.as_deref()).expect("the state could be read before");
        for index in group.base_at..rejected {
            let record = group.record(index);
            let mut context = group.context(record.timestamp, output);
            // Those that are rejected again have touched nothing, or they would be the base.
            let _ = self.operator.process(record, state, &mut context);
        }
        state.take_touched();
        output.roll_back(mark);
        group.base_at = rejected + 1;
        group.base = state.get().map(|state| {
            let mut bytes = Vec::new();
            O::Codec::encode(state, &mut bytes);
            Cow::Owned(bytes)
        });
    }

    /// Fires a timer and says whether it changed the state.
    fn fire(
        &self,
        group: &Group<'_>,
        timer: Timer,
        state: &mut KeyState<O::State>,
        output: &mut CallOutput,
    ) -> bool {
        if !output.timers.fire(timer) {
            return false;
        }
        let mut context = group.context(Some(timer.time), output);
        self.operator.on_timer(timer, state, &mut context);
        output.end_run(timer.time);
        state.take_touched()
    }
}

impl<'a> Group<'a> {
    #[inline]
    fn record(&self, index: usize) -> KeyedRecord<'a> {
        let records = &self.groups.records;
        let timestamp = records.timestamps.as_ref().map(|times| times[index]);
        KeyedRecord {
            value: records.values.get(index),
            key: self.key,
            timestamp: timestamp.filter(|&time| time != NO_TIME),
            input: self.groups.inputs.as_ref().map_or(0, |inputs| inputs[index]),
        }
    }

    #[inline]
    fn context<'b>(&self, timestamp: Option<i64>, output: &'b mut CallOutput) -> Context<'b>
    where
        'a: 'b,
    {
        Context {
            out: &mut output.out,
            timers: &mut output.timers,
            runs: &mut output.runs,
            key: self.key,
            timestamp,
            watermark: self.groups.watermark,
            processing_time: self.groups.processing_time,
        }
    }
}

fn read<O: Keyed>(bytes: Option<&[u8]>) -> Result<KeyState<O::State>, String> {
    match bytes.map(O::Codec::decode).transpose() {
        Ok(state) => Ok(KeyState::new(state)),
        Err(reason) => {
            let name = O::DESCRIPTION.name;
            Err(format!("the key has a state that operator `{name}` can't read: {reason}"))
        }
    }
}
