//! Every state that small cases of the lease and watermark protocol can reach, with the real
//! state machines: [`KeySchedule`], [`TotalOrder`] and [`WatermarkMerge`].
//!
//! Two keys, three batches, two lanes, two inputs with watermarks and an idle time, timers (one of
//! them set too late, one set by another that fires). What carries a lease to a lane is the
//! adversary: it loses attempts, answers late, twice, or for some keys only, and lets answers of
//! attempts that were given up come when the lease has long gone to another. It does what the
//! [`Core`](overspill::burst::Core) does for work, no more: it runs what is unanswered again, and
//! hands on a lease when all of its keys are answered.
//!
//! The invariants are the properties below; they are stated beside the code in
//! `host/src/burst/keyed/schedule.rs`, `total_order.rs` and `host/src/burst/watermark.rs`.

use std::collections::BTreeMap;
use std::time::Instant;

use overspill::burst::keyed::{
    Chunk, KeySchedule, Lease, LeaseToken, Place, Prefer, Take, TotalOrder,
};
use overspill::burst::{Gate, Order, Sequence, WatermarkMerge};
use stateright::{Checker, Model, Property};

/// A record by its number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Record(u8);

impl Chunk for Record {
    fn records(&self) -> usize {
        1
    }
    fn bytes(&self) -> usize {
        1
    }
}

type Key = u8;

/// What a key has seen: a record or a timer, and the watermark of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Event {
    Record(u8, i64),
    Timer(i64, i64),
}

/// A key's state is all it has seen, so nothing that goes wrong with it can stay hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Kept {
    version: u64,
    seen: Vec<Event>,
    timers: Vec<i64>,
}

impl Kept {
    fn record(&mut self, number: u8, watermark: i64) {
        self.seen.push(Event::Record(number, watermark));
        self.timers.extend(match number {
            1 => Some(12),
            2 => Some(5),
            // Too late: the watermark is 10 by then.
            3 => Some(4),
            4 => Some(25),
            _ => None,
        });
    }

    /// The timers up to a watermark fire, one after the other.
    fn fire(&mut self, watermark: i64) {
        while let Some(time) = self.timers.iter().min().copied()
            && time <= watermark
        {
            self.timers.retain(|timer| *timer != time);
            self.seen.push(Event::Timer(time, watermark));
            self.timers.extend(match time {
                5 => Some(8),
                8 => Some(18),
                _ => None,
            });
        }
    }
}

enum Element {
    Batch(&'static [(Key, u8)]),
    Watermark(usize, i64),
    Idle(usize),
}

const INPUT: [Element; 9] = [
    Element::Batch(&[(b'b', 1), (b'a', 2)]),
    Element::Watermark(0, 10),
    Element::Watermark(1, 10),
    Element::Batch(&[(b'b', 3)]),
    Element::Idle(1),
    Element::Watermark(0, 20),
    Element::Batch(&[(b'a', 4), (b'b', 5)]),
    Element::Watermark(1, i64::MAX),
    Element::Watermark(0, i64::MAX),
];

/// The merged watermark after each element, if it rises.
const MERGED: [Option<i64>; 9] =
    [None, None, Some(10), None, None, Some(20), None, None, Some(i64::MAX)];

const LANES: usize = 2;

/// Some keys of a lease, at a lane or behind it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Attempt {
    token: LeaseToken,
    from: usize,
    answers: Vec<Answer>,
}

/// What a lane makes of a key. (It is the same whenever it is made.)
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Answer {
    key: Key,
    /// The version that it was made from.
    version: u64,
    kept: Kept,
    /// What it made in which step.
    outputs: Vec<(Option<Place>, Event)>,
}

/// A lease that is away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Away {
    lease: Lease<Record>,
    /// What a lane would answer.
    right: Vec<Answer>,
    /// What has been answered.
    answered: Vec<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    next: usize,
    merge: WatermarkMerge,
    schedule: KeySchedule<Record>,
    total: TotalOrder<(Key, Event)>,
    home: BTreeMap<Key, Kept>,
    away: BTreeMap<LeaseToken, Away>,
    lanes: [Option<Attempt>; LANES],
    /// Attempts that nobody waits for, and that may answer at any time.
    zombies: Vec<Attempt>,
    faults: u8,
    outputs: Vec<(Key, Event)>,
    passed: i64,
    /// What must never happen did.
    wrong: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Action {
    Input,
    Take {
        lane: usize,
        keys: usize,
        records: usize,
    },
    /// The keys of a lease that nobody is at are run (again).
    Run {
        lane: usize,
        token: LeaseToken,
    },
    Answer {
        lane: usize,
    },
    /// Only the first key.
    AnswerInPart {
        lane: usize,
    },
    AnswerTwice {
        lane: usize,
    },
    /// It is given up; it may answer yet.
    GiveUp {
        lane: usize,
    },
    /// It is lost for good.
    Lose {
        lane: usize,
    },
    Late {
        zombie: usize,
    },
}

