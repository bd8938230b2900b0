//! The threads of a run: named, and watched, so that none can die unnoticed.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::failure::EngineError;

/// Starts threads and learns how each ended.
pub(super) struct Threads {
    ended: Sender<Result<(), EngineError>>,
    reports: Receiver<Result<(), EngineError>>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    pub(super) fn new() -> Self {
        let (ended, reports) = unbounded();
        Self { ended, reports, handles: Vec::new() }
    }

    /// Runs `work` on a thread called `name`.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub(super) fn start(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<(), EngineError> + Send + 'static,
    ) -> Result<(), EngineError> {
        let ended = self.ended.clone();
        let thread = name.to_owned();
        let body = move || {
            let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
                Err(EngineError::Thread {
                    what: format!("the thread of `{thread}` died, which is a fault of Overspill"),
                    cause: panic_message(panic.as_ref()),
                })
            });
            // The engine listens as long as any of its threads lives.
            let _ = ended.send(result);
        };
        let handle =
            std::thread::Builder::new().name(name.to_owned()).spawn(body).map_err(|cause| {
                EngineError::Thread {
                    what: format!("cannot start the thread of `{name}`"),
                    cause: cause.to_string(),
                }
            })?;
        self.handles.push(handle);
        Ok(())
    }

    /// How threads end, one report a thread.
    pub(super) fn reports(&self) -> &Receiver<Result<(), EngineError>> {
        &self.reports
    }

    /// How many were started.
    pub(super) fn started(&self) -> usize {
        self.handles.len()
    }

    /// Waits until all have ended.
    pub(super) fn join(self) {
        for handle in self.handles {
            // A panic has been caught and reported inside the thread.
            let _ = handle.join();
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
