//! Watches the operators of a run for the one that holds the others up.

use std::time::Duration;

use crate::burst::{QueueHistory, StageLoad, Time, find_bottleneck};
use crate::pipeline::definition::{OperatorDefinition, Pipeline};
use crate::pipeline::progress::Progress;

/// How long the log waits before it names another: at the edge of an overload they change often.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// A latency target for operators that never burst, against which a wait is measured.
const WITHOUT_TARGET: Duration = Duration::from_secs(1);

/// Follows the queues of all operators.
pub(super) struct BottleneckWatch {
    histories: Vec<QueueHistory>,
    targets: Vec<Duration>,
    /// How long each operator has been the bottleneck, and why it was the last time.
    times: Vec<(Duration, String)>,
    /// The operator that is it now, and since when it is known to be.
    now: Option<(usize, Time)>,
    /// The operator that the log named last, and when.
    logged: (Option<usize>, Time),
}

impl BottleneckWatch {
    pub(super) fn new(pipeline: &Pipeline) -> Self {
        let target = |operator: &OperatorDefinition| {
            operator.burst.as_ref().map_or(WITHOUT_TARGET, |burst| burst.latency_target)
        };
        Self {
            histories: pipeline.operators.iter().map(|_| QueueHistory::new()).collect(),
            targets: pipeline.operators.iter().map(target).collect(),
            times: vec![(Duration::ZERO, String::new()); pipeline.operators.len()],
            now: None,
            logged: (None, Time::default()),
        }
    }

    /// Takes note of how the operators stand, and writes into the progress which of them is the
    /// bottleneck. Changes are logged, once a second at the most.
    pub(super) fn look(&mut self, now: Time, progress: &mut Progress) {
        for (history, operator) in self.histories.iter_mut().zip(&progress.operators) {
            history.note(now, operator.queue_records);
        }
        let loads: Vec<StageLoad<'_>> = progress
            .operators
            .iter()
            .zip(&self.histories)
            .zip(&self.targets)
            .map(|((operator, history), &latency_target)| StageLoad {
                name: &operator.name,
                queued: operator.queue_records,
                capacity: operator.queue_capacity_records,
                history,
                output_blocked: operator.output_blocked_share,
                local_busy: operator.busy_share,
                predicted_wait: operator.predicted_wait,
                latency_target,
            })
            .collect();
        let found = find_bottleneck(&loads);
        if let Some((operator, since)) = self.now.take() {
            self.times[operator].0 += now.since(since);
        }
        let place = found.as_ref().map(|found| found.stage);
        let (logged, at) = self.logged;
        if place != logged && (at == Time::default() || now.since(at) >= LOG_EVERY) {
            self.logged = (place, now);
            match &found {
                Some(found) => tracing::info!(at_ms = now.0 / 1_000, "bottleneck: {}", found.why),
                None => tracing::info!(at_ms = now.0 / 1_000, "no operator is a bottleneck now"),
            }
        }
        if let Some(found) = found {
            self.now = Some((found.stage, now));
            self.times[found.stage].1.clone_from(&found.why);
            progress.operators[found.stage].bottleneck = Some(found.why);
        }
    }

    /// Writes into the progress at the end of a run which operators have been the bottleneck for a
    /// tenth of it or more.
    pub(super) fn sum_up(&self, progress: &mut Progress) {
        let least = progress.at.since(Time::default()) / 10;
        for (operator, (time, why)) in progress.operators.iter_mut().zip(&self.times) {
            operator.bottleneck =
                (*time > least).then(|| format!("for {:.1} s; {why}", time.as_secs_f64()));
        }
    }
}
