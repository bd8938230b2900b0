//! One invocation, from bytes to bytes, whatever door they came by.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use overspill_operator_runtime::{Call, Instance, Limits as GuestLimits, RunError, RunReport};
use overspill_protocol::wire::message_id;
use overspill_protocol::{
    Compression, FailCode, Invocation, Limits, RejectCode, Reply, Report, Request, Response,
    WireError,
};

use crate::ceiling::Ceiling;
use crate::held::Held;
use crate::metric_definitions::{Ended, Metrics};
use crate::modules::{ModuleError, Modules};

/// What a reply takes at most beside what [`Response::bytes`] counts: headers, the leading zero of
/// each column's offsets, padding.
const REPLY_OVERHEAD: usize = 512;

/// Answers invocations. Shared by all connections and threads.
pub struct Invoker {
    modules: Modules,
    held: Held,
    limits: Limits,
    guest_limits: GuestLimits,
    compression: Compression,
    metrics: Arc<Metrics>,
}

/// How much an [`Invoker`] takes in and lets a guest use.
pub(crate) struct InvokerOptions {
    /// How large an invocation may be.
    pub(crate) limits: Limits,
    /// What a guest call may use at most.
    pub(crate) guest_limits: GuestLimits,
    /// How much memory the states may take that are kept for the next time, in bytes.
    pub(crate) held_states: usize,
    /// When answers are compressed.
    pub(crate) compression: Compression,
}

/// The bytes of a reply.
pub struct Answer {
    /// What goes back to the caller.
    pub bytes: Bytes,
    /// Whether it says that the runner is too busy, which a door may want to tell its transport.
    pub overloaded: bool,
}

impl Invoker {
    pub(crate) fn new(modules: Modules, options: InvokerOptions, metrics: Arc<Metrics>) -> Self {
        let InvokerOptions { limits, guest_limits, held_states, compression } = options;
        let held = Held::new(held_states);
        Self { modules, held, limits, guest_limits, compression, metrics }
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

    fn run(&self, mut invocation: Invocation, received: Instant) -> Reply {
        let Invocation { id, module, deadline, max_reply, .. } = invocation;
        let max_output = max_reply.saturating_sub(REPLY_OVERHEAD);
        let ceiling = Ceiling::new(&self.guest_limits, invocation.limits, max_output);
        let pool = self.modules.pool(module, &invocation.settings, ceiling.limits());
        let (pool, mut cold) = match pool {
            Ok(found) => found,
            Err(error) => return refusal(id, &error),
        };
        invocation.work = match self.complete(invocation.work) {
            Ok(work) => work,
            Err(keys) => return Reply::NeedState { id, keys },
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
        let processing_time = invocation.processing_time;
        let call = Call { processing_time, budget: Some(budget), max_output: Some(max_output) };
        let (answer, run) = match work(&mut instance, &invocation.work, &call) {
            Ok(done) => done,
            Err(error) => return failure(id, &error),
        };
        cold |= run.fresh_instance;
        let report = Report { compute: run.compute, cold, memory: run.memory as u64 };
        let (answer, not_here) = ceiling.cut(answer, &invocation.work);
        if !answer.is_empty() || invocation.work.is_empty() {
            let reply = Reply::answer(&invocation, answer, report);
            self.answered(&invocation.work, &reply);
            return reply;
        }
        // A partial answer for nothing would be asked for again and again.
        let unit = invocation.work.unit();
        match not_here {
            None if received.elapsed() >= deadline => Reply::Failed {
                id,
                code: FailCode::Deadline,
                reason: format!("not one {unit} was done within {} ms", deadline.as_millis()),
            },
            None | Some(FailCode::ReplyTooLarge) => Reply::Failed {
                id,
                code: FailCode::ReplyTooLarge,
                reason: format!(
                    "the answer for the first {unit} alone is longer than the {max_reply} bytes \
                     that the caller can receive: raise the target's payload ceiling"
                ),
            },
            Some(code) => Reply::Failed {
                id,
                code,
                reason: format!(
                    "the first {unit} needs more than this runner allows a call, though not more \
                     than the pipeline does: raise the runner's `--guest-deadline` or \
                     `--guest-memory`"
                ),
            },
        }
    }

    /// The work with the states that were left out put in. `Err`: the keys whose states aren't
    /// here.
    fn complete(&self, work: Request) -> Result<Request, Vec<u32>> {
        let Request::Keyed(shipment) = work else { return Ok(work) };
        let left_out = shipment.held_keys().count() as u64;
        if left_out == 0 {
            return Ok(Request::Keyed(shipment));
        }
        let filled = self.held.fill(shipment);
        let missing = filled.as_ref().map_or_else(Vec::len, |_| 0) as u64;
        self.metrics.held_hits.increment(left_out - missing);
        self.metrics.held_misses.increment(missing);
        filled.map(Request::Keyed)
    }

    /// Keeps the states of what is answered, and counts it.
    fn answered(&self, work: &Request, reply: &Reply) {
        let (Reply::Done { answer, report, .. } | Reply::Partial { answer, report, .. }) = reply
        else {
            return;
        };
        let metrics = &self.metrics;
        let (records_out, rejected) = match (answer, work) {
            (Response::FlatMap(emission), _) => {
                (emission.records().len(), emission.rejected().len())
            }
            (Response::Keyed(answer), Request::Keyed(shipment)) => {
                self.held.keep(shipment, answer);
                let held = self.held.stats();
                metrics.held_states.set(held.states as f64);
                metrics.held_bytes.set(held.bytes as f64);
                (answer.records().len(), answer.rejected().len())
            }
            (Response::Keyed(answer), _) => (answer.records().len(), answer.rejected().len()),
            (Response::Accumulate(partials), _) => (0, partials.rejected().len()),
        };
        let records_in = match answer.len() == work.len() {
            true => work.records(),
            false => work.slice(0..answer.len()).records(),
        };
        metrics.records_in.increment(records_in as u64);
        metrics.records_out.increment(records_out as u64);
        metrics.records_rejected.increment(rejected as u64);
        metrics.compute.record(report.compute);
        metrics.cold_starts.increment(u64::from(report.cold));
        metrics.modules.set(self.modules.loaded() as f64);
    }

    fn encode(&self, id: u64, reply: Reply, max_reply: usize) -> Answer {
        let mut reply = reply;
        let mut bytes = reply.encode(self.compression);
        if bytes.len() > max_reply {
            // The answer was cut to fit, so this is the rest: a single
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

/// Runs some work in an instance, as far as time and room allow.
fn work(
    instance: &mut Instance,
    work: &Request,
    call: &Call,
) -> Result<(Response, RunReport), RunError> {
    Ok(match work {
        Request::FlatMap(batch) => {
            let run = instance.run(batch, call)?;
            (Response::FlatMap(run.emission), run.report)
        }
        Request::Keyed(shipment) => {
            let run = instance.run_keyed(shipment, call)?;
            (Response::Keyed(run.answer), run.report)
        }
        Request::Accumulate(records) => {
            let run = instance.accumulate(records, call)?;
            (Response::Accumulate(run.partials), run.report)
        }
    })
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
    let reason = error.to_string();
    let code = match error {
        // It would be refused anywhere.
        RunError::Kind { .. } => {
            return Reply::Rejected { id, code: RejectCode::Module, reason };
        }
        RunError::Instance(_) => FailCode::Instantiate,
        RunError::TimeIsUp { .. } => FailCode::Deadline,
        RunError::HeldStates { .. }
        | RunError::Fault { .. }
        | RunError::Input { .. }
        | RunError::Migration { .. } => FailCode::Internal,
    };
    Reply::Failed { id, code, reason }
}
