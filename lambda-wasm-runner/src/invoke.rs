//! One invocation, from bytes to bytes, whatever door they came by.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use overspill_operator_runtime::{Call, RunError};
use overspill_protocol::wire::message_id;
use overspill_protocol::{
    Cause, Compression, Emission, FailCode, Invocation, Limits, RejectCode, Reply, Report, Request,
    Response, WireError,
};

use crate::metric_definitions::{Ended, Metrics};
use crate::modules::{ModuleError, Modules};

/// What a reply takes at most beside what [`Emission::bytes`] counts: headers, the leading zero of
/// each column's offsets, padding.
const REPLY_OVERHEAD: usize = 512;

/// Answers invocations. Shared by all connections and threads.
pub struct Invoker {
    modules: Modules,
    limits: Limits,
    compression: Compression,
    metrics: Arc<Metrics>,
}

/// The bytes of a reply.
pub struct Answer {
    /// What goes back to the caller.
    pub bytes: Bytes,
    /// Whether it says that the runner is too busy, which a door may want to tell its transport.
    pub overloaded: bool,
}

impl Invoker {
    pub(crate) fn new(
        modules: Modules,
        limits: Limits,
        compression: Compression,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { modules, limits, compression, metrics }
    }

    /// The components of this runner.
    pub fn modules(&self) -> &Modules {
        &self.modules
    }

    /// Answers the invocation in `message`, which was received at `received`. Takes as long as the
    /// work does: not for a thread that serves connections.
    ///
    /// # Errors
    /// When `message` can't be decoded, so that there is nothing to answer to.
    pub fn invoke(&self, message: Bytes, received: Instant) -> Result<Answer, WireError> {
        let started = Instant::now();
        self.metrics.queued.record(started - received);
        let invocation = self.decode(message)?;
        let (id, max_reply) = (invocation.id, invocation.max_reply);
        let reply = self.run(invocation, received);
        let answer = self.encode(id, reply, max_reply);
        self.metrics.service.record(received.elapsed());
        Ok(answer)
    }

    /// Turns an invocation away that would have to wait too long. Only its number is read.
    ///
    /// # Errors
    /// When `message` doesn't begin as one does.
    pub fn turn_away(&self, message: &Bytes, retry_after: Duration) -> Result<Answer, WireError> {
        let id = match message_id(message) {
            Some(id) => id,
            // Decoding says what is wrong with it.
            None => self.decode(message.clone())?.id,
        };
        Ok(self.encode(id, Reply::Overloaded { id, retry_after }, usize::MAX))
    }

    fn decode(&self, message: Bytes) -> Result<Invocation, WireError> {
        self.metrics.request_bytes.increment(message.len() as u64);
        Invocation::decode(message, &self.limits)
    }

    fn run(&self, invocation: Invocation, received: Instant) -> Reply {
        let Invocation { id, module, settings, processing_time, deadline, max_reply, .. } =
            invocation;
        let Request::FlatMap(batch) = invocation.work else {
            let reason = "this runner doesn't run operators that keep state yet".to_owned();
            return Reply::Rejected { id, code: RejectCode::Module, reason };
        };
        let (pool, mut cold) = match self.modules.pool(module, &settings) {
            Ok(found) => found,
            Err(error) => return refusal(id, &error),
        };
        // Measured from here on, because loading may have taken long.
        let Some(budget) = deadline.checked_sub(received.elapsed()).filter(|b| !b.is_zero()) else {
            return Reply::Failed {
                id,
                code: FailCode::Deadline,
                reason: format!("its {} ms were over before it began", deadline.as_millis()),
            };
        };
        let mut instance = match pool.take() {
            Ok(instance) => instance,
            Err(error) => {
                let reason = format!("no instance of component {module}: {error}");
                return Reply::Failed { id, code: FailCode::Instantiate, reason };
            }
        };
        let max_output = max_reply.saturating_sub(REPLY_OVERHEAD);
        let call = Call { processing_time, budget: Some(budget), max_output: Some(max_output) };
        let run = match instance.run(&batch, &call) {
            Ok(run) => run,
            Err(error) => return failure(id, &error),
        };
        cold |= run.report.fresh_instance;
        let emission = match max_output < pool.limits().output {
            true => before_too_large(run.emission),
            false => run.emission,
        };
        let report = Report { compute: run.report.compute, cold, memory: run.report.memory as u64 };
        self.count(&emission, &report);
        let done = emission.inputs();
        if done == batch.len() {
            return Reply::Done { id, answer: Response::FlatMap(emission), report };
        }
        if done > 0 {
            return Reply::Partial { id, answer: Response::FlatMap(emission), report };
        }
        // A partial answer for no record would be asked for again and again.
        match received.elapsed() >= deadline {
            true => Reply::Failed {
                id,
                code: FailCode::Deadline,
                reason: format!("not one record was done within {} ms", deadline.as_millis()),
            },
            false => Reply::Failed {
                id,
                code: FailCode::ReplyTooLarge,
                reason: format!(
                    "the answer for the first record alone is longer than the {max_reply} bytes \
                     that the caller can receive: raise the target's payload ceiling"
                ),
            },
        }
    }

