//! Timers that set timers, for ever.

use overspill_operator_runtime::Limits;
use overspill_protocol::Cause;
use overspill_protocol::keyed::Timer;

use crate::common::keyed::{fresh, outputs, rejected_timers, run, step, timers};

const GUEST: &str = "hostile-timer-loop";

/// One key whose timers do what `how` says, from 0 on; then the watermark goes to `then`.
fn loops(how: &str, then: i64) -> overspill_operator_runtime::KeyedRun {
    let steps = vec![step(-10, -10, &[(0, &[how])]), step(-10, then, &[])];
    run(GUEST, Limits::default(), &fresh(&["key"], steps))
}

#[test]
fn a_timer_that_sets_itself_again_is_a_broken_promise() {
    for how in ["back", "back 5"] {
        let run = loops(how, 10);
        assert_eq!(rejected_timers(&run.answer), [(0, Timer::event(0), Cause::Contract)], "{how}");
        let reason = &run.answer.rejected_timers()[0].reason;
        let said = "when the one for 0 fires: it would fire at once, expected a later time";
        assert!(reason.contains(said), "{reason}");
        assert_eq!(outputs(&run.answer), []);
    }
}

#[test]
fn a_timer_that_goes_on_stops_at_the_watermark() {
    let run = loops("on 3", 10);
    assert_eq!(rejected_timers(&run.answer), []);
    let values: Vec<_> = outputs(&run.answer).into_iter().map(|(_, _, value)| value).collect();
    assert_eq!(values, ["0", "3", "6", "9"]);
    assert_eq!(timers(run.answer.set(), 0), [Timer::event(12)]);
}

#[test]
fn a_timer_that_goes_on_for_ever_is_stopped() {
    // The end of a stream is the greatest watermark.
    let run = loops("on 1", i64::MAX);
    let last = Timer::event(100_001);
    assert_eq!(rejected_timers(&run.answer), [(0, last, Cause::Contract)]);
    let reason = &run.answer.rejected_timers()[0].reason;
    assert!(reason.contains("more than 100000 others that were due at once"), "{reason}");
    assert_eq!(timers(run.answer.set(), 0), []);
}