struct Protocol {
    order: Order,
    /// The limits of a lease's steps.
    steps: Option<(usize, usize)>,
    faults: u8,
    /// What each key sees in a single-threaded run.
    right: BTreeMap<Key, Vec<Event>>,
    /// All outputs of one, in order.
    in_order: Vec<(Key, Event)>,
    /// How many events of each key come before each watermark.
    before: BTreeMap<i64, BTreeMap<Key, usize>>,
}

impl Protocol {
    fn new(order: Order, steps: Option<(usize, usize)>, faults: u8) -> Self {
        let mut home: BTreeMap<Key, Kept> = BTreeMap::new();
        let (mut watermark, mut before, mut in_order) = (i64::MIN, BTreeMap::new(), Vec::new());
        for (element, merged) in INPUT.iter().zip(MERGED) {
            let mut each = |home: &mut BTreeMap<Key, Kept>, key: Key, call: &dyn Fn(&mut Kept)| {
                let kept = home.entry(key).or_default();
                let old = kept.seen.len();
                call(kept);
                in_order.extend(kept.seen[old..].iter().map(|event| (key, *event)));
            };
            if let Element::Batch(records) = element {
                for (key, number) in *records {
                    each(&mut home, *key, &|kept| kept.record(*number, watermark));
                }
            }
            if let Some(merged) = merged {
                watermark = merged;
                for key in [b'a', b'b'] {
                    each(&mut home, key, &|kept| kept.fire(watermark));
                }
                let counts = home.iter().map(|(key, kept)| (*key, kept.seen.len())).collect();
                before.insert(watermark, counts);
            }
        }
        let right = home.into_iter().map(|(key, kept)| (key, kept.seen)).collect();
        Self { order, steps, faults, right, in_order, before }
    }

    fn input(&self, state: &mut State) {
        let element = &INPUT[state.next];
        let risen = match element {
            Element::Batch(records) => {
                state.schedule.begin_batch();
                for (key, number) in *records {
                    state.schedule.add(&[*key], Record(*number));
                }
                None
            }
            Element::Watermark(input, watermark) => state.merge.advance(*input, *watermark),
            Element::Idle(input) => state.merge.idle(*input),
        };
        if risen != MERGED[state.next] {
            state.wrong = Some("the merged watermark is another");
        }
        state.next += 1;
        if let Some(watermark) = risen {
            let before = state.schedule.watermark();
            state.schedule.advance(watermark);
            for (key, kept) in &state.home {
                let mut new = kept.timers.iter().filter(|t| before < **t && **t <= watermark);
                if let Some(timer) = new.next() {
                    state.schedule.fire(&[*key], *timer);
                }
            }
        }
        self.passes(state);
    }

    fn take(&self, state: &mut State, lane: usize, keys: usize, records: usize) -> Option<()> {
        let want = Take {
            most_keys: keys,
            most_records: records,
            most_bytes: usize::MAX,
            prefer: Prefer::Oldest,
        };
        let lease = state.schedule.take(want, |_| 0)?;
        let places = |key, step| lease.place(key, step).filter(|_| self.order == Order::Total);
        let right: Vec<Answer> = (0..lease.keys.len())
            .map(|index| {
                let key = lease.keys[index].key[0];
                let mut kept = state.home.get(&key).cloned().unwrap_or_default();
                let version = kept.version;
                // Only timers that can fire go along; the others stay at home.
                let stays: Vec<i64> =
                    kept.timers.extract_if(.., |t| *t > lease.last_watermark()).collect();
                let mut outputs = Vec::new();
                for (at, step) in lease.steps.iter().enumerate() {
                    let old = kept.seen.len();
                    for chunk in lease.keys[index].chunks.iter().filter(|c| c.step == at) {
                        kept.record(chunk.chunk.0, step.watermark);
                    }
                    if step.then_watermark > step.watermark {
                        kept.fire(step.then_watermark);
                    }
                    let place: Option<Place> = places(index, at);
                    outputs.extend(kept.seen[old..].iter().map(|event| (place.clone(), *event)));
                }
                kept.timers.extend(stays);
                kept.timers.sort_unstable();
                kept.timers.dedup();
                kept.version += 1;
                Answer { key, version, kept, outputs }
            })
            .collect();
        let token = lease.token;
        let answered = vec![false; right.len()];
        state.lanes[lane] = Some(Attempt { token, from: 0, answers: right.clone() });
        state.away.insert(token, Away { lease, right, answered });
        Some(())
    }

