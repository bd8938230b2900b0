//! Turns the real core with a virtual clock, faulty targets and slow lanes, and checks at each
//! step what must always hold.

/// Fails the simulation with a sentence, unless something holds.
macro_rules! check {
    ($holds:expr, $($sentence:tt)+) => {
        if !$holds {
            return Err(format!($($sentence)+));
        }
    };
}

mod lanes;
mod work;
mod world;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use overspill::burst::{
    Action, AttemptId, Core, Decision, Event, Offload, Outcome, Sequence, Snapshot, TargetId, Time,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) use work::{Numbered, Processed};
pub(crate) use world::{LocalModel, TargetModel, World};

/// What came of a simulation.
#[derive(Debug)]
pub(crate) struct Outcomes {
    /// For each batch: when it was due, when it was emitted, and its records.
    pub(crate) completions: Vec<(Time, Time, usize)>,
    pub(crate) last: Snapshot,
    pub(crate) samples: Vec<Snapshot>,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) scales: Vec<(Time, usize, usize)>,
    pub(crate) stopped: Option<String>,
    pub(crate) cancels: u64,
}

/// More failures than any policy allows.
const NEVER_AGAIN: u32 = 1000;

#[derive(Debug)]
enum Happening {
    Due,
    Ends {
        attempt: AttemptId,
        outcome: Outcome<Processed>,
        taken: Duration,
        cold: bool,
    },
    LaneEnds {
        lane: usize,
        attempt: AttemptId,
        outcome: Option<Outcome<Processed>>,
        taken: Duration,
    },
    RunnerUp {
        target: usize,
    },
    Kill {
        target: usize,
    },
    Look,
}

struct Pending {
    at: Time,
    tie: u64,
    what: Happening,
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.tie) == (other.at, other.tie)
    }
}
impl Eq for Pending {}
impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Pending {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.tie).cmp(&(other.at, other.tie))
    }
}

/// What a local lane was given.
#[derive(Clone)]
struct Given {
    attempt: AttemptId,
    work: Numbered,
    /// The first record of its batch, and the one after its last.
    batch: (u64, u64),
}

#[derive(Default)]
struct TargetState {
    up: usize,
    wanted: usize,
    starting: usize,
    has_module: bool,
    /// Calls that the core counts as under way.
    under_way: HashSet<AttemptId>,
    /// Calls that wait for a runner to start.
    held: Vec<(AttemptId, Numbered, bool, Time)>,
    probe: Option<AttemptId>,
}

struct Simulation {
    world: World,
    random: ChaCha8Rng,
    core: Core<Numbered>,
    now: Time,
    heap: BinaryHeap<Reverse<Pending>>,
    tie: u64,
    due: VecDeque<(Time, usize)>,
    /// Submitted and not emitted: when due, and the records.
    expected: VecDeque<(Time, Numbered)>,
    emitted: u64,
    records: u64,
    /// What each local lane has to do; the first is under way.
    lanes: Vec<VecDeque<Given>>,
    local_failures: BTreeMap<(u64, u64), u32>,
    targets: Vec<TargetState>,
    used: HashSet<AttemptId>,
    /// The first record of each call.
    calls: HashMap<AttemptId, u64>,
    /// How often calls that begin with this record failed; [`NEVER_AGAIN`] if for good.
    call_failures: HashMap<u64, u32>,
    outcomes: Outcomes,
}

/// Runs a world to its end; an error says what did not hold.
pub(crate) fn simulate(world: World) -> Result<Outcomes, String> {
    let core = Core::new(world.policy.clone(), world.seed);
    let last = core.snapshot(Time(0));
    let mut simulation = Simulation {
        random: ChaCha8Rng::seed_from_u64(world.seed ^ 0x51_0b_5e_ed),
        core,
        now: Time(0),
        heap: BinaryHeap::new(),
        tie: 0,
        due: world.arrivals.iter().copied().collect(),
        expected: VecDeque::new(),
        emitted: 0,
        records: 0,
        lanes: vec![VecDeque::new(); world.policy.local.lanes],
        local_failures: BTreeMap::new(),
        targets: world.targets.iter().map(|_| TargetState::default()).collect(),
        used: HashSet::new(),
        calls: HashMap::new(),
        call_failures: HashMap::new(),
        outcomes: Outcomes {
            completions: Vec::new(),
            last,
            samples: Vec::new(),
            decisions: Vec::new(),
            scales: Vec::new(),
            stopped: None,
            cancels: 0,
        },
        world,
    };
    simulation.prepare();
    let result = simulation.turn();
    let at = simulation.now;
    result.map_err(|sentence| format!("at {} µs: {sentence}", at.0))?;
    Ok(simulation.outcomes)
}

