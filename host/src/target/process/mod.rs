//! Runners on this machine, started as they are wanted.
//!
//! ```text
//! scale, invoke -> supervisor: wanted, up --starts, retires--> runner: child process, connections
//!                       |                                        |   stdin: token, then a lifeline
//!                       +--> observers                           +-- socket in a private folder
//! ```
//!
//! A runner can't outlive its host: it ends when its standard input closes, which the kernel sees
//! to however the host ends. One that crashes takes its calls with it: they are reported as lost
//! at once, and the next is started if it is still wanted.

mod locate;
mod runner;
mod supervisor;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use overspill_protocol::{Compression, Invocation, Request};

use self::supervisor::{Lease, Supervisor};
use super::answer::{self, Asked};
use super::attempt::{Ended, Notes, until_deadline};
use super::{Answered, BoxFuture, Call, Module, Observer, Target, TargetError};
use crate::burst::Outcome;

/// The least that an answer may have: errors are text, whatever the ceiling for replies is.
const SMALLEST_ANSWER: usize = 16 << 10;

/// What a [`Process`] target needs to know.
#[derive(Clone, Debug)]
pub struct ProcessOptions {
    /// The target's name in the pipeline file.
    pub name: String,
    /// The runner's executable. `None`: what `OVERSPILL_RUNNER` names, or `overspill-runner` in
    /// the folder of this program.
    pub runner: Option<PathBuf>,
    /// The component that the runners may run.
    pub module: Module,
    /// The folder for compiled components, shared with the host, so that a runner finds what the
    /// host has compiled.
    pub cache: Option<PathBuf>,
    /// How many runners there may be.
    pub max_runners: usize,
    /// How many invocations a runner works on at a time.
    pub threads: usize,
    /// How many calls a runner has at a time. One more than `threads` keeps it busy while the next
    /// batch is on its way.
    pub slots: usize,
    /// How long a runner may be without work before it is stopped.
    pub idle: Duration,
    /// How long a runner may take to start.
    pub start_timeout: Duration,
    /// How long a runner that is stopped may take to finish its calls.
    pub grace: Duration,
    /// The memory that one instance of the component may take, in bytes.
    pub guest_memory: usize,
    /// How long one call of the component may take.
    pub guest_deadline: Duration,
    /// The memory of a runner for states of keys that it has answered, in bytes.
    pub held_states: usize,
    /// The largest message that it takes and gives, in bytes.
    pub max_payload: usize,
}

impl ProcessOptions {
    /// The usual values, for a target called `name` that runs `module`.
    pub fn new(name: impl Into<String>, module: Module) -> Self {
        Self {
            name: name.into(),
            runner: None,
            module,
            cache: None,
            max_runners: 1,
            threads: 1,
            slots: 2,
            idle: Duration::from_secs(15),
            start_timeout: Duration::from_secs(10),
            grace: Duration::from_secs(5),
            guest_memory: 256 << 20,
            guest_deadline: Duration::from_secs(10),
            held_states: 64 << 20,
            max_payload: 64 << 20,
        }
    }
}

/// Runners on this machine, started as they are wanted.
pub struct Process {
    options: Arc<ProcessOptions>,
    supervisor: Supervisor,
}

impl Process {
    /// A target whose runners are started from now on, on the tokio runtime that this is called
    /// in. None is started yet.
    ///
    /// # Errors
    /// When the runner's executable isn't there, an option makes no sense, or there is no tokio
    /// runtime.
    pub fn new(options: ProcessOptions) -> Result<Self, TargetError> {
        let target = || options.name.clone();
        for (option, found) in [
            ("max_runners", options.max_runners),
            ("threads", options.threads),
            ("slots", options.slots),
            ("max_payload", options.max_payload),
        ] {
            if found == 0 {
                let expected = "at least 1";
                return Err(TargetError::Option { target: target(), option, found, expected });
            }
        }
        let executable = locate::runner(options.runner.as_deref())
            .map_err(|looked| TargetError::NoRunner { target: target(), looked })?;
        let tokio = tokio::runtime::Handle::try_current()
            .map_err(|_| TargetError::NoTokio { target: target() })?;
        let options = Arc::new(options);
        let supervisor = Supervisor::new(Arc::clone(&options), executable, tokio);
        Ok(Self { options, supervisor })
    }

    async fn attempt(&self, call: &Call, notes: &Notes) -> Ended {
        let waited = match self.supervisor.lease(call.prefer).await {
            Ok(leased) => leased,
            Err(outcome) => return outcome.into(),
        };
        let Lease { runner, first, .. } = &waited;
        let preferred = Some(runner.id.into()) == call.prefer;
        let invocation = match &call.with_states {
            Some(work) if !preferred => {
                Cow::Owned(Invocation { work: work.clone(), ..call.invocation.clone() })
            }
            _ => Cow::Borrowed(&call.invocation),
        };
        if !preferred && lacks_states(&invocation.work) {
            // It was left out what another runner has: to ask would cost a trip for nothing.
            return Ended { first: *first, ..Outcome::NeedState.into() };
        }
        if call.with_module
            && let Err(outcome) = runner.ensure_uploaded(&self.options.module).await
        {
            if matches!(outcome, Outcome::Lost { .. }) {
                self.supervisor.distrust(runner);
            }
            return Ended { first: *first, ..outcome.into() };
        }
        // On one machine the bytes cost nothing to carry.
        let message = invocation.encode(Compression::None);
        notes.sends(message.len());
        let asked = Asked::from(&*invocation);
        let limit = asked.max_reply.max(SMALLEST_ANSWER);
        match runner.invoke(message, limit).await {
            Ok(received) => Ended {
                meaning: answer::to_invocation(asked, &received),
                bytes_in: received.body.len() as u64,
                first: *first,
                runner: Some(runner.id.into()),
            },
            Err(outcome) => {
                if matches!(outcome, Outcome::Lost { .. }) {
                    self.supervisor.distrust(runner);
                }
                Ended { first: *first, ..outcome.into() }
            }
        }
    }
}

/// Whether states were left out of some work.
fn lacks_states(work: &Request) -> bool {
    matches!(work, Request::Keyed(shipment) if shipment.held_keys().next().is_some())
}

impl Drop for Process {
    fn drop(&mut self) {
        // Runners that nobody can call any more would wait for their idle time.
        self.supervisor.close();
    }
}

impl Target for Process {
    fn name(&self) -> &str {
        &self.options.name
    }

    fn max_payload(&self) -> usize {
        self.options.max_payload
    }

    fn invoke(&self, call: Call) -> BoxFuture<'_, Answered> {
        Box::pin(async move {
            let notes = Notes::default();
            until_deadline(&call, &notes, self.attempt(&call, &notes)).await
        })
    }

    fn scale(&self, runners: usize) {
        self.supervisor.scale(runners);
    }

    fn runners_up(&self) -> usize {
        self.supervisor.up()
    }

    fn observe(&self, observer: Observer) {
        self.supervisor.observe(observer);
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.supervisor.shutdown())
    }
}