    /// An answer for some keys of a lease, whoever it comes from.
    fn answer(&self, state: &mut State, attempt: &Attempt, keys: usize) {
        let Some(away) = state.away.get_mut(&attempt.token) else {
            // The lease is over. The core knows that, and drops it. Should a driver mix it up,
            // the fencing token of the lease and the versions of the states turn it away.
            for answer in &attempt.answers[..keys] {
                let version = state.home.get(&answer.key).map_or(0, |kept| kept.version);
                let released = state.schedule.release(attempt.token, &[answer.key], None).is_ok();
                if version == answer.version || released {
                    state.wrong = Some("an answer for a lease that is over is taken");
                }
            }
            return;
        };
        away.answered[attempt.from..attempt.from + keys].fill(true);
        if !away.answered.iter().all(|answered| *answered) {
            return;
        }
        let Some(Away { right, .. }) = state.away.remove(&attempt.token) else { return };
        // All or nothing: the versions of all keys are looked at before any is changed.
        for answer in &right {
            if state.home.get(&answer.key).map_or(0, |kept| kept.version) != answer.version {
                state.wrong = Some("a key was changed while it was away");
                return;
            }
        }
        for answer in right {
            for (place, event) in answer.outputs {
                match place {
                    Some(place) => state.total.add(place, (answer.key, event)),
                    None => state.outputs.push((answer.key, event)),
                }
            }
            let first_timer = answer.kept.timers.first().copied();
            state.home.insert(answer.key, answer.kept);
            if state.schedule.release(attempt.token, &[answer.key], first_timer).is_err() {
                state.wrong = Some("a lease can't be released");
            }
        }
        self.passes(state);
    }

    fn passes(&self, state: &mut State) {
        let frontier = state.schedule.frontier();
        state.outputs.extend(state.total.drain(frontier));
        let Some(watermark) = state.schedule.passed() else { return };
        if watermark <= state.passed {
            state.wrong = Some("a watermark goes back");
        }
        state.passed = watermark;
        let out = |key: Key| state.outputs.iter().filter(|(of, _)| *of == key).count();
        match self.before.get(&watermark) {
            Some(before) if before.iter().all(|(key, count)| out(*key) >= *count) => {}
            _ => state.wrong = Some("a watermark overtakes"),
        }
    }

    fn is_done(&self, state: &State) -> bool {
        let all = |(key, right): (&Key, &Vec<Event>)| {
            state.home.get(key).is_some_and(|kept| kept.seen == *right)
        };
        state.passed == i64::MAX
            && self.right.iter().all(all)
            && state.outputs.len() == self.in_order.len()
            && state.schedule.is_idle()
            && state.schedule.remembered_steps() == 1
            && state.total.is_empty()
    }
}

