//! Claims about the core, each in a story of a few events.

use std::time::Duration;

use super::super::breaker::BreakerState;
use super::super::decision::DecisionKind;
use super::super::interface::{
    Action, Answer, AttemptId, Event, Lane, Outcome, Sequence, TargetId, Time, Work,
};
use super::super::policy::{LocalPolicy, Offload, Policy, Runners, TargetPolicy};
use super::Core;

/// The records `.0..=.1` less one, of one byte each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span(usize, usize);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Answered(Vec<Span>);

impl Work for Span {
    type Answer = Answered;
    fn records(&self) -> usize {
        self.1 - self.0
    }
    fn bytes(&self) -> usize {
        self.1 - self.0
    }
    fn slice(&self, from: usize, to: usize) -> Self {
        Self(self.0 + from, self.0 + to)
    }
}

impl Answer for Answered {
    fn records(&self) -> usize {
        self.0.iter().map(Work::records).sum()
    }
    fn join(parts: Vec<Self>) -> Result<Self, String> {
        Ok(Self(parts.into_iter().flat_map(|part| part.0).collect()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    attempt: AttemptId,
    lane: Lane,
    work: Span,
    with_module: bool,
}

/// A core, and what it said.
struct Story {
    core: Core<Span>,
    now: Time,
    runs: Vec<Run>,
    emitted: Vec<(Sequence, Answered)>,
    cancelled: Vec<AttemptId>,
    scaled: Vec<usize>,
    stopped: Option<String>,
}

const A: TargetId = TargetId(0);
const B: TargetId = TargetId(1);
const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn policy(offload: Offload, targets: usize) -> Policy {
    let local = LocalPolicy { lanes: 1, depth: 1, ..LocalPolicy::default() };
    let targets = ["a", "b"][..targets].iter().map(|name| TargetPolicy::new(*name)).collect();
    Policy { offload, targets, local, ..Policy::default() }
}

impl Story {
    fn new(policy: Policy) -> Self {
        Self {
            core: Core::new(policy, 1),
            now: Time(0),
            runs: Vec::new(),
            emitted: Vec::new(),
            cancelled: Vec::new(),
            scaled: Vec::new(),
            stopped: None,
        }
    }

    /// Submits a batch of ten records, and returns what the core ran upon it.
    fn submit(&mut self) -> Vec<Run> {
        self.core.submit(self.now, Span(0, 10));
        self.poll()
    }

    fn poll(&mut self) -> Vec<Run> {
        let before = self.runs.len();
        while let Some(action) = self.core.poll(self.now) {
            match action {
                Action::Run { attempt, lane, work, with_module, .. } => {
                    self.runs.push(Run { attempt, lane, work, with_module });
                }
                Action::Emit { sequence, answer } => self.emitted.push((sequence, answer)),
                Action::Cancel { attempt } => self.cancelled.push(attempt),
                Action::Scale { runners, .. } => self.scaled.push(runners),
                Action::Stop { reason, .. } => self.stopped = Some(reason),
            }
        }
        self.runs[before..].to_vec()
    }

    fn pass(&mut self, time: Duration) -> Vec<Run> {
        self.now = self.now + time;
        self.poll()
    }

    fn ends(&mut self, run: &Run, outcome: Outcome<Answered>) -> Vec<Run> {
        self.ends_after(run, outcome, MILLISECOND, false)
    }

    fn ends_after(
        &mut self,
        run: &Run,
        outcome: Outcome<Answered>,
        host_cpu: Duration,
        cold: bool,
    ) -> Vec<Run> {
        self.now = self.now + MILLISECOND;
        self.core.handle(
            self.now,
            Event::Answered { attempt: run.attempt, outcome, taken: MILLISECOND, host_cpu, cold },
        );
        self.poll()
    }

    fn done(&mut self, run: &Run) -> Vec<Run> {
        self.ends(run, Outcome::Done(Answered(vec![run.work.clone()])))
    }

    fn lost(&mut self, run: &Run) -> Vec<Run> {
        self.ends(run, Outcome::Lost { reason: "it broke".into() })
    }

    fn decided(&mut self, kind: DecisionKind) -> bool {
        self.core.decisions().any(|decision| decision.kind == kind)
    }
}

/// The only run of several.
fn only(runs: Vec<Run>) -> Run {
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs[0].clone()
}

fn whole() -> Answered {
    Answered(vec![Span(0, 10)])
}

#[test]
fn without_targets_every_batch_goes_through_a_local_lane() {
    let mut story = Story::new(policy(Offload::Auto, 0));
    let run = only(story.submit());
    assert_eq!((run.lane, &run.work), (Lane::Local(0), &Span(0, 10)));
    assert!(story.submit().is_empty(), "the lane is taken");
    assert_eq!(only(story.done(&run)).lane, Lane::Local(0));
    assert_eq!(story.emitted, [(Sequence(0), whole())]);
}

#[test]
fn what_was_sent_away_is_kept_until_it_is_emitted() {
    let mut story = Story::new(policy(Offload::Always, 1));
    let first = only(story.submit());
    let second = only(story.submit());
    assert_eq!((first.lane, second.lane), (Lane::Remote(A), Lane::Remote(A)));
    story.done(&second);
    let held: Vec<_> = story.core.in_flight().map(|(sequence, _)| sequence.0).collect();
    assert_eq!(held, [0, 1], "the second is answered, but not emitted");
    story.done(&first);
    assert_eq!(story.core.in_flight().count(), 0);
    assert_eq!(story.emitted.iter().map(|e| e.0.0).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_lost_call_is_repeated_after_a_wait_and_then_left_to_local_lanes() {
    let mut story = Story::new(policy(Offload::Always, 1));
    let mut run = only(story.submit());
    for _ in 0..2 {
        assert!(story.lost(&run).is_empty(), "not at once");
        run = only(story.pass(SECOND));
        assert_eq!(run.lane, Lane::Remote(A));
    }
    let last = only(story.lost(&run));
    assert_eq!(last.lane, Lane::Local(0), "three failures are enough");
    story.done(&last);
    assert_eq!(story.emitted, [(Sequence(0), whole())]);
}

#[test]
fn a_lost_call_goes_to_another_target_at_once() {
    let mut story = Story::new(policy(Offload::Always, 2));
    let run = only(story.submit());
    let next = only(story.lost(&run));
    assert_eq!((run.lane, next.lane), (Lane::Remote(A), Lane::Remote(B)));
}

#[test]
fn what_a_target_refuses_for_good_is_left_to_local_lanes() {
    let mut story = Story::new(policy(Offload::Always, 2));
    let run = only(story.submit());
    let outcome = Outcome::Failed { reason: "too hard".into(), retryable: false };
    assert_eq!(only(story.ends(&run, outcome)).lane, Lane::Local(0));
}

#[test]
fn a_throttle_halves_the_limit_and_its_wait_is_kept() {
    let mut story = Story::new(policy(Offload::Always, 1));
    let run = only(story.submit());
    let retry_after = Some(SECOND * 3);
    assert!(story.ends(&run, Outcome::Overloaded { retry_after }).is_empty());
    assert_eq!(story.core.snapshot(story.now).targets[0].limit, 4);
    assert!(story.decided(DecisionKind::LimitCut(A)));
    assert!(story.pass(SECOND * 2).is_empty());
    assert_eq!(only(story.pass(SECOND * 2)).lane, Lane::Remote(A));
}

#[test]
fn a_runner_without_the_module_gets_it_at_once() {
    let mut story = Story::new(policy(Offload::Always, 1));
    let run = only(story.submit());
    assert!(!run.with_module);
    let again = only(story.ends(&run, Outcome::NeedModule));
    assert_eq!((again.lane, again.with_module, &again.work), (run.lane, true, &run.work));
    let third = story.ends(&again, Outcome::NeedModule);
    assert!(third.is_empty(), "one that asks although it was sent has failed");
}

#[test]
fn work_whose_state_a_runner_lacks_is_sent_again_at_once_but_not_for_ever() {
    let mut story = Story::new(policy(Offload::Always, 1));
    let mut run = only(story.submit());
    for _ in 0..3 {
        let again = only(story.ends(&run, Outcome::NeedState));
        assert_eq!((again.lane, again.with_module, &again.work), (run.lane, false, &run.work));
        run = again;
    }
    assert_eq!(story.core.snapshot(story.now).targets[0].counts.errors, 0);
    let fifth = story.ends(&run, Outcome::NeedState);
    assert!(fifth.is_empty(), "one that lacks what it is sent has failed");
}

#[test]
fn the_rest_of_a_partial_answer_is_run_again() {
    let mut story = Story::new(policy(Offload::Always, 1));
    let run = only(story.submit());
    let rest = only(story.ends(&run, Outcome::Done(Answered(vec![Span(0, 4)]))));
    assert_eq!(rest.work, Span(4, 10));
    assert!(story.emitted.is_empty());
    story.done(&rest);
    assert_eq!(story.emitted, [(Sequence(0), Answered(vec![Span(0, 4), Span(4, 10)]))]);
}

#[test]
fn an_answer_for_nothing_or_for_too_much_is_a_failure() {
    for claim in [vec![], vec![Span(0, 10), Span(10, 11)]] {
        let mut story = Story::new(policy(Offload::Always, 1));
        let run = only(story.submit());
        story.ends(&run, Outcome::Done(Answered(claim)));
        assert!(story.emitted.is_empty());
        assert_eq!(story.core.snapshot(story.now).targets[0].counts.errors, 1);
        assert_eq!(only(story.pass(SECOND)).work, Span(0, 10));
    }
}

#[test]
fn a_late_answer_from_a_zombie_is_used_when_there_is_no_other() {
    let mut story = Story::new(Policy { hedge: false, ..policy(Offload::Always, 1) });
    let run = only(story.submit());
    let again = only(story.pass(SECOND * 13));
    assert_eq!(story.cancelled, [run.attempt], "its time is over");
    story.done(&run);
    assert_eq!(story.emitted, [(Sequence(0), whole())]);
    assert_eq!(story.cancelled, [run.attempt, again.attempt]);
}

#[test]
fn a_late_answer_from_a_zombie_is_dropped_when_there_is_another() {
    let mut story = Story::new(Policy { hedge: false, ..policy(Offload::Always, 1) });
    let run = only(story.submit());
    let again = only(story.pass(SECOND * 13));
    story.done(&again);
    story.done(&run);
    story.done(&run);
    assert_eq!(story.emitted, [(Sequence(0), whole())]);
    assert_eq!(story.core.snapshot(story.now).duplicates_dropped, 2);
}

#[test]
fn a_zombie_that_did_more_than_a_partial_answer_replaces_it() {
    let mut story = Story::new(Policy { hedge: false, ..policy(Offload::Always, 1) });
    let run = only(story.submit());
    let again = only(story.pass(SECOND * 13));
    let rest = only(story.ends(&again, Outcome::Done(Answered(vec![Span(0, 4)]))));
    story.done(&run);
    assert_eq!(story.emitted, [(Sequence(0), whole())]);
    assert_eq!(story.cancelled, [run.attempt, rest.attempt]);
    assert_eq!(story.core.snapshot(story.now).duplicates_dropped, 1);
}

#[test]
fn a_straggler_at_the_head_is_run_again_on_a_local_lane() {
    let mut story = Story::new(policy(Offload::Always, 1));
    let run = only(story.submit());
    assert!(story.pass(MILLISECOND * 99).is_empty(), "four times the usual 25 ms");
    let hedge = only(story.pass(MILLISECOND));
    assert_eq!(hedge.lane, Lane::Local(0));
    assert!(story.pass(SECOND).is_empty(), "once is enough");
    story.done(&hedge);
    assert_eq!(story.emitted, [(Sequence(0), whole())]);
    story.done(&run);
    assert_eq!(story.emitted.len(), 1);
}

#[test]
fn a_call_that_warms_a_runner_up_is_not_cut_off() {
    let mut story = Story::new(policy(Offload::Always, 1));
    let first = only(story.submit());
    let hedge = only(story.pass(MILLISECOND * 100));
    story.done(&hedge);
    assert_eq!(story.emitted.len(), 1);
    assert!(story.cancelled.is_empty(), "nothing is known of the target");
    story.done(&first);
    assert_eq!(story.core.snapshot(story.now).duplicates_dropped, 1);
    let second = only(story.submit());
    let hedge = only(story.pass(MILLISECOND * 100));
    story.done(&hedge);
    assert_eq!(story.cancelled, [second.attempt], "it is known to be faster");
    assert_eq!(story.core.snapshot(story.now).targets[0].in_flight, 0);
}

#[test]
fn after_failures_in_a_row_only_a_probe_is_sent() {
    let mut story = Story::new(Policy { hedge: false, ..policy(Offload::Always, 1) });
    story.core.policy.local.depth = 100;
    let mut runs: Vec<Run> = (0..8).flat_map(|_| story.submit()).collect();
    for run in runs.drain(..5) {
        story.pass(MILLISECOND * 10);
        story.lost(&run);
    }
    assert_eq!(story.core.snapshot(story.now).targets[0].breaker, BreakerState::Open);
    assert!(story.decided(DecisionKind::BreakerOpened(A)));
    let waiting = |runs: &[Run]| runs.iter().filter(|r| r.lane == Lane::Remote(A)).count();
    assert_eq!(waiting(&story.pass(SECOND / 2)), 0);
    story.submit();
    let probes = story.pass(SECOND);
    assert_eq!(waiting(&probes), 1, "{probes:?}");
    let probe = probes.iter().find(|r| r.lane == Lane::Remote(A)).expect("it was counted");
    story.done(probe);
    assert!(story.decided(DecisionKind::BreakerClosed(A)));
}

#[test]
fn when_no_target_works_local_lanes_take_what_was_to_be_sent() {
    let mut policy = policy(Offload::Always, 1);
    policy.targets[0].breaker_failures = 1;
    let mut story = Story::new(policy);
    let run = only(story.submit());
    assert_eq!(only(story.lost(&run)).lane, Lane::Local(0));
    assert!(story.submit().is_empty(), "the lane is taken");
}

#[test]
fn what_no_lane_can_do_stops_the_operator_and_emits_nothing() {
    let mut story = Story::new(policy(Offload::Auto, 0));
    let mut run = only(story.submit());
    for _ in 0..2 {
        run = only(story.lost(&run));
    }
    assert!(story.lost(&run).is_empty());
    let why = story.stopped.clone().expect("it stops");
    assert!(why.contains("failed 3 times at records 0 to 10 of batch 0"), "{why}");
    assert!(why.contains("it broke"), "{why}");
    assert_eq!(story.core.stopped(), Some(why.as_str()));
    assert!(story.emitted.is_empty() && story.core.in_flight().count() == 1);
}

#[test]
fn work_is_cut_to_what_a_target_takes() {
    let mut policy = policy(Offload::Always, 1);
    policy.targets[0].max_payload = 4;
    let mut story = Story::new(policy);
    let runs = story.submit();
    let works: Vec<Span> = runs.iter().map(|run| run.work.clone()).collect();
    assert_eq!(works, [Span(0, 4), Span(4, 8), Span(8, 10)]);
    for run in runs.iter().rev() {
        story.done(run);
    }
    assert_eq!(story.emitted, [(Sequence(0), Answered(works))]);
}

#[test]
fn a_record_that_fits_no_target_is_processed_here() {
    let mut policy = policy(Offload::Always, 1);
    policy.targets[0].max_payload = 0;
    let mut story = Story::new(policy);
    assert_eq!(only(story.submit()).work, Span(0, 1));
    assert_eq!(story.runs[0].lane, Lane::Local(0));
}

#[test]
fn a_share_of_the_batches_is_sent_and_the_others_are_not() {
    let mut story = Story::new(policy(Offload::Share(0.3), 1));
    story.core.policy.local.depth = 1000;
    story.core.targets[0].limit = super::super::limit::Limit::new(1000, 1000);
    let mut away = 0;
    for _ in 0..100 {
        for run in story.submit() {
            away += usize::from(run.lane == Lane::Remote(A));
            story.done(&run);
        }
    }
    assert_eq!((away, story.emitted.len()), (30, 100));
}

#[test]
fn it_is_full_by_records_or_by_bytes_until_batches_are_emitted() {
    let full = |queue_records, queue_bytes| {
        let policy = Policy { queue_records, queue_bytes, ..policy(Offload::Auto, 0) };
        let mut story = Story::new(policy);
        let run = only(story.submit());
        let before = story.core.room();
        story.done(&run);
        (before, story.core.room())
    };
    assert_eq!(full(25, 1000), (15, 25));
    assert_eq!(full(10, 1000), (0, 10));
    assert_eq!(full(1000, 10), (0, 1000));
}

#[test]
fn a_spent_budget_keeps_everything_here() {
    let mut policy = policy(Offload::Always, 1);
    policy.targets[0].budget = Some(1.0);
    let mut story = Story::new(policy);
    story.core.handle(story.now, Event::Spent { target: A, dollars: 1.5 });
    assert!(story.decided(DecisionKind::BudgetSpent(A)));
    assert_eq!(only(story.submit()).lane, Lane::Local(0));
}

#[test]
fn a_runner_that_cannot_start_is_tried_again_later() {
    let mut policy = policy(Offload::Always, 1);
    policy.targets[0].runners = Runners::started(2, 4);
    let mut story = Story::new(policy);
    let run = only(story.submit());
    assert_eq!((run.lane, &story.scaled), (Lane::Remote(A), &vec![1]));
    let reason = "no such file".into();
    story.core.handle(story.now, Event::StartFailed { target: A, reason });
    assert_eq!(only(story.lost(&run)).lane, Lane::Local(0));
    assert_eq!(story.scaled, [1, 0]);
    assert!(story.decided(DecisionKind::StartFailed(A)));
    story.pass(SECOND * 40);
    story.submit();
    assert_eq!(story.scaled, [1, 0, 1]);
}

#[test]
fn nothing_is_sent_away_while_the_output_is_the_bottleneck() {
    let mut story = Story::new(Policy { latency_target: MILLISECOND, ..policy(Offload::Auto, 1) });
    let first = only(story.submit());
    story.core.output_blocked(story.now, true);
    for _ in 0..50 {
        story.submit();
    }
    let away = |runs: &[Run]| runs.iter().filter(|run| run.lane == Lane::Remote(A)).count();
    assert_eq!(away(&story.done(&first)), 0);
    story.core.output_blocked(story.now, false);
    assert_eq!(away(&story.pass(MILLISECOND)), 0, "it was blocked just now");
    assert!(away(&story.pass(MILLISECOND)) > 0);
}

#[test]
fn the_start_of_a_runner_does_not_count_against_its_leverage() {
    let mut story = Story::new(policy(Offload::Always, 1));
    (0..5).for_each(|_| story.core.local.sample(10, MILLISECOND, MILLISECOND));
    let mut answer = |host_cpu, cold| {
        let run = only(story.submit());
        let whole = Outcome::Done(Answered(vec![run.work.clone()]));
        story.ends_after(&run, whole, host_cpu, cold);
        story.core.leverage(0)
    };
    for _ in 0..5 {
        assert_eq!(answer(SECOND, true), None, "nothing is known yet");
    }
    (0..2).for_each(|_| assert_eq!(answer(MILLISECOND / 4, false), None));
    let leverage = answer(MILLISECOND / 4, false).expect("three batches tell it");
    assert!((leverage - 4.0).abs() < 1e-9, "{leverage}");
}
