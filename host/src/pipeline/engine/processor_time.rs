//! Processor time, as the operating system counts it.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time that this thread has used since it began.
pub(super) fn of_this_thread() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// The processor time that this process has used since it began, all threads.
pub(super) fn of_this_process() -> Duration {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    // Both clocks count up from zero, so neither part is negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