/// The first run of keys of a lease that is unanswered, if no lane is at it.
fn unanswered(state: &State, token: LeaseToken) -> Option<(usize, usize)> {
    let answered = &state.away.get(&token)?.answered;
    let from = answered.iter().position(|answered| !answered)?;
    let to = answered[from..].iter().position(|a| *a).map_or(answered.len(), |n| from + n);
    let tried = state.lanes.iter().flatten().any(|attempt| attempt.token == token);
    (!tried).then_some((from, to))
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut schedule = KeySchedule::new(self.order);
        if let Some((most, idle)) = self.steps {
            schedule = schedule.with_step_limits(most, idle);
        }
        vec![State {
            next: 0,
            merge: WatermarkMerge::new(2),
            schedule,
            total: TotalOrder::new(),
            home: BTreeMap::new(),
            away: BTreeMap::new(),
            lanes: [None, None],
            zombies: Vec::new(),
            faults: self.faults,
            outputs: Vec::new(),
            passed: i64::MIN,
            wrong: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.next < INPUT.len() {
            actions.push(Action::Input);
        }
        // Lanes are alike: the first free one begins.
        if let Some(lane) = state.lanes.iter().position(Option::is_none) {
            let ready = state.schedule.ready();
            if ready.keys > 0 {
                actions.push(Action::Take { lane, keys: 1, records: usize::MAX });
            }
            if ready.keys > 1 {
                actions.push(Action::Take { lane, keys: 2, records: usize::MAX });
            }
            if ready.records > 1 {
                actions.push(Action::Take { lane, keys: 1, records: 1 });
            }
            let free = state.away.keys().filter(|token| unanswered(state, **token).is_some());
            actions.extend(free.map(|token| Action::Run { lane, token: *token }));
        }
        for (lane, attempt) in state.lanes.iter().enumerate() {
            let Some(attempt) = attempt else { continue };
            actions.push(Action::Answer { lane });
            if state.faults > 0 {
                actions.push(Action::GiveUp { lane });
                actions.push(Action::Lose { lane });
                actions.push(Action::AnswerTwice { lane });
                if attempt.answers.len() > 1 {
                    actions.push(Action::AnswerInPart { lane });
                }
            }
        }
        actions.extend((0..state.zombies.len()).map(|zombie| Action::Late { zombie }));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        if let Action::AnswerInPart { .. }
        | Action::AnswerTwice { .. }
        | Action::GiveUp { .. }
        | Action::Lose { .. } = action
        {
            state.faults -= 1;
        }
        match action {
            Action::Input => self.input(&mut state),
            Action::Take { lane, keys, records } => self.take(&mut state, lane, keys, records)?,
            Action::Run { lane, token } => {
                let (from, to) = unanswered(&state, token)?;
                let answers = state.away.get(&token)?.right[from..to].to_vec();
                state.lanes[lane] = Some(Attempt { token, from, answers });
            }
            Action::Answer { lane } => {
                let attempt = state.lanes[lane].take()?;
                self.answer(&mut state, &attempt, attempt.answers.len());
            }
            Action::AnswerInPart { lane } => {
                let attempt = state.lanes[lane].take()?;
                self.answer(&mut state, &attempt, 1);
            }
            Action::AnswerTwice { lane } => {
                let attempt = state.lanes[lane].take()?;
                self.answer(&mut state, &attempt, attempt.answers.len());
                state.zombies.push(attempt);
            }
            Action::GiveUp { lane } => {
                let attempt = state.lanes[lane].take()?;
                state.zombies.push(attempt);
            }
            Action::Lose { lane } => state.lanes[lane] = None,
            Action::Late { zombie } => {
                let attempt = state.zombies.remove(zombie);
                self.answer(&mut state, &attempt, attempt.answers.len());
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a key is in one place at a time", |_, state: &State| {
                let mut keys: Vec<Key> =
                    state.away.values().flat_map(|a| a.right.iter().map(|r| r.key)).collect();
                let all = keys.len();
                keys.sort_unstable();
                keys.dedup();
                keys.len() == all
            }),
            Property::always("nothing goes wrong", |_, state: &State| state.wrong.is_none()),
            Property::always(
                "each key sees what a single thread shows it",
                |model: &Self, state: &State| {
                    let prefix = |(key, kept): (&Key, &Kept)| {
                        model.right.get(key).is_some_and(|right| right.starts_with(&kept.seen))
                    };
                    state.home.iter().all(prefix)
                },
            ),
            Property::always("outputs leave in their order", |model: &Self, state: &State| {
                match model.order {
                    Order::Total => model.in_order.starts_with(&state.outputs),
                    _ => model.right.iter().all(|(key, right)| {
                        let own = state.outputs.iter().filter(|(of, _)| of == key);
                        own.map(|(_, event)| event).eq(right.iter().take(own_len(state, *key)))
                    }),
                }
            }),
            Property::always(
                "a state with nothing to do is done",
                |model: &Self, state: &State| {
                    let mut actions = Vec::new();
                    model.actions(state, &mut actions);
                    !actions.is_empty() || model.is_done(state)
                },
            ),
            Property::sometimes("it can be done", |model: &Self, state: &State| {
                model.is_done(state)
            }),
            Property::sometimes(
                "a zombie answers after its lease went to another",
                |_, state: &State| {
                    state.zombies.iter().any(|zombie| {
                        let over = !state.away.contains_key(&zombie.token);
                        over && zombie.answers.iter().any(|a| state.schedule.is_leased(&[a.key]))
                    })
                },
            ),
            Property::sometimes("a timer is due while its key is away", |_, state: &State| {
                let due = |t: &i64| *t <= state.schedule.watermark();
                state.away.values().any(|away| {
                    let last = away.lease.last_watermark();
                    last < state.schedule.watermark()
                        && away.right.iter().any(|r| r.kept.timers.iter().any(due))
                })
            }),
        ]
    }
}

