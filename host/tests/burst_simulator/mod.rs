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

mod driver;
mod lanes;
mod numbers;
mod work;
mod world;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use overspill::burst::{
    Action, AttemptId, Core, Decision, Event, Offload, Outcome, Snapshot, TargetId, Time, Work,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) use driver::{Driver, Simulated};
use numbers::Numbers;
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
enum Happening<A> {
    Ends { attempt: AttemptId, outcome: Outcome<A>, taken: Duration, cold: bool },
    LaneEnds { lane: usize, attempt: AttemptId, outcome: Option<Outcome<A>>, taken: Duration },
    RunnerUp { target: usize },
    Kill { target: usize },
    Look,
}

struct Pending<A> {
    at: Time,
    tie: u64,
    what: Happening<A>,
}

impl<A> PartialEq for Pending<A> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.tie) == (other.at, other.tie)
    }
}
impl<A> Eq for Pending<A> {}
impl<A> PartialOrd for Pending<A> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<A> Ord for Pending<A> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.tie).cmp(&(other.at, other.tie))
    }
}

/// What a local lane was given.
#[derive(Clone)]
struct Given<W> {
    attempt: AttemptId,
    work: W,
    /// The submitted piece that it is cut from.
    batch: u64,
}

struct TargetState<W> {
    up: usize,
    wanted: usize,
    starting: usize,
    has_module: bool,
    /// Calls that the core counts as under way.
    under_way: HashSet<AttemptId>,
    /// Calls that wait for a runner to start.
    held: Vec<(AttemptId, W, bool, Time)>,
    probe: Option<AttemptId>,
}

impl<W> Default for TargetState<W> {
    fn default() -> Self {
        Self {
            up: 0,
            wanted: 0,
            starting: 0,
            has_module: false,
            under_way: HashSet::new(),
            held: Vec::new(),
            probe: None,
        }
    }
}

type AnswerOf<D> = <<D as Driver>::Work as Work>::Answer;

struct Simulation<D: Driver> {
    world: World,
    random: ChaCha8Rng,
    driver: D,
    core: Core<D::Work>,
    now: Time,
    heap: BinaryHeap<Reverse<Pending<AnswerOf<D>>>>,
    tie: u64,
    /// What each local lane has to do; the first is under way.
    lanes: Vec<VecDeque<Given<D::Work>>>,
    local_failures: BTreeMap<u64, u32>,
    targets: Vec<TargetState<D::Work>>,
    used: HashSet<AttemptId>,
    /// The first piece of each call.
    calls: HashMap<AttemptId, u64>,
    /// How often calls that begin with this piece failed; [`NEVER_AGAIN`] if for good.
    call_failures: HashMap<u64, u32>,
    outcomes: Outcomes,
}

/// Runs a stateless operator to its end; an error says what did not hold.
pub(crate) fn simulate(world: World) -> Result<Outcomes, String> {
    let driver = Numbers::new(world.policy.order, &world.arrivals, world.record_bytes);
    let (outcomes, driver) = simulate_with(world, driver)?;
    Ok(Outcomes { completions: driver.completions, ..outcomes })
}

/// Runs a world to its end; an error says what did not hold.
pub(crate) fn simulate_with<D: Driver>(world: World, driver: D) -> Result<(Outcomes, D), String> {
    let core = Core::new(world.policy.clone(), world.seed);
    let last = core.snapshot(Time(0));
    let mut simulation = Simulation {
        random: ChaCha8Rng::seed_from_u64(world.seed ^ 0x51_0b_5e_ed),
        driver,
        core,
        now: Time(0),
        heap: BinaryHeap::new(),
        tie: 0,
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
    Ok((simulation.outcomes, simulation.driver))
}

impl<D: Driver> Simulation<D> {
    fn prepare(&mut self) {
        for target in 0..self.targets.len() {
            for at in self.world.targets[target].kills.clone() {
                self.later(at, Happening::Kill { target });
            }
        }
        if let Some(every) = self.world.sample_every {
            self.later(Time(0) + every, Happening::Look);
        }
    }

    fn later(&mut self, at: Time, what: Happening<AnswerOf<D>>) {
        self.tie += 1;
        self.heap.push(Reverse(Pending { at, tie: self.tie, what }));
    }

    fn turn(&mut self) -> Result<(), String> {
        let mut steps = 0_u64;
        loop {
            self.feed()?;
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
            if !self.driver.is_open() && self.core.is_idle() {
                break;
            }
            // What the core has no room for is taken when something else happens.
            let driver = self.driver.next_wake().filter(|wake| *wake > self.now);
            let wake = [self.core.next_wake(), driver].into_iter().flatten().min();
            let happens = self.heap.peek().map(|Reverse(pending)| pending.at);
            let next = [wake, happens].into_iter().flatten().min();
            let Some(next) = next else {
                return Err("the core waits for something that nobody will tell it".into());
            };
            steps += 1;
            check!(steps < 3_000_000, "it turns without end");
            self.now = self.now.max(next);
            check!(self.now <= self.world.patience, "work is left");
            while self.heap.peek().is_some_and(|Reverse(pending)| pending.at <= self.now) {
                if let Some(Reverse(pending)) = self.heap.pop() {
                    self.happen(pending.what);
                }
            }
        }
        self.driver.finish().map_err(|sentence| format!("it is idle, but {sentence}"))?;
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

    fn feed(&mut self) -> Result<bool, String> {
        self.driver.feed(self.now, &mut self.core)
    }

    /// Does what the core says until it has nothing more to say.
    fn obey(&mut self) -> Result<(), String> {
        for _ in 0..100_000 {
            let Some(action) = self.core.poll(self.now) else {
                if self.outcomes.stopped.is_none() && self.feed()? {
                    continue;
                }
                return Ok(());
            };
            match action {
                Action::Run { attempt, lane, work, deadline, with_module } => {
                    self.run(attempt, lane, work, deadline, with_module)?;
                }
                Action::Emit { sequence, answer } => {
                    self.driver.emit(self.now, sequence, answer)?;
                    // Emitting makes room.
                    self.feed()?;
                }
                Action::Scale { target: TargetId(target), runners } => self.scale(target, runners),
                Action::Cancel { attempt } => self.cancel(attempt)?,
                Action::Stop { reason, .. } => self.outcomes.stopped = Some(reason),
            }
        }
        Err("it never has enough".into())
    }

    fn tell(
        &mut self,
        attempt: AttemptId,
        outcome: Outcome<AnswerOf<D>>,
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

    fn happen(&mut self, what: Happening<AnswerOf<D>>) {
        match what {
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
                    Outcome::Done(done) => D::Work::weight_of(done),
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
                        Outcome::Done(done) => D::Work::weight_of(done) as u32,
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
            self.driver.check(self.now, &self.core)?;
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
