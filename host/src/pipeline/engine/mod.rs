//! The engine: turns a checked pipeline into threads and channels, and watches them to the end.
//!
//! ```text
//! source threads -> operators' drivers -> operators' drivers ... -> sink threads
//!                    |  \
//!                    |   offload thread (one for the run) -> targets
//!                    local lanes (a thread and an instance each)
//! ```

mod aggregate;
mod bottleneck;
mod ends;
mod failure;
mod flatmap_stage;
mod held;
mod keyed;
mod local_lane;
mod offload;
mod ports;
mod prepared;
mod processor_time;
mod stage_progress;
mod targets;
mod threads;
mod waiting;
mod wiring;
mod work;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::RecvTimeoutError;
use overspill_operator_runtime::{Runtime, RuntimeOptions};

pub use self::failure::EngineError;

use self::bottleneck::BottleneckWatch;
use self::ends::{SharedSink, SinkStage, SourceCounts, SourceStage};
use self::offload::OffloadThread;
use self::ports::Inputs;
use self::prepared::{Parts, Place, Prepared};
use self::stage_progress::Published;
use self::threads::Threads;
use self::wiring::Wiring;
use super::audit::Audit;
use super::dead_letters::DeadLetters;
use super::definition::{Pipeline, ReaderId, StageId};
use super::progress::{Observer, Progress};
use super::run_clock::{RunClock, StopSignal};
use super::source::Backlog;
use super::summary::Report;
use super::trace::Ledger;
use crate::burst::{BurstTimes, Time};

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
    let options = RuntimeOptions::default();
    let cache = options.cache_dir.clone();
    let runtime = Runtime::new(options)?;
    let offload = match pipeline.operators.iter().any(prepared::may_burst) {
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
    let run = Run::start(pipeline, &prepared, offload.as_ref(), clock, stop)?;
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
    pipeline: &'a Pipeline,
    clock: RunClock,
    threads: Threads,
    dead_letters: DeadLetters,
    ledger: Ledger,
    sources: Vec<(Arc<SourceCounts>, Backlog)>,
    operators: Vec<Arc<Published>>,
    sinks: Vec<Arc<SharedSink>>,
    bottleneck: BottleneckWatch,
    /// The most records that waited at once.
    peak: u64,
}

impl<'a> Run<'a> {
    fn start(
        pipeline: &'a Pipeline,
        prepared: &[Prepared],
        offload: Option<&OffloadThread>,
        clock: RunClock,
        stop: &StopSignal,
    ) -> Result<Self, EngineError> {
        let mut wiring = Wiring::new(pipeline, prepared)?;
        let dead_letters = DeadLetters::open(pipeline.dead_letters.as_deref())?;
        let ordered = prepared.iter().all(Prepared::keeps_order);
        let rates = pipeline.sources.iter().filter_map(|source| source.rate.as_ref());
        let spikes: Vec<_> = rates.flat_map(|rate| rate.spike_times()).collect();
        let spike = spikes.iter().map(|spike| spike.start).min();
        let audit = Audit::new(pipeline.sources.len(), spikes, ordered);
        let ledger = Ledger::new(clock, audit);
        // All ends are opened before anything runs, so that what fails here has moved no record.
        let opened = pipeline.sources.iter().map(|source| super::source::open(source, clock));
        let opened: Vec<_> = opened.collect::<Result<_, _>>()?;
        let open_sinks: Vec<_> =
            pipeline.sinks.iter().map(super::sink::open).collect::<Result<_, _>>()?;
        let mut threads = Threads::new();
        let mut operators = Vec::new();
        for (number, operator) in prepared.iter().enumerate() {
            let parts = Parts {
                clock,
                inputs: wiring.inputs(ReaderId::Operator(number)),
                outputs: wiring.outputs(StageId::Operator(number)),
                dead_letters: dead_letters.clone(),
                spike,
            };
            let stage = operator.stage(parts, offload)?;
            operators.push(stage.published());
            threads.start(operator.name(), move || stage.run())?;
        }
        let mut sinks = Vec::new();
        for (number, (definition, sink)) in pipeline.sinks.iter().zip(open_sinks).enumerate() {
            let shared = Arc::new(SharedSink::default());
            let stage = SinkStage {
                sink,
                inputs: Inputs::new(wiring.inputs(ReaderId::Sink(number))),
                shared: Arc::clone(&shared),
                clock,
            };
            sinks.push(shared);
            threads.start(&definition.name, move || stage.run())?;
        }
        let mut sources = Vec::new();
        for (number, (definition, source)) in pipeline.sources.iter().zip(opened).enumerate() {
            let (counts, backlog) = (Arc::new(SourceCounts::default()), source.backlog());
            let stage = SourceStage {
                name: definition.name.clone(),
                number,
                source,
                watermark: definition.watermark,
                outputs: wiring.outputs(StageId::Source(number)).into_iter().flatten().collect(),
                ledger: ledger.clone(),
                dead_letters: dead_letters.clone(),
                counts: Arc::clone(&counts),
            };
            sources.push((counts, backlog));
            let stop = stop.clone();
            threads.start(&definition.name, move || stage.run(&stop))?;
        }
        Ok(Self {
            pipeline,
            clock,
            threads,
            dead_letters,
            ledger,
            sources,
            operators,
            sinks,
            bottleneck: BottleneckWatch::new(pipeline),
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
        let mut report = self.report(progress);
        self.bottleneck.sum_up(&mut report.progress);
        self.threads.join();
        let flushed = self.dead_letters.flush();
        if let Some(error) = failure {
            return Err(error);
        }
        flushed?;
        Ok(report)
    }

    fn waiting_records(&self) -> u64 {
        let now = self.clock.now();
        let backlogs = self.sources.iter().map(|(_, backlog)| backlog.records(now));
        let queues = self.operators.iter().map(|operator| operator.queue_records());
        backlogs.chain(queues).sum()
    }

    fn progress(&mut self) -> Progress {
        let now = self.clock.now();
        let sources = self.pipeline.sources.iter().zip(&self.sources);
        let sinks = self.pipeline.sinks.iter().zip(&self.sinks);
        let mut progress = Progress {
            at: now,
            done_records: self.ledger.records(),
            latency: self.ledger.take_window(),
            sources: sources
                .map(|(definition, (counts, backlog))| {
                    counts.progress(&definition.name, backlog, now)
                })
                .collect(),
            operators: self.operators.iter().map(|operator| operator.progress()).collect(),
            sinks: sinks.map(|(definition, sink)| sink.progress(&definition.name)).collect(),
        };
        self.bottleneck.look(now, &mut progress);
        progress
    }

    fn report(&self, progress: Progress) -> Report {
        let times: Vec<_> = self.sinks.iter().map(|sink| sink.times()).collect();
        let last_output = times.iter().map(|(_, last)| *last).max().unwrap_or_default();
        Report {
            audit: self.ledger.report(progress.source_records()),
            burst: self.burst_times(),
            peak_queue_records: self.peak,
            wall: last_output.since(Time::default()),
            first_output: times.iter().filter_map(|(first, _)| *first).min(),
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
