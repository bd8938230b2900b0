//! Which operator of a graph holds the others back, and why.
//!
//! An operator is the bottleneck when its queue grows, or is full, although whoever comes after it
//! takes all that it makes. One whose output is blocked is slow only because another is: the
//! fault is further on.

use std::collections::VecDeque;
use std::time::Duration;

use super::interface::Time;

/// From this share of the time on, an output counts as blocked.
const BLOCKED: f64 = 0.5;
/// From this share of its capacity on, a queue counts as full.
const FULL: f64 = 0.9;
/// A queue grows when this share of it has come within its history.
const GROWN: f64 = 0.1;

/// What is known of an operator.
#[derive(Clone, Debug)]
pub struct StageLoad<'a> {
    /// Its name in the pipeline.
    pub name: &'a str,
    /// Records that wait for it now.
    pub queued: u64,
    /// The most that may.
    pub capacity: u64,
    /// How its queue has been lately.
    pub history: &'a QueueHistory,
    /// The share of the time lately in which whoever comes after it didn't take what it made.
    pub output_blocked: f64,
    /// The share of the time lately in which its local lanes were busy.
    pub local_busy: f64,
    /// After how long a record that arrives now would be done.
    pub predicted_wait: Duration,
    /// How long that may take.
    pub latency_target: Duration,
}

/// What holds a graph back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    /// The place of the operator among those that were looked at.
    pub stage: usize,
    /// It isn't the operator itself but what comes after it, which is none of the others: a sink.
    pub beyond: bool,
    /// One sentence.
    pub why: String,
}

