//! The remote lanes: one thread for all that goes over a wire, whatever operator it is for.
//!
//! Encoding, sending, receiving and decoding happen on that thread and nowhere else, so that its
//! processor time is what offloading costs this host: the measured half of the leverage.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use metrics::Histogram;
use overspill_operator_runtime::Limits;
use overspill_protocol::keyed::{Shipment, ShipmentAnswer};
use overspill_protocol::{CallLimits, Digest, Invocation, Request};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::held::{Held, RemoteLane, StateTraffic};
use super::processor_time;
use super::work::{OperatorAnswer, OperatorWork};
use crate::burst::{AttemptId, Event, Outcome, TargetId};
use crate::pipeline::definition::Price;
use crate::target::{Call, Target, TargetEvent};

/// The most that a reply may have, in bytes on the wire.
const MAX_REPLY: usize = 64 << 20;

/// The thread that talks to targets.
pub(super) struct OffloadThread {
    handle: Handle,
    meter: Arc<Meter>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl OffloadThread {
    /// Starts it.
    ///
    /// # Errors
    /// When the operating system gives no thread or no event queue.
    pub(super) fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("offload".into()).spawn(move || {
            // A dropped sender means stop, too.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_timeout(Duration::from_secs(1));
        })?;
        let meter = Arc::new(Meter::new(thread.thread().id()));
        Ok(Self { handle, meter, stop, thread })
    }

    /// Where targets live, and where their futures are polled.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Stops the thread; calls under way end unanswered.
    pub(super) fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

/// Shares out the thread's processor time among the calls: each pays for what was used since the
/// call before it ended. Summed over a burst this is exact, but for what [`Meter::forgive`] leaves
/// out.
struct Meter {
    thread: ThreadId,
    charged: Mutex<Duration>,
}

impl Meter {
    fn new(thread: ThreadId) -> Self {
        Self { thread, charged: Mutex::default() }
    }

    /// Charges no call for what was used until now. To start a runner takes as long as to send
    /// dozens of batches, and once it is up that tells nothing of the calls to come: on the bill of
    /// the next call it could get the target refused for its leverage.
    fn forgive(&self) {
        if std::thread::current().id() == self.thread {
            self.charge();
        }
    }

    /// What was used since the last time, by the thread that this is called on.
    fn charge(&self) -> Duration {
        let now = processor_time::of_this_thread();
        let mut charged = self.charged.lock().unwrap_or_else(PoisonError::into_inner);
        let since = now.saturating_sub(*charged);
        *charged = now;
        since
    }
}

/// What a runner may let a guest call use: what the local lanes let it use.
fn call_limits(limits: Limits) -> CallLimits {
    let Limits { deadline, memory, output, state, .. } = limits;
    CallLimits { deadline, memory, output, state }
}

/// A target as one operator uses it.
#[derive(Clone)]
pub(super) struct OffloadTarget {
    pub(super) target: Arc<dyn Target>,
    pub(super) price: Price,
    /// Its round trips.
    pub(super) latency: Histogram,
}

/// What an operator's driver needs to use remote lanes.
pub(super) struct OffloadLanes {
    remote: Option<Remote>,
    /// The calls, and how many records each has.
    under_way: HashMap<AttemptId, (AbortHandle, usize)>,
}

/// What every call of an operator has in common.
struct Remote {
    handle: Handle,
    meter: Arc<Meter>,
    targets: Vec<OffloadTarget>,
    spent: Arc<Mutex<Vec<f64>>>,
    module: Digest,
    settings: Vec<(String, String)>,
    limits: CallLimits,
    /// Which runners have which states.
    held: Arc<Mutex<Held>>,
    events: Sender<Event<OperatorAnswer>>,
}

impl OffloadLanes {
    /// The lanes of an operator that never bursts.
    pub(super) fn none() -> Self {
        Self { remote: None, under_way: HashMap::new() }
    }

    /// The lanes of an operator that bursts to `targets`; [`TargetId`] is the place in it.
    pub(super) fn new(
        thread: &OffloadThread,
        targets: Vec<OffloadTarget>,
        module: Digest,
        settings: Vec<(String, String)>,
        limits: Limits,
        events: Sender<Event<OperatorAnswer>>,
    ) -> Self {
        for (number, OffloadTarget { target, .. }) in targets.iter().enumerate() {
            let (events, meter) = (events.clone(), Arc::clone(&thread.meter));
            target.observe(Box::new(move |event| {
                let target = TargetId(number);
                meter.forgive();
                // The driver has gone when nobody listens; then nobody needs to know.
                let _ = events.send(match event {
                    TargetEvent::Runners { up } => Event::Runners { target, up },
                    TargetEvent::StartFailed { reason } => Event::StartFailed { target, reason },
                });
            }));
        }
        let remote = Remote {
            handle: thread.handle.clone(),
            meter: Arc::clone(&thread.meter),
            spent: Arc::new(Mutex::new(vec![0.0; targets.len()])),
            targets,
            module,
            settings,
            limits: call_limits(limits),
            held: Arc::default(),
            events,
        };
        Self { remote: Some(remote), under_way: HashMap::new() }
    }