impl Simulation {
    fn prepare(&mut self) {
        let dues: Vec<Time> = self.due.iter().map(|(at, _)| *at).collect();
        for at in dues {
            self.later(at, Happening::Due);
        }
        for target in 0..self.targets.len() {
            for at in self.world.targets[target].kills.clone() {
                self.later(at, Happening::Kill { target });
            }
        }
        if let Some(every) = self.world.sample_every {
            self.later(Time(0) + every, Happening::Look);
        }
    }

    fn later(&mut self, at: Time, what: Happening) {
        self.tie += 1;
        self.heap.push(Reverse(Pending { at, tie: self.tie, what }));
    }

    fn turn(&mut self) -> Result<(), String> {
        let mut steps = 0_u64;
        loop {
            self.feed();
            if self.random.random_bool(self.world.output_turns) {
                let blocked = self.random.random_bool(0.5);
                self.core.output_blocked(self.now, blocked);
            }
            self.obey()?;
            self.check_always(steps)?;
            self.outcomes.decisions.extend(self.core.decisions());
            if self.outcomes.stopped.is_some() {
                return Ok(());
            }
            if self.due.is_empty() && self.core.is_idle() {
                break;
            }
            let wake = self.core.next_wake();
            let happens = self.heap.peek().map(|Reverse(pending)| pending.at);
            let next = [wake, happens].into_iter().flatten().min();
            let Some(next) = next else {
                return Err("the core waits for something that nobody will tell it".into());
            };
            steps += 1;
            check!(steps < 3_000_000, "it turns without end");
            self.now = self.now.max(next);
            check!(self.now <= self.world.patience, "{} batches are left", self.expected.len());
            while self.heap.peek().is_some_and(|Reverse(pending)| pending.at <= self.now) {
                if let Some(Reverse(pending)) = self.heap.pop() {
                    self.happen(pending.what);
                }
            }
        }
        check!(
            self.expected.is_empty(),
            "it is idle, but {} batches are lost",
            self.expected.len()
        );
        check!(self.core.in_flight().next().is_none(), "it is idle with work in flight");
        self.outcomes.last = self.core.snapshot(self.now);
        // Whatever is still on its way must be told apart from news.
        while let Some(Reverse(pending)) = self.heap.pop() {
            self.now = self.now.max(pending.at);
            if let Happening::Ends { attempt, outcome, taken, cold } = pending.what {
                self.tell(attempt, outcome, taken, cold, Duration::ZERO);
                check!(
                    !matches!(
                        self.core.poll(self.now),
                        Some(Action::Emit { .. } | Action::Run { .. })
                    ),
                    "a late answer made it run or emit something"
                );
            }
        }
        Ok(())
    }

    /// Submits what is due, as far as there is room.
    fn feed(&mut self) {
        while let Some((due, records)) = self.due.front().copied()
            && due <= self.now
            && self.core.room() > 0
        {
            self.due.pop_front();
            let (from, to) = (self.records, self.records + records as u64);
            self.records = to;
            let work = Numbered { from, to, record_bytes: self.world.record_bytes };
            self.expected.push_back((due, work.clone()));
            self.core.submit(self.now, work);
        }
        if self.due.is_empty() && !self.core.is_closed() {
            self.core.close(self.now);
        }
    }

    /// Does what the core says until it has nothing more to say.
    fn obey(&mut self) -> Result<(), String> {
        for _ in 0..100_000 {
            let Some(action) = self.core.poll(self.now) else { return Ok(()) };
            match action {
                Action::Run { attempt, lane, work, deadline, with_module } => {
                    self.run(attempt, lane, work, deadline, with_module)?;
                }
                Action::Emit { sequence, answer } => self.emit(sequence, answer)?,
                Action::Scale { target: TargetId(target), runners } => self.scale(target, runners),
                Action::Cancel { attempt } => self.cancel(attempt)?,
                Action::Stop { reason, .. } => self.outcomes.stopped = Some(reason),
            }
        }
        Err("it never has enough".into())
    }