/// Finds what holds a graph back, if anything does. An operator must stand behind those that feed
/// it.
pub fn find_bottleneck(stages: &[StageLoad<'_>]) -> Option<Bottleneck> {
    let slow = |stage: &&StageLoad<'_>| stage.is_full() || stage.falls_behind();
    let itself = stages
        .iter()
        .enumerate()
        .filter(|(_, stage)| slow(stage) && stage.output_blocked < BLOCKED)
        // Of two that are equal, the later: its full queue may soon block the earlier.
        .max_by(|(_, a), (_, b)| a.severity().total_cmp(&b.severity()));
    if let Some((stage, load)) = itself {
        return Some(Bottleneck { stage, beyond: false, why: load.describe() });
    }
    let waits = |(_, stage): &(usize, &StageLoad<'_>)| stage.output_blocked >= BLOCKED;
    let (stage, load) = stages.iter().enumerate().rfind(waits)?;
    let why = format!(
        "what comes after {} takes too little: for {:.0} % of the time its output waited, with {} \
         records in its queue",
        load.name,
        load.output_blocked * 100.0,
        load.queued,
    );
    Some(Bottleneck { stage, beyond: true, why })
}

impl StageLoad<'_> {
    fn is_full(&self) -> bool {
        self.capacity > 0 && self.queued as f64 >= FULL * self.capacity as f64
    }

    fn falls_behind(&self) -> bool {
        self.predicted_wait > self.latency_target && self.history.grows()
    }

    /// How many times the latency target a record waits.
    fn severity(&self) -> f64 {
        self.predicted_wait.as_secs_f64() / self.latency_target.as_secs_f64().max(1e-6)
    }

    fn describe(&self) -> String {
        let growth = self.history.growth();
        let queue = if self.is_full() {
            format!("its queue is full with {} records", self.queued)
        } else {
            format!("{} records wait, {growth:.0} more each second", self.queued)
        };
        format!(
            "{} is the bottleneck: {queue}, although what comes after it takes what it makes; its \
             local lanes are busy for {:.0} % of the time, and a record that arrives now is done \
             in {:.0} ms, where {:.0} ms are the target",
            self.name,
            self.local_busy * 100.0,
            self.predicted_wait.as_secs_f64() * 1e3,
            self.latency_target.as_secs_f64() * 1e3,
        )
    }
}

/// The length of a queue over the last while.
#[derive(Clone, Debug, Default)]
pub struct QueueHistory {
    lengths: VecDeque<(Time, u64)>,
}

impl QueueHistory {
    /// How long a length is remembered.
    const MEMORY: Duration = Duration::from_secs(2);
    /// Lengths closer together than this are one.
    const RESOLUTION: Duration = Duration::from_millis(50);
    /// Fewer lengths than this tell nothing.
    const LEAST: usize = 4;

    /// One of which nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// The queue has this many records now.
    pub fn note(&mut self, now: Time, queued: u64) {
        let oldest = now - Self::MEMORY;
        while self.lengths.front().is_some_and(|(at, _)| *at < oldest) {
            self.lengths.pop_front();
        }
        match self.lengths.back() {
            Some((last, _)) if now.since(*last) < Self::RESOLUTION => {}
            _ => self.lengths.push_back((now, queued)),
        }
    }

    /// Records a second by which the queue grows; negative when it shrinks. By least squares, so
    /// that the batches by which it goes up and down don't show.
    pub fn growth(&self) -> f64 {
        let Some((begin, _)) = self.lengths.front() else { return 0.0 };
        if self.lengths.len() < Self::LEAST {
            return 0.0;
        }
        let points: Vec<(f64, f64)> = self
            .lengths
            .iter()
            .map(|(at, length)| (at.since(*begin).as_secs_f64(), *length as f64))
            .collect();
        let count = points.len() as f64;
        let mean_time = points.iter().map(|(time, _)| time).sum::<f64>() / count;
        let mean_length = points.iter().map(|(_, length)| length).sum::<f64>() / count;
        let along: f64 =
            points.iter().map(|(time, length)| (time - mean_time) * (length - mean_length)).sum();
        let spread: f64 = points.iter().map(|(time, _)| (time - mean_time).powi(2)).sum();
        if spread > 0.0 { along / spread } else { 0.0 }
    }

    /// Whether it grows by more than its ordinary ups and downs.
    pub fn grows(&self) -> bool {
        let (Some((begin, _)), Some((end, last))) = (self.lengths.front(), self.lengths.back())
        else {
            return false;
        };
        self.growth() * end.since(*begin).as_secs_f64() > GROWN * *last as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second in which a queue goes from one length to another, a little up and down.
    fn history(from: u64, to: u64) -> QueueHistory {
        let mut history = QueueHistory::new();
        for n in 0..=20_u64 {
            let length = (from * (20 - n) + to * n) / 20 + n % 3;
            history.note(Time(n * 50_000), length);
        }
        history
    }

    fn stage<'a>(name: &'a str, history: &'a QueueHistory) -> StageLoad<'a> {
        StageLoad {
            name,
            queued: history.lengths.back().map_or(0, |(_, length)| *length),
            capacity: 100_000,
            history,
            output_blocked: 0.0,
            local_busy: 0.5,
            predicted_wait: Duration::from_millis(10),
            latency_target: Duration::from_millis(50),
        }
    }

    fn slow(stage: StageLoad<'_>) -> StageLoad<'_> {
        StageLoad { predicted_wait: Duration::from_millis(200), local_busy: 1.0, ..stage }
    }

    #[test]
    fn nothing_is_a_bottleneck_while_all_keep_up() {
        let (steady, grows) = (history(1000, 1000), history(0, 500));
        assert_eq!(find_bottleneck(&[stage("a", &steady), stage("b", &grows)]), None);
        assert_eq!(find_bottleneck(&[]), None);
    }

    #[test]
    fn the_operator_whose_queue_grows_is_the_bottleneck_and_not_the_one_it_blocks() {
        let (full, grows, steady) = (history(99_000, 99_000), history(0, 5000), history(0, 0));
        let blocked = StageLoad { output_blocked: 0.9, ..slow(stage("parse", &full)) };
        let stages = [blocked, slow(stage("join", &grows)), stage("count", &steady)];
        let found = find_bottleneck(&stages).expect("join falls behind");
        assert_eq!((found.stage, found.beyond), (1, false));
        assert_eq!(
            found.why,
            "join is the bottleneck: 5002 records wait, 5000 more each second, although what \
             comes after it takes what it makes; its local lanes are busy for 100 % of the time, \
             and a record that arrives now is done in 200 ms, where 50 ms are the target"
        );
    }

    #[test]
    fn a_full_queue_counts_although_it_cannot_grow() {
        let full = history(100_000, 100_000);
        let found = find_bottleneck(&[slow(stage("parse", &full))]).expect("it is full");
        assert!(found.why.contains("its queue is full with 100002 records"), "{}", found.why);
    }

    #[test]
    fn a_backlog_that_shrinks_is_no_bottleneck() {
        let shrinks = history(50_000, 10_000);
        assert!(shrinks.growth() < -39_000.0);
        assert_eq!(find_bottleneck(&[slow(stage("parse", &shrinks))]), None);
    }

    #[test]
    fn when_no_operator_is_slow_but_its_output_waits_it_is_the_sink() {
        let (full, grows) = (history(99_000, 99_000), history(0, 5000));
        let blocked = |stage| StageLoad { output_blocked: 0.8, ..stage };
        let stages = [blocked(slow(stage("parse", &full))), blocked(slow(stage("count", &grows)))];
        let found = find_bottleneck(&stages).expect("the sink is slow");
        assert_eq!((found.stage, found.beyond), (1, true));
        assert!(found.why.starts_with("what comes after count takes too little"));
    }

    #[test]
    fn of_two_branches_the_one_further_above_its_target_is_named() {
        let grows = history(0, 5000);
        let worse =
            StageLoad { predicted_wait: Duration::from_secs(3), ..slow(stage("worse", &grows)) };
        let found = find_bottleneck(&[worse, slow(stage("bad", &grows))]);
        assert_eq!(found.map(|found| found.stage), Some(0));
    }
}
