//! The clock of a run, and the signal that ends it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::burst::Time;

/// Counts the time since a run began. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    start: Instant,
}

impl RunClock {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self::started_at(Instant::now())
    }

    /// A clock that showed zero at `start`.
    pub fn started_at(start: Instant) -> Self {
        Self { start }
    }

    /// The time since the run began.
    pub fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// The instant at which the clock shows `time`.
    pub fn instant(&self, time: Time) -> Instant {
        self.start + Duration::from_micros(time.0)
    }
}

/// What the clock on the wall shows, in milliseconds since 1970-01-01T00:00:00 UTC.
pub fn wall_clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Tells a source to stop. Clones share the signal; once given it stays.
#[derive(Clone, Debug, Default)]
pub struct StopSignal {
    shared: Arc<(Mutex<bool>, Condvar)>,
}

impl StopSignal {
    /// A signal that has not been given.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the signal, and wakes everyone who sleeps on it.
    pub fn stop(&self) {
        *self.shared.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.1.notify_all();
    }

    /// Whether the signal has been given.
    pub fn is_stopped(&self) -> bool {
        *self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps for `span` or until the signal is given; says whether it was given.
    pub fn sleep(&self, span: Duration) -> bool {
        let stopped = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (stopped, _) = self
            .shared
            .1
            .wait_timeout_while(stopped, span, |stopped| !*stopped)
            .unwrap_or_else(PoisonError::into_inner);
        *stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_wakes_when_the_signal_is_given() {
        let signal = StopSignal::new();
        assert!(!signal.sleep(Duration::from_millis(1)));
        let sleeper = std::thread::spawn({
            let signal = signal.clone();
            move || {
                let start = Instant::now();
                (signal.sleep(Duration::from_secs(60)), start.elapsed())
            }
        });
        signal.stop();
        let (stopped, slept) = sleeper.join().expect("the sleeper ends");
        assert!(stopped && slept < Duration::from_secs(30));
        assert!(signal.is_stopped());
    }
}
