//! Keeps as many runners up as are wanted, and hands calls to the least busy one.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use overspill_protocol::Response;
use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::ProcessOptions;
use super::runner::{Runner, Running, said};
use crate::burst::Outcome;
use crate::target::{Observer, TargetEvent};

/// How long to wait after a runner that could not be started, doubled each time in a row.
const BACKOFF: Duration = Duration::from_millis(100);
const LONGEST_BACKOFF: Duration = Duration::from_secs(10);

/// Starts and stops runners. A clone is the same supervisor.
#[derive(Clone)]
pub(super) struct Supervisor(Arc<Shared>);

struct Shared {
    options: Arc<ProcessOptions>,
    executable: PathBuf,
    tokio: Handle,
    state: Mutex<State>,
    /// Notified whenever a waiting call may find that something has changed for it.
    changed: Notify,
    observers: Mutex<Vec<Observer>>,
}

#[derive(Default)]
struct State {
    /// How many runners there should be.
    wanted: usize,
    /// Runners that take calls.
    up: Vec<Arc<Runner>>,
    /// How many are being started.
    starting: usize,
    /// How many have a process that has not ended yet, those that are being stopped included.
    processes: usize,
    /// How many calls wait for a runner that is being started.
    waiting: usize,
    /// Starts that failed since the last one that didn't.
    failures: u32,
    /// Why the last start failed, until one succeeds.
    last_failure: Option<String>,
    /// Not to be started before.
    not_before: Option<Instant>,
    /// No more runners.
    closed: bool,
}

/// A call's place at a runner, given back when it is dropped.
pub(super) struct Lease {
    pub(super) runner: Arc<Runner>,
    /// Whether it is the runner's first call.
    pub(super) first: bool,
    supervisor: Supervisor,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let now = Instant::now();
        *self.runner.last_used.lock().unwrap_or_else(PoisonError::into_inner) = now;
        if self.runner.calls.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.runner.drained.notify_one();
        }
        self.supervisor.0.changed.notify_one();
    }
}

/// One place among the calls that wait for a runner.
struct Waiting<'a>(&'a Shared);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: &TargetEvent) {
        let observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner);
        for observer in observers.iter() {
            observer(event.clone());
        }
    }

    fn tell_up(&self) {
        let up = self.lock().up.len();
        self.tell(&TargetEvent::Runners { up });
    }
}

impl Supervisor {
    pub(super) fn new(options: Arc<ProcessOptions>, executable: PathBuf, tokio: Handle) -> Self {
        Self(Arc::new(Shared {
            options,
            executable,
            tokio,
            state: Mutex::default(),
            changed: Notify::new(),
            observers: Mutex::default(),
        }))
    }

    pub(super) fn up(&self) -> usize {
        self.0.lock().up.len()
    }

    pub(super) fn observe(&self, observer: Observer) {
        let up = self.up();
        observer(TargetEvent::Runners { up });
        self.0.observers.lock().unwrap_or_else(PoisonError::into_inner).push(observer);
    }

    pub(super) fn scale(&self, runners: usize) {
        let shared = &self.0;
        let mut state = shared.lock();
        state.wanted = runners.min(shared.options.max_runners);
        let surplus = self.surplus(&mut state);
        drop(state);
        self.reconcile();
        if surplus > 0 {
            shared.tell_up();
        }
    }

    /// Takes runners out that aren't wanted, idle ones first; how many.
    fn surplus(&self, state: &mut State) -> usize {
        let surplus = state.up.len().saturating_sub(state.wanted);
        state.up.sort_by_key(|runner| runner.calls.load(Ordering::Acquire));
        for runner in state.up.drain(..surplus) {
            runner.retire.notify_one();
        }
        surplus
    }

    /// Starts what is missing.
    fn reconcile(&self) {
        let shared = &self.0;
        let mut state = shared.lock();
        let there = state.up.len() + state.starting;
        let missing = match state.closed {
            true => 0,
            false => state.wanted.saturating_sub(there),
        };
        let not_before = state.not_before;
        state.starting += missing;
        drop(state);
        for _ in 0..missing {
            let supervisor = self.clone();
            shared.tokio.spawn(async move {
                if let Some(at) = not_before {
                    tokio::time::sleep_until(at.into()).await;
                }
                supervisor.start().await;
            });
        }
    }