    /// Starts a call; its end is reported as an event.
    pub(super) fn invoke(
        &mut self,
        attempt: AttemptId,
        target: TargetId,
        work: OperatorWork,
        deadline: Instant,
        with_module: bool,
    ) {
        let remote = self.remote.as_ref().expect("only an operator with targets is told to burst");
        let records = work.input_records();
        let task = remote.call(attempt, target, work, deadline, with_module);
        let abort = remote.handle.spawn(task).abort_handle();
        self.under_way.insert(attempt, (abort, records));
    }

    /// Notes that a call has been reported.
    pub(super) fn ended(&mut self, attempt: AttemptId) {
        self.under_way.remove(&attempt);
    }

    /// The records of the calls under way.
    pub(super) fn in_flight_records(&self) -> u64 {
        self.under_way.values().map(|(_, records)| *records as u64).sum()
    }

    /// What remote lanes answered for keys of a shipment is committed: their runners have the
    /// states that it left.
    pub(super) fn committed(
        &self,
        shipment: &Shipment,
        answer: &ShipmentAnswer,
        keys: &[(Range<usize>, RemoteLane)],
    ) {
        if let Some(mut held) = self.held() {
            let remote: Vec<Range<usize>> = keys.iter().map(|(keys, _)| keys.clone()).collect();
            held.home_again(shipment, &remote);
            for (keys, lane) in keys {
                held.committed(*lane, shipment, answer, keys.clone());
            }
        }
    }

    /// What went to targets of the states of keys.
    pub(super) fn state_traffic(&self) -> StateTraffic {
        self.held().map(|held| held.traffic()).unwrap_or_default()
    }

    fn held(&self) -> Option<MutexGuard<'_, Held>> {
        let held = &self.remote.as_ref()?.held;
        Some(held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends a call that nobody waits for.
    pub(super) fn cancel(&mut self, attempt: AttemptId) {
        if let Some((call, _)) = self.under_way.remove(&attempt) {
            call.abort();
        }
    }

    /// Asks a target for this many runners.
    pub(super) fn scale(&self, target: TargetId, runners: usize) {
        if let Some(remote) = &self.remote {
            let _inside = remote.handle.enter();
            remote.targets[target.0].target.scale(runners);
        }
    }
}

impl Remote {
    fn call(
        &self,
        attempt: AttemptId,
        id: TargetId,
        work: OperatorWork,
        deadline: Instant,
        with_module: bool,
    ) -> impl Future<Output = ()> + Send + 'static {
        let OffloadTarget { target, price, latency } = self.targets[id.0].clone();
        let (events, meter, spent) =
            (self.events.clone(), Arc::clone(&self.meter), Arc::clone(&self.spent));
        let held = self.held.clone();
        let (request, prefer) = self.without_held_states(id, &work.request);
        let with_states = prefer.map(|_| work.request.clone());
        let invocation = Invocation {
            id: attempt.0,
            module: self.module,
            settings: self.settings.clone(),
            processing_time: work.processing_time,
            deadline: deadline.saturating_duration_since(Instant::now()),
            max_reply: MAX_REPLY.min(target.max_payload()),
            limits: self.limits,
            work: request,
        };
        async move {
            let left_out = invocation.work.clone();
            let call = Call { attempt, invocation, with_module, deadline, prefer, with_states };
            let answered = target.invoke(call).await;
            latency.record(answered.round_trip.as_secs_f64());
            let lane = RemoteLane { target: id, runner: answered.runner };
            if let (Request::Keyed(all), Request::Keyed(left_out)) = (&work.request, &left_out) {
                let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                let elsewhere = answered.runner.is_some() && answered.runner != prefer;
                if elsewhere {
                    held.sent_whole(all, left_out);
                }
                if matches!(answered.outcome, Outcome::NeedState) {
                    // The core sends it again at once, and then with all states.
                    held.missed(lane, all);
                }
            }
            let outcome = answered.outcome.map(|response| work.answered(response, Some(lane)));
            if price != Price::default() {
                let ran = matches!(outcome, Outcome::Done(_) | Outcome::Lost { .. });
                let cost = price.call
                    + if ran { price.compute_second * answered.compute.as_secs_f64() } else { 0.0 };
                let mut spent = spent.lock().unwrap_or_else(PoisonError::into_inner);
                spent[id.0] += cost;
                let _ = events.send(Event::Spent { target: id, dollars: spent[id.0] });
            }
            // Nobody listens any more when the pipeline has stopped.
            let _ = events.send(Event::Answered {
                attempt,
                outcome,
                taken: answered.round_trip,
                host_cpu: meter.charge(),
                cold: answered.cold,
            });
        }
    }

    /// What to send for some work: keyed work without the states that a runner of the target has.
    /// Says which runner that is: another one is sent all of it.
    fn without_held_states(&self, target: TargetId, request: &Request) -> (Request, Option<u64>) {
        let Request::Keyed(shipment) = request else { return (request.clone(), None) };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (shipment, runner) = held.leave_out(target, shipment.clone());
        held.sent(&shipment);
        (Request::Keyed(shipment), runner)
    }
}
