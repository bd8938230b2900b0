//! The engine: turns a checked pipeline into threads and channels, and watches them to the end.
//!
//! ```text
//! source thread -> operator's driver -> operator's driver ... -> sink thread
//!                   |  \
//!                   |   offload thread (one for the run) -> targets
//!                   local lanes (a thread and an instance each)
//! ```

mod chain;
mod ends;
mod failure;
mod local_lane;
mod offload;
mod operator;
mod processor_time;
mod stage;
mod stage_progress;
mod targets;
mod threads;
mod work;

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use overspill_operator_runtime::{Runtime, RuntimeOptions};

pub use self::failure::EngineError;

use self::chain::Chain;
use self::ends::{SharedSink, SourceCounts, drive_sink, drive_source};
use self::offload::OffloadThread;
use self::operator::{Place, Prepared};
use self::stage_progress::Published;
use self::threads::Threads;
use super::audit::Audit;
use super::dead_letters::DeadLetters;
use super::definition::Pipeline;
use super::envelope::Envelope;
use super::progress::{Observer, Progress};
use super::run_clock::{RunClock, StopSignal};
use super::source::Backlog;
use super::summary::Report;
use crate::burst::{BurstTimes, Time};

/// How many batches may wait between two stages. Few: what waits should wait in the queue of an
/// operator, where the controller sees it.
const CHANNEL_BATCHES: usize = 4;

/// How often the queues are looked at for their peak.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How often the observer is told.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// Runs a pipeline until its source has ended, or `stop` is given, and all its records are
/// through.
///
/// # Errors
/// When a stage can't be set up or fails. Records that were read and not written by then have
/// reached no sink; nothing is written twice.
pub fn run(
    pipeline: &Pipeline,
    observer: &dyn Observer,
    stop: &StopSignal,
) -> Result<Report, EngineError> {
    let cpu_before = processor_time::of_this_process();
    let chain = Chain::of(pipeline)?;
    let options = RuntimeOptions::default();
    let cache = options.cache_dir.clone();
    let runtime = Runtime::new(options)?;
    let offload = match pipeline.operators.iter().any(operator::may_burst) {
        true => Some(OffloadThread::start().map_err(|cause| EngineError::Thread {
            what: "cannot start the thread that talks to targets".to_owned(),
            cause: cause.to_string(),
        })?),
        false => None,
    };
    let mut prepared = Vec::new();
    for definition in &pipeline.operators {
        let place = Place { runtime: &runtime, cache: cache.as_deref(), offload: offload.as_ref() };
        prepared.push(Prepared::new(definition, pipeline, place)?);
    }
    // Nothing is due before there is something to process it: compiling a component is no latency.
    let clock = RunClock::start();
    let run = Run::start(chain, &prepared, offload.as_ref(), clock, stop)?;
    let watched = run.watch(observer, stop);
    if let Some(offload) = offload {
        for target in prepared.iter().flat_map(Prepared::targets) {
            offload.handle().block_on(target.shutdown());
        }
        offload.stop();
    }
    let mut report = watched?;
    report.cpu = processor_time::of_this_process().saturating_sub(cpu_before);
    report.stopped = stop.is_stopped();
    Ok(report)
}

/// A pipeline at work.
struct Run<'a> {
    chain: Chain<'a>,
    clock: RunClock,
    threads: Threads,
    backlog: Backlog,
    dead_letters: DeadLetters,
    source: Arc<SourceCounts>,
    operators: Vec<Arc<Published>>,
    sink: Arc<SharedSink>,
    /// The most records that waited at once.
    peak: u64,
}