    async fn start(&self) {
        let shared = &self.0;
        let wanted = {
            let mut state = shared.lock();
            let wanted = !state.closed && state.up.len() + state.starting <= state.wanted;
            match wanted {
                true => state.processes += 1,
                // Scaled down while this start waited for its time.
                false => state.starting -= 1,
            }
            wanted
        };
        if !wanted {
            shared.changed.notify_waiters();
            return;
        }
        let begun = Instant::now();
        match Runner::start(&shared.executable, &shared.options).await {
            Ok((runner, running)) => {
                tracing::info!(
                    target = shared.options.name,
                    runner = runner.id,
                    ms = begun.elapsed().as_millis() as u64,
                    "runner up"
                );
                let mut state = shared.lock();
                state.starting -= 1;
                state.failures = 0;
                state.last_failure = None;
                state.not_before = None;
                state.up.push(Arc::clone(&runner));
                // Scaled down, or shut down, while it started.
                if state.closed {
                    state.wanted = 0;
                }
                self.surplus(&mut state);
                drop(state);
                shared.tokio.spawn(self.clone().watch(runner, running));
                shared.tell_up();
            }
            Err(reason) => {
                tracing::warn!(target = shared.options.name, "no runner started: {reason}");
                let mut state = shared.lock();
                state.starting -= 1;
                state.processes -= 1;
                let backoff = BACKOFF.saturating_mul(1 << state.failures.min(10));
                state.failures = state.failures.saturating_add(1);
                state.not_before = Some(Instant::now() + backoff.min(LONGEST_BACKOFF));
                state.last_failure = Some(reason.clone());
                drop(state);
                shared.tell(&TargetEvent::StartFailed { reason });
                self.reconcile();
            }
        }
        shared.changed.notify_waiters();
    }

    /// Sees a runner to its end: by itself, because it isn't wanted, or because it has no work.
    async fn watch(self, runner: Arc<Runner>, mut running: Running) {
        let shared = &self.0;
        let crashed = loop {
            let last_used = *runner.last_used.lock().unwrap_or_else(PoisonError::into_inner);
            let idle_at = last_used + shared.options.idle;
            tokio::select! {
                // Its end is looked at first, to tell a crash from a wish.
                biased;
                status = running.child.wait() => break Some(status),
                () = runner.retire.notified() => break None,
                () = tokio::time::sleep_until(idle_at.into()) => {
                    let mut state = shared.lock();
                    let last_used =
                        *runner.last_used.lock().unwrap_or_else(PoisonError::into_inner);
                    let busy = runner.calls.load(Ordering::Acquire) > 0;
                    if busy || last_used.elapsed() < shared.options.idle {
                        // A call may take longer than the idle time.
                        if busy {
                            *runner.last_used.lock().unwrap_or_else(PoisonError::into_inner) =
                                Instant::now();
                        }
                        continue;
                    }
                    state.up.retain(|other| !Arc::ptr_eq(other, &runner));
                    state.wanted = state.wanted.min(state.up.len() + state.starting);
                    drop(state);
                    tracing::info!(target = shared.options.name, runner = runner.id, "idle");
                    shared.tell_up();
                    break None;
                }
            }
        };
        match crashed {
            Some(status) => {
                shared.lock().up.retain(|other| !Arc::ptr_eq(other, &runner));
                let status = status.map_or_else(|error| error.to_string(), |s| s.to_string());
                tracing::warn!(
                    target = shared.options.name,
                    runner = runner.id,
                    "a runner ended by itself ({status}){}",
                    said(&running.last_words)
                );
                shared.tell_up();
            }
            None => stop(&runner, &mut running, shared.options.grace).await,
        }
        // Killed or crashed, it could not do so itself.
        runner.remove_socket();
        drop(running);
        shared.lock().processes -= 1;
        self.reconcile();
        shared.changed.notify_waiters();
    }