    fn count(&self, emission: &Emission, report: &Report) {
        let metrics = &self.metrics;
        metrics.records_in.increment(emission.inputs() as u64);
        metrics.records_out.increment(emission.records().len() as u64);
        metrics.records_rejected.increment(emission.rejected().len() as u64);
        metrics.compute.record(report.compute);
        metrics.cold_starts.increment(u64::from(report.cold));
        metrics.modules.set(self.modules.loaded() as f64);
    }

    fn encode(&self, id: u64, reply: Reply, max_reply: usize) -> Answer {
        let mut reply = reply;
        let mut bytes = reply.encode(self.compression);
        if bytes.len() > max_reply {
            // The runtime stops before an emission is too large, so this is the rest: a single
            // record's output, or a ceiling that is lower than a message's header.
            let reason = format!(
                "the reply takes {} bytes, over the {max_reply} that the caller can receive: send \
                 fewer records, or raise the target's payload ceiling",
                bytes.len()
            );
            reply = Reply::Failed { id, code: FailCode::ReplyTooLarge, reason };
            bytes = reply.encode(Compression::None);
        }
        self.metrics.invocation(match &reply {
            Reply::Done { .. } => Ended::Done,
            Reply::Partial { .. } => Ended::Partial,
            Reply::NeedModule { .. } => Ended::NeedModule,
            Reply::NeedState { .. } => Ended::NeedState,
            Reply::Rejected { .. } => Ended::Rejected,
            Reply::Overloaded { .. } => Ended::Overloaded,
            Reply::Failed { .. } => Ended::Failed,
        });
        self.metrics.reply_bytes.increment(bytes.len() as u64);
        Answer { bytes, overloaded: matches!(reply, Reply::Overloaded { .. }) }
    }
}

/// The answer for the records in front of the first whose output alone is larger than the caller
/// can receive. The runtime rejects such a record, but where it runs must not decide what becomes
/// of it: it goes back, to be done where there is no such ceiling.
fn before_too_large(emission: Emission) -> Emission {
    let too_large = emission.rejected().iter().position(|r| r.cause == Cause::Output);
    let Some(position) = too_large else { return emission };
    let inputs = emission.rejected()[position].index as usize;
    let ends = emission.ends().slice(0, inputs);
    let outputs = ends.last().copied().unwrap_or(0) as usize;
    let records = emission.records().slice(0..outputs);
    let rejected = emission.rejected()[..position].to_vec();
    Emission::new(inputs, records, ends, rejected).expect("the first part of a sound emission")
}

fn refusal(id: u64, error: &ModuleError) -> Reply {
    let reason = error.to_string();
    match error {
        ModuleError::NotTrusted(_) => Reply::Rejected { id, code: RejectCode::Untrusted, reason },
        ModuleError::Missing(module) => Reply::NeedModule { id, module: *module },
        ModuleError::Altered { .. } | ModuleError::Load { .. } => {
            Reply::Rejected { id, code: RejectCode::Module, reason }
        }
        ModuleError::Configure { .. } => Reply::Rejected { id, code: RejectCode::Settings, reason },
        ModuleError::Read { .. } => Reply::Failed { id, code: FailCode::Internal, reason },
    }
}

fn failure(id: u64, error: &RunError) -> Reply {
    Reply::Failed { id, code: FailCode::Instantiate, reason: error.to_string() }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use overspill_protocol::{Batch, Column, Rejection};

    use super::*;

    #[test]
    fn a_record_too_large_for_the_caller_is_left_to_others_and_not_rejected() {
        let rejection = |index, cause| Rejection { index, cause, reason: String::new() };
        let emission = Emission::new(
            5,
            Batch::from_values(Column::from_values(["a", "b", "c"])),
            vec![1, 1, 2, 2, 3],
            vec![rejection(1, Cause::Operator), rejection(3, Cause::Output)],
        )
        .unwrap();
        let cut = before_too_large(emission);
        assert_eq!(cut.inputs(), 3);
        assert_eq!(cut.records().len(), 2);
        assert_eq!(cut.rejected(), [rejection(1, Cause::Operator)]);
    }
}