impl<'a> Run<'a> {
    fn start(
        chain: Chain<'a>,
        prepared: &[Prepared],
        offload: Option<&OffloadThread>,
        clock: RunClock,
        stop: &StopSignal,
    ) -> Result<Self, EngineError> {
        let dead_letters = DeadLetters::open(chain.pipeline.dead_letters.as_deref())?;
        let source = super::source::open(chain.source, clock)?;
        let sink = super::sink::open(chain.sink)?;
        let rate = chain.source.rate.as_ref();
        let spikes = rate.map(|rate| rate.spike_times()).unwrap_or_default();
        let spike = spikes.iter().map(|spike| spike.start).min();
        let mut threads = Threads::new();
        let backlog = source.backlog();
        let (output, mut input) = bounded::<Envelope>(CHANNEL_BATCHES);
        let counts = Arc::new(SourceCounts::default());
        threads.start(&chain.source.name, {
            let (name, counts) = (chain.source.name.clone(), Arc::clone(&counts));
            let (dead_letters, stop) = (dead_letters.clone(), stop.clone());
            move || drive_source(&name, source, &output, &dead_letters, &counts, &stop)
        })?;
        let mut operators = Vec::new();
        for operator in prepared {
            let (output, next_input) = bounded(CHANNEL_BATCHES);
            let stage =
                operator.stage(clock, input, output, dead_letters.clone(), offload, spike)?;
            operators.push(Arc::clone(&stage.published));
            threads.start(operator.name(), move || stage.run())?;
            input = next_input;
        }
        let shared = SharedSink::new(Audit::new(spikes));
        threads.start(&chain.sink.name, {
            let shared = Arc::clone(&shared);
            move || drive_sink(sink, &input, &shared, clock)
        })?;
        Ok(Self {
            chain,
            clock,
            threads,
            backlog,
            dead_letters,
            source: counts,
            operators,
            sink: shared,
            peak: 0,
        })
    }

    /// Waits for all threads, and tells the observer how it goes.
    fn watch(mut self, observer: &dyn Observer, stop: &StopSignal) -> Result<Report, EngineError> {
        let mut failure: Option<EngineError> = None;
        let mut running = self.threads.started();
        let mut next_tell = Time::default();
        while running > 0 {
            match self.threads.reports().recv_timeout(LOOK_EVERY) {
                Ok(Ok(())) => running -= 1,
                Ok(Err(error)) => {
                    running -= 1;
                    stop.stop();
                    if failure.as_ref().is_none_or(EngineError::is_consequence) {
                        failure = Some(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.peak = self.peak.max(self.waiting_records());
            if self.clock.now() >= next_tell {
                next_tell = self.clock.now() + TELL_EVERY;
                observer.progress(&self.progress());
            }
        }
        let progress = self.progress();
        observer.progress(&progress);
        let report = self.report(progress);
        self.threads.join();
        let flushed = self.dead_letters.flush();
        if let Some(error) = failure {
            return Err(error);
        }
        flushed?;
        Ok(report)
    }

    fn waiting_records(&self) -> u64 {
        let queues = self.operators.iter().map(|operator| operator.queue_records());
        self.backlog.records(self.clock.now()) + queues.sum::<u64>()
    }

    fn progress(&self) -> Progress {
        let now = self.clock.now();
        let sink = self.sink.progress(&self.chain.sink.name);
        Progress {
            at: now,
            done_records: sink.source_records,
            sources: vec![self.source.progress(&self.chain.source.name, &self.backlog, now)],
            operators: self.operators.iter().map(|operator| operator.progress()).collect(),
            sinks: vec![sink],
        }
    }

    fn report(&self, progress: Progress) -> Report {
        let (audit, first_output, last_output) = self.sink.report(progress.source_records());
        Report {
            audit,
            burst: self.burst_times(),
            peak_queue_records: self.peak,
            wall: last_output.since(Time::default()),
            first_output,
            progress,
            ..Report::default()
        }
    }

    /// From the first to the last of all operators' bursts.
    fn burst_times(&self) -> BurstTimes {
        let all: Vec<_> = self.operators.iter().map(|operator| operator.burst_times()).collect();
        BurstTimes {
            onset: all.iter().filter_map(|burst| burst.onset).min(),
            first_offload: all.iter().filter_map(|burst| burst.first_offload).min(),
            first_remote_result: all.iter().filter_map(|burst| burst.first_remote_result).min(),
            last_offload: all.iter().filter_map(|burst| burst.last_offload).max(),
            ended: all.iter().filter_map(|burst| burst.ended).max(),
            bursts: all.iter().map(|burst| burst.bursts).sum(),
        }
    }
}