    /// The runner that is preferred, or else the least busy one, with a place for one call. Waits for one that is being started, and
    /// starts the first if there is none. `Err`: the outcome of the call.
    pub(super) async fn lease(&self, prefer: Option<u64>) -> Result<Lease, Outcome<Response>> {
        let shared = &self.0;
        let mut waiting: Option<Waiting<'_>> = None;
        loop {
            let mut changed = std::pin::pin!(shared.changed.notified());
            // From here on, so that no change between looking and waiting is missed.
            changed.as_mut().enable();
            let start = {
                let mut state = shared.lock();
                if state.closed {
                    let reason = "the target is shutting down".to_owned();
                    return Err(Outcome::Failed { reason, retryable: false });
                }
                let calls = |runner: &&Arc<Runner>| runner.calls.load(Ordering::Acquire);
                let has_room = |runner: &&Arc<Runner>| calls(runner) < shared.options.slots;
                let preferred = state.up.iter().find(|runner| Some(runner.id.into()) == prefer);
                let least = || state.up.iter().min_by_key(calls).filter(has_room);
                if let Some(runner) = preferred.filter(has_room).or_else(least) {
                    let runner = Arc::clone(runner);
                    runner.calls.fetch_add(1, Ordering::AcqRel);
                    let first = !runner.used.swap(true, Ordering::AcqRel);
                    drop(state);
                    return Ok(Lease { runner, first, supervisor: self.clone() });
                }
                // Until the next try is due there is nothing to wait for.
                let held_back = state.not_before.is_some_and(|at| at > Instant::now());
                if let Some(reason) = &state.last_failure
                    && state.up.is_empty()
                    && held_back
                {
                    return Err(Outcome::Failed { reason: reason.clone(), retryable: true });
                }
                let start = state.up.is_empty() && state.starting == 0;
                if start {
                    state.wanted = state.wanted.max(1);
                }
                // Those who wait find a place when the runners that are being started are up.
                let places = state.starting.max(usize::from(start)) * shared.options.slots;
                if waiting.is_none() {
                    if state.waiting >= places {
                        return Err(Outcome::Overloaded { retry_after: None });
                    }
                    state.waiting += 1;
                    waiting = Some(Waiting(shared));
                } else if places == 0 {
                    drop(state);
                    return Err(Outcome::Overloaded { retry_after: None });
                }
                start
            };
            if start {
                self.reconcile();
            }
            changed.await;
        }
    }

    /// Takes out a runner whose connection broke, before its process is known to have ended: no
    /// other call should go there to be lost as well.
    pub(super) fn distrust(&self, runner: &Arc<Runner>) {
        let shared = &self.0;
        let mut state = shared.lock();
        let before = state.up.len();
        state.up.retain(|other| !Arc::ptr_eq(other, runner));
        let taken_out = state.up.len() < before;
        drop(state);
        if taken_out {
            runner.retire.notify_one();
            self.reconcile();
            shared.tell_up();
        }
    }

    /// Starts no more runners, and asks those that are up to end.
    pub(super) fn close(&self) {
        let shared = &self.0;
        {
            let mut state = shared.lock();
            if std::mem::replace(&mut state.closed, true) {
                return;
            }
            state.wanted = 0;
            self.surplus(&mut state);
        }
        shared.changed.notify_waiters();
        shared.tell_up();
    }

    /// Closes, and returns when every runner has ended.
    pub(super) async fn shutdown(&self) {
        self.close();
        let shared = &self.0;
        loop {
            let mut changed = std::pin::pin!(shared.changed.notified());
            changed.as_mut().enable();
            {
                let state = shared.lock();
                if state.processes == 0 {
                    return;
                }
            }
            changed.await;
        }
    }
}

/// Lets a runner finish its calls, then ends it: politely, and if that takes too long, for good.
async fn stop(runner: &Runner, running: &mut Running, grace: Duration) {
    let drained = async {
        while runner.calls.load(Ordering::Acquire) > 0 {
            runner.drained.notified().await;
        }
    };
    let _ = tokio::time::timeout(grace, drained).await;
    // The number stays the runner's until it has been waited for, which happens below.
    if let Some(pid) = running.child.id().and_then(|id| Pid::from_raw(id as i32)) {
        let _ = kill_process(pid, Signal::TERM);
    }
    if tokio::time::timeout(grace, running.child.wait()).await.is_err() {
        let _ = running.child.kill().await;
    }
}