fn own_len(state: &State, key: Key) -> usize {
    state.outputs.iter().filter(|(of, _)| *of == key).count()
}

/// `OVERSPILL_FAULTS=2` lets two things go wrong in one run instead of one: millions of states
/// more, and minutes.
fn faults() -> u8 {
    let text = std::env::var("OVERSPILL_FAULTS").unwrap_or_else(|_| "1".into());
    text.parse().unwrap_or_else(|_| panic!("OVERSPILL_FAULTS must be a number, not {text:?}"))
}

fn explore(name: &str, order: Order, steps: Option<(usize, usize)>) {
    let protocol = Protocol::new(order, steps, faults());
    let begin = Instant::now();
    let checker = protocol.checker().threads(2).spawn_bfs().join();
    println!(
        "{name}: {} states, {} of them different, {} deep, in {:.1} s",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        begin.elapsed().as_secs_f64(),
    );
    checker.assert_properties();
}

#[test]
fn leases_hold_per_key_whatever_happens() {
    explore("per key", Order::PerKey, None);
}

#[test]
fn leases_that_are_cut_short_hold_per_key_whatever_happens() {
    explore("per key, short leases", Order::PerKey, Some((1, 0)));
}

#[test]
fn leases_hold_the_total_order_whatever_happens() {
    explore("total", Order::Total, None);
}

/// A gate, and batches that are emitted in any order, some of them twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Passage {
    gate: Gate,
    submitted: u64,
    /// Each watermark is the number of batches before it.
    watermarks: u64,
    emitted: Vec<u64>,
    passed: i64,
    wrong: bool,
}

struct Passages;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Passing {
    Submit,
    Watermark,
    Emit(u64),
    Pass,
}

const BATCHES: u64 = 4;

impl Model for Passages {
    type State = Passage;
    type Action = Passing;

    fn init_states(&self) -> Vec<Passage> {
        let (gate, emitted) = (Gate::new(), Vec::new());
        let (submitted, watermarks, passed) = (0, 0, i64::MIN);
        vec![Passage { gate, submitted, watermarks, emitted, passed, wrong: false }]
    }

    fn actions(&self, state: &Passage, actions: &mut Vec<Passing>) {
        if state.submitted < BATCHES {
            actions.push(Passing::Submit);
        }
        if state.watermarks <= state.submitted {
            actions.push(Passing::Watermark);
        }
        let waits = |n: &u64| state.emitted.iter().filter(|other| *other == n).count() < 2;
        actions.extend((0..state.submitted).filter(waits).map(Passing::Emit));
        if !state.gate.is_empty() {
            actions.push(Passing::Pass);
        }
    }

    fn next_state(&self, last: &Passage, action: Passing) -> Option<Passage> {
        let mut state = last.clone();
        match action {
            Passing::Submit => {
                state.gate.submitted(Sequence(state.submitted));
                state.submitted += 1;
            }
            Passing::Watermark => {
                state.gate.watermark(state.submitted as i64);
                state.watermarks = state.submitted + 1;
            }
            Passing::Emit(batch) => {
                state.gate.emitted(Sequence(batch));
                state.emitted.push(batch);
                state.emitted.sort_unstable();
            }
            Passing::Pass => {
                let watermark = state.gate.passed()?;
                let before = 0..watermark as u64;
                state.wrong |= watermark <= state.passed
                    || before.into_iter().any(|batch| !state.emitted.contains(&batch));
                state.passed = watermark;
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no watermark overtakes or goes back", |_, state: &Passage| {
                !state.wrong
            }),
            Property::always(
                "a state with nothing to do is done",
                |model: &Self, state: &Passage| {
                    let mut actions = Vec::new();
                    model.actions(state, &mut actions);
                    actions.retain(|action| model.next_state(state, *action).is_some());
                    !actions.is_empty() || state.passed == BATCHES as i64
                },
            ),
            Property::sometimes("it can be done", |_, state: &Passage| {
                state.passed == BATCHES as i64
            }),
        ]
    }
}

#[test]
fn no_watermark_overtakes_a_batch_whatever_the_order_in_which_they_are_emitted() {
    let begin = Instant::now();
    let checker = Passages.checker().spawn_bfs().join();
    println!(
        "gate: {} states, {} of them different, in {:.1} s",
        checker.state_count(),
        checker.unique_state_count(),
        begin.elapsed().as_secs_f64(),
    );
    checker.assert_properties();
}
