//! The thread that moves the engine's epoch, by which calls are timed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wasmtime::Engine;

use crate::RuntimeError;

/// Moves an engine's epoch by one each tick, until it is dropped.
///
/// A call may run up to two ticks past its deadline: the tick under way when it began doesn't
/// count, and it is stopped when the last one ends.
pub(crate) struct Ticker {
    tick: Duration,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the thread.
    pub(crate) fn start(engine: &Engine, tick: Duration) -> Result<Self, RuntimeError> {
        // A tick of zero would spin.
        let tick = tick.max(Duration::from_micros(100));
        let stop = Arc::new(AtomicBool::new(false));
        let (engine, stopped) = (engine.clone(), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("overspill-epoch".to_owned())
            .spawn(move || turn(&engine, tick, &stopped))
            .map_err(|source| RuntimeError::Thread { source })?;
        Ok(Self { tick, stop, thread: Some(thread) })
    }

    /// How many ticks from now a call that may take `span` is stopped.
    pub(crate) fn ticks(&self, span: Duration) -> u64 {
        let ticks = span.as_nanos().div_ceil(self.tick.as_nanos());
        // The tick under way is already partly over. The ceiling keeps the epoch from wrapping.
        u64::try_from(ticks).unwrap_or(u64::MAX).min(u64::MAX / 4) + 1
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread can't panic; if it has, there is nothing left to wait for.
            drop(thread.join());
        }
    }
}

fn turn(engine: &Engine, tick: Duration, stop: &AtomicBool) {
    let mut due = Instant::now() + tick;
    while !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now < due {
            std::thread::park_timeout(due - now);
            continue;
        }
        // On a busy machine the thread wakes late: it makes up for the ticks that it missed, so
        // that a deadline of ten seconds stays one of ten seconds.
        while due <= now {
            engine.increment_epoch();
            due += tick;
        }
    }
}
