//! The words in which a driver talks with the core.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time: microseconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The time that has passed since `earlier`; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// The place of a batch in its operator's input, counted from 0 in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

/// One dispatch of some work to one lane. Never used twice: an answer names the attempt it
/// answers, which is how a late or second answer is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(pub u64);

/// A target, by its place in the operator's list of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetId(pub usize);

/// Where work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A thread of this process with its own instance, by its number.
    Local(usize),
    /// A slot of a target.
    Remote(TargetId),
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(number) => write!(f, "local lane {number}"),
            Self::Remote(TargetId(number)) => write!(f, "target {number}"),
        }
    }
}

/// Work that can be cut. A clone shares the records.
pub trait Work: Clone {
    /// What processing makes of it.
    type Answer: Answer;

    /// How many pieces it can be cut into: its records, or the keys of keyed work.
    fn records(&self) -> usize;

    /// How many records it counts for in rates, queue lengths and samples. Default:
    /// [`records`](Self::records). Keyed work is cut by keys, and weighs the records and timers
    /// of all of them. Work that isn't empty weighs at least 1.
    fn weight(&self) -> usize {
        self.records()
    }

    /// The keys in it, one bit each, by their hash. With [`Order::PerKey`](super::Order::PerKey),
    /// batches that share no bit may overtake each other. Default: all bits.
    fn key_mask(&self) -> u128 {
        u128::MAX
    }

    /// What sending it takes, in bytes.
    fn bytes(&self) -> usize;

    /// The pieces `from..to`.
    fn slice(&self, from: usize, to: usize) -> Self;
}

/// The answer for a run of records.
pub trait Answer: Sized {
    /// For how many of the work's pieces it is the answer; see [`Work::records`].
    fn records(&self) -> usize;

    /// The answer for all of `parts`, which are never empty and stand in the order of their input.
    ///
    /// # Errors
    /// Why they can't be joined.
    fn join(parts: Vec<Self>) -> Result<Self, String>;
}

/// Where work may run that was bound late: see [`Core::submit_for`](super::Core::submit_for).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// On any lane.
    Anywhere,
    /// On a lane of this process.
    Local,
}

/// How much work that is bound late the core could use now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Pieces for lanes of this process, with [`Hint::Local`].
    pub local: usize,
    /// Pieces for targets, with [`Hint::Anywhere`].
    pub remote: usize,
    /// How many records a piece should have, so that a local lane is done with it in a quarter of
    /// the latency target; at least 1.
    pub records: usize,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<A> {
    /// Answered. An answer for fewer records than were sent is the answer for the first of them,
    /// and the rest is still to be done.
    Done(A),
    /// The runner lacks the module; it did nothing.
    NeedModule,
    /// The runner lacks a state that was left out because it was thought to have it; it did
    /// nothing. Whoever sends the work again puts the state in: that is the driver's part.
    NeedState,
    /// Turned away before anything ran (a throttle): safe to repeat, after the given time if the
    /// target gave one.
    Overloaded {
        /// How long the target asks to wait.
        retry_after: Option<Duration>,
    },
    /// It is not known whether it ran: a time-out, a broken connection, a killed runner. Safe to
    /// repeat, because operators are pure.
    Lost {
        /// For the log.
        reason: String,
    },
    /// The target answered that it can't do this work.
    Failed {
        /// For the log.
        reason: String,
        /// Whether the same target may succeed at the next try.
        retryable: bool,
    },
}

impl<A> Outcome<A> {
    /// The same outcome with another form of answer.
    pub fn map<B>(self, form: impl FnOnce(A) -> B) -> Outcome<B> {
        match self {
            Self::Done(answer) => Outcome::Done(form(answer)),
            Self::NeedModule => Outcome::NeedModule,
            Self::NeedState => Outcome::NeedState,
            Self::Overloaded { retry_after } => Outcome::Overloaded { retry_after },
            Self::Lost { reason } => Outcome::Lost { reason },
            Self::Failed { reason, retryable } => Outcome::Failed { reason, retryable },
        }
    }
}

/// What a driver tells the core.
#[derive(Clone, Debug)]
pub enum Event<A> {
    /// An attempt ended.
    Answered {
        /// Which.
        attempt: AttemptId,
        /// How.
        outcome: Outcome<A>,
        /// How long the lane was taken by it: on a local lane the time from start to finish
        /// (without waiting for the lane), on a remote lane the round trip.
        taken: Duration,
        /// The processor time that it cost this host.
        host_cpu: Duration,
        /// Whether a remote runner had to start, load or compile the module for it.
        cold: bool,
    },
    /// A target's runners changed: those up and answering.
    Runners {
        /// Which target.
        target: TargetId,
        /// How many runners are up.
        up: usize,
    },
    /// A runner of the target could not be started.
    StartFailed {
        /// Which target.
        target: TargetId,
        /// For the log.
        reason: String,
    },
    /// What the targets of this operator have cost so far.
    Spent {
        /// Which target.
        target: TargetId,
        /// US dollars since the run began.
        dollars: f64,
    },
}

/// What the core asks of a driver.
#[derive(Clone, Debug)]
pub enum Action<W: Work> {
    /// Run this work on this lane, and report [`Event::Answered`].
    ///
    /// A target whose runners are still starting may be given work: the driver holds it until one
    /// is up. The time that takes is part of the work's round trip.
    Run {
        /// What the report will name.
        attempt: AttemptId,
        /// Where to run it.
        lane: Lane,
        /// What to run.
        work: W,
        /// When the driver gives up on it and reports [`Outcome::Lost`]. The core gives up by
        /// itself a little later, so a driver that forgets loses nothing.
        deadline: Time,
        /// Whether to send the module first.
        with_module: bool,
    },
    /// The answer for a whole batch, in the order that the policy asks for.
    Emit {
        /// Which batch.
        sequence: Sequence,
        /// Its answer.
        answer: W::Answer,
    },
    /// Have this many runners of the target: start or stop some, and replace those that die.
    Scale {
        /// Which target.
        target: TargetId,
        /// How many are wanted.
        runners: usize,
    },
    /// Nobody waits for this attempt any more. The slot of a target counts as free from here on,
    /// and nothing needs to be reported. A local lane counts as taken until it reports; work that
    /// it hasn't begun may be dropped and reported as [`Outcome::Lost`].
    Cancel {
        /// Which.
        attempt: AttemptId,
    },
    /// A batch can't be processed by any lane, the local ones included: the operator itself is
    /// at fault. The pipeline stops; nothing of the batch was emitted.
    Stop {
        /// Which batch.
        sequence: Sequence,
        /// Why.
        reason: String,
    },
}