    fn emit(&mut self, sequence: Sequence, answer: Processed) -> Result<(), String> {
        check!(sequence.0 == self.emitted, "{sequence:?} comes instead of {}", self.emitted);
        let Some((due, work)) = self.expected.pop_front() else {
            return Err(format!("{sequence:?} was never submitted"));
        };
        let mut next = work.from;
        for (from, to) in &answer.runs {
            check!(*from == next && to >= from, "{sequence:?}: {:?} for {work:?}", answer.runs);
            next = *to;
        }
        check!(next == work.to, "{sequence:?}: {:?} for {work:?}", answer.runs);
        self.emitted += 1;
        let records = (work.to - work.from) as usize;
        self.outcomes.completions.push((due, self.now, records));
        // Emitting makes room.
        self.feed();
        Ok(())
    }

    fn tell(
        &mut self,
        attempt: AttemptId,
        outcome: Outcome<Processed>,
        taken: Duration,
        cold: bool,
        host_cpu: Duration,
    ) {
        let mut waited_for = false;
        for target in &mut self.targets {
            waited_for |= target.under_way.remove(&attempt);
        }
        if let Some(from) = self.calls.get(&attempt)
            && waited_for
        {
            let more = match outcome {
                Outcome::Failed { retryable: false, .. } => NEVER_AGAIN,
                Outcome::Failed { .. } | Outcome::Lost { .. } => 1,
                _ => 0,
            };
            let failures = self.call_failures.entry(*from).or_default();
            *failures = failures.saturating_add(more);
        }
        let event = Event::Answered { attempt, outcome, taken, host_cpu, cold };
        self.core.handle(self.now, event);
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Due => {}
            Happening::Look => {
                let snapshot = self.core.snapshot(self.now);
                self.outcomes.samples.push(snapshot);
                if let Some(every) = self.world.sample_every {
                    self.later(self.now + every, Happening::Look);
                }
            }
            Happening::Ends { attempt, outcome, taken, cold } => {
                let target = self.targets.iter().position(|t| t.under_way.contains(&attempt));
                let records = match &outcome {
                    Outcome::Done(done) => done.runs.iter().map(|(from, to)| to - from).sum(),
                    _ => 0,
                };
                let host_cpu = target.map_or(Duration::ZERO, |target| {
                    self.world.targets[target].host_cpu_per_record * records as u32
                });
                self.tell(attempt, outcome, taken, cold, host_cpu);
            }
            Happening::LaneEnds { lane, attempt, outcome, taken } => {
                self.lanes[lane].pop_front();
                if let Some(outcome) = outcome {
                    let records = match &outcome {
                        Outcome::Done(done) => done.runs.iter().map(|(f, t)| (t - f) as u32).sum(),
                        _ => 0,
                    };
                    let host_cpu = self.world.local.host_cpu_per_record * records;
                    if self.random.random_bool(self.world.local.answers_twice) {
                        self.tell(attempt, outcome.clone(), taken, false, host_cpu);
                    }
                    self.tell(attempt, outcome, taken, false, host_cpu);
                }
                self.begin(lane);
            }
            Happening::RunnerUp { target } => self.runner_up(target),
            Happening::Kill { target } => self.kill(target),
        }
    }

    /// What holds between any two steps.
    fn check_always(&mut self, step: u64) -> Result<(), String> {
        if self.outcomes.stopped.is_some() {
            return Ok(());
        }
        if step.is_multiple_of(8) {
            let listed: Vec<_> = self.core.in_flight().map(|(s, w)| (s.0, w.from, w.to)).collect();
            let expected: Vec<_> = (self.emitted..)
                .zip(&self.expected)
                .map(|(sequence, (_, work))| (sequence, work.from, work.to))
                .collect();
            check!(listed == expected, "in flight are {expected:?}, but listed {listed:?}");
        }
        let seen = self.core.snapshot(self.now);
        for (number, (target, seen)) in self.targets.iter().zip(&seen.targets).enumerate() {
            check!(
                target.under_way.len() == seen.in_flight,
                "target {number} has {} calls under way, and the core says {}",
                target.under_way.len(),
                seen.in_flight
            );
        }
        let any_lane = matches!(self.world.policy.offload, Offload::Auto | Offload::Never);
        check!(
            !any_lane || seen.waiting_parts == 0 || seen.local_busy == seen.local_lanes,
            "{} parts wait, but only {} local lanes are busy",
            seen.waiting_parts,
            seen.local_busy
        );
        Ok(())
    }
}
