//! Watches a run for the command line: live view or log lines, metrics, time series.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use overspill::metric_definitions;
use overspill::pipeline::progress::{Observer, Progress};
use overspill::pipeline::timeline::Timeline;
use overspill::pipeline::view::{self, LiveView};

/// How often a line goes to the log where there is no live view.
const LOG_EVERY: Duration = Duration::from_secs(5);

/// How the state of the run is shown.
pub(super) enum Show {
    /// Drawn on the terminal.
    Live(LiveView),
    /// As lines of the log.
    Log,
    /// Not at all.
    Nothing,
}

/// Hands each progress to whoever wants it.
pub(super) struct Watcher {
    state: Mutex<State>,
}

struct State {
    show: Show,
    publish: bool,
    timeline: Option<Timeline>,
    /// The first error of the time series.
    timeline_error: Option<io::Error>,
    before: Progress,
    logged: Progress,
}

impl Watcher {
    pub(super) fn new(show: Show, publish: bool, timeline: Option<Timeline>) -> Self {
        let state = State {
            show,
            publish,
            timeline,
            timeline_error: None,
            before: Progress::default(),
            logged: Progress::default(),
        };
        Self { state: Mutex::new(state) }
    }

    /// Takes the view away and completes the time series.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Show::Live(view) = &mut state.show {
            view.clear();
        }
        match (state.timeline_error, state.timeline) {
            (Some(error), _) => Err(error),
            (None, Some(timeline)) => timeline.finish(),
            (None, None) => Ok(()),
        }
    }
}

impl Observer for Watcher {
    fn progress(&self, progress: &Progress) {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        if state.publish {
            metric_definitions::publish(&state.before, progress);
        }
        if let Some(timeline) = &mut state.timeline
            && state.timeline_error.is_none()
            && let Err(error) = timeline.record(progress)
        {
            tracing::error!(%error, "the time series can't be written on");
            state.timeline_error = Some(error);
        }
        match &mut state.show {
            Show::Live(view) => view.draw(&state.before, progress),
            Show::Log if progress.at.since(state.logged.at) >= LOG_EVERY => {
                view::log(&state.logged, progress);
                state.logged = progress.clone();
            }
            Show::Log | Show::Nothing => {}
        }
        state.before = progress.clone();
    }
}
