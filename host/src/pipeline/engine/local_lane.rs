//! A local lane: a thread that owns an instance of the component and runs one job after another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use overspill_operator_runtime::{Call, Instance, Pool};
use overspill_protocol::{Request, Response};

use super::processor_time;
use super::work::{OperatorAnswer, OperatorWork};
use crate::burst::{AttemptId, Event, Outcome};

/// What a lane is given to do.
pub(super) struct Job {
    /// What the report will name.
    pub(super) attempt: AttemptId,
    /// The records.
    pub(super) work: OperatorWork,
}

/// The driver's end of a lane. Dropping it ends the thread after the jobs it was given.
pub(super) struct LocalLane {
    jobs: Sender<Job>,
    memory: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

/// How a lane runs.
#[derive(Clone)]
pub(super) struct LaneOptions {
    /// The operator's name, for the thread's.
    pub(super) operator: String,
    /// Where instances come from.
    pub(super) pool: Pool,
    /// The most records per second; absent: as many as it can.
    pub(super) max_rate: Option<f64>,
}

impl LocalLane {
    /// Starts the thread. Reports go to `events`.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub(super) fn start(
        number: usize,
        options: LaneOptions,
        events: Sender<Event<OperatorAnswer>>,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = unbounded();
        let memory = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&memory);
        let thread = std::thread::Builder::new()
            .name(format!("{} lane {number}", options.operator))
            .spawn(move || Worker::new(options, seen).work(&queue, &events))?;
        Ok(Self { jobs, memory, thread })
    }

    /// Queues a job.
    ///
    /// # Panics
    /// When the lane's thread has died, which no job can cause: a guest's fault is an answer.
    pub(super) fn give(&self, job: Job) {
        self.jobs.send(job).expect("a lane lives as long as its driver");
    }

    /// The linear memory of the lane's instance after its last job, in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    /// Ends the thread, and waits until it has ended.
    pub(super) fn stop(self) {
        drop(self.jobs);
        // A lane that panicked has reported nothing more to say here; the driver has noticed.
        let _ = self.thread.join();
    }
}

struct Worker {
    options: LaneOptions,
    /// Kept between jobs: an instance is worth keeping warm.
    instance: Option<Instance>,
    memory: Arc<AtomicU64>,
    /// When a lane that is held to a rate may have finished its next record.
    paced_until: Option<Instant>,
}

impl Worker {
    fn new(options: LaneOptions, memory: Arc<AtomicU64>) -> Self {
        Self { options, instance: None, memory, paced_until: None }
    }

    fn work(mut self, queue: &Receiver<Job>, events: &Sender<Event<OperatorAnswer>>) {
        loop {
            let waiting = !queue.is_empty();
            let Ok(job) = queue.recv() else { return };
            let started = Instant::now();
            let cpu_before = processor_time::of_this_thread();
            let records = job.work.input_records();
            let outcome = self.run(job.work);
            let mut host_cpu = processor_time::of_this_thread().saturating_sub(cpu_before);
            if let Some(rate) = self.options.max_rate {
                let held = self.hold(started, waiting, records, rate);
                // A lane that is held to a rate stands for an operator that costs so much.
                host_cpu = host_cpu.max(held);
            }
            let answered = Event::Answered {
                attempt: job.attempt,
                outcome,
                taken: started.elapsed(),
                host_cpu,
                cold: false,
            };
            if events.send(answered).is_err() {
                return;
            }
        }
    }

    fn run(&mut self, work: OperatorWork) -> Outcome<OperatorAnswer> {
        let failed = |reason: String| Outcome::Failed { reason, retryable: true };
        let instance = match &mut self.instance {
            Some(instance) => instance,
            empty => match self.options.pool.take() {
                Ok(instance) => empty.insert(instance),
                Err(error) => return failed(error.to_string()),
            },
        };
        let call = Call { processing_time: work.processing_time, budget: None, max_output: None };
        let ran = match &work.request {
            Request::FlatMap(batch) => {
                instance.run(batch, &call).map(|run| (Response::FlatMap(run.emission), run.report))
            }
            Request::Keyed(shipment) => instance
                .run_keyed(shipment, &call)
                .map(|run| (Response::Keyed(run.answer), run.report)),
            Request::Accumulate(groups) => instance
                .accumulate(groups, &call)
                .map(|run| (Response::Accumulate(run.partials), run.report)),
        };
        match ran {
            Ok((response, report)) => {
                self.memory.store(report.memory as u64, Ordering::Relaxed);
                Outcome::Done(work.answered(response, None))
            }
            Err(error) => {
                self.instance = None;
                failed(error.to_string())
            }
        }
    }

    /// Sleeps until `records` more records may be finished at `rate`, and returns their share of
    /// the time. A job that was `waiting` for the lane counts on from the end of the last one, so
    /// that the lateness of a wake-up is made up for.
    fn hold(&mut self, started: Instant, waiting: bool, records: usize, rate: f64) -> Duration {
        let share = Duration::from_secs_f64(records as f64 / rate);
        let begin = self.paced_until.filter(|_| waiting).unwrap_or(started);
        let until = begin + share;
        self.paced_until = Some(until);
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        share
    }
}
