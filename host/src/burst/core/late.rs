//! Work that is bound late: it waits outside, where it can still grow and be ordered anew, until
//! a lane wants it.
//!
//! What waits for a key that is busy can't be given to any lane, and what waits for a key that is
//! not had better be taken together. So the driver of a keyed operator keeps the records, tells
//! the core how much waits, and asks what it wants:
//!
//! ```text
//! input                    --> arrived, outside
//! wants.local, wants.remote --> take that many pieces --> submit_for, outside, poll
//! ```

use std::time::Duration;

use super::super::breaker::BreakerState;
use super::super::interface::{Hint, Sequence, Time, Wants, Work};
use super::super::merge::Batch;
use super::super::policy::Offload;
use super::super::remote::RemoteTarget;
use super::Core;

/// How many records a piece should have, until something is known of the lanes.
const FIRST_PIECE: usize = 1024;
/// The most that a piece should have.
const LARGEST_PIECE: usize = 1 << 16;

/// What waits outside of the queue.
#[derive(Debug, Default)]
pub(super) struct Outside {
    pub(super) weight: usize,
    pub(super) bytes: usize,
}

impl<W: Work> Core<W> {
    /// How much waits outside of the core for being submitted by [`submit_for`](Self::submit_for):
    /// all that is to be done, whether it could be taken now or not. It counts as queued ahead of
    /// what is in the queue, and fills the [`room`](Self::room).
    pub fn outside(&mut self, now: Time, weight: usize, bytes: usize) {
        self.clock(now);
        self.outside = Outside { weight, bytes };
    }

    /// Records have come in. Only for those that are submitted by
    /// [`submit_for`](Self::submit_for) later; [`submit`](Self::submit) counts its own.
    pub fn arrived(&mut self, now: Time, weight: usize) {
        self.clock(now);
        self.arrivals.arrived(self.now, weight);
    }

    /// Takes work that was bound late. Where the policy sends a share of the work away, or all of
    /// it, [`wants`](Self::wants) tells for which lane the next piece is.
    pub fn submit_for(&mut self, now: Time, work: W, hint: Hint) -> Sequence {
        self.clock(now);
        let batch = Batch::new(work, self.now);
        self.enqueue(batch, hint)
    }

    /// How many more pieces of late-bound work it could use now. After each piece that is
    /// submitted, say anew what is [`outside`](Self::outside) and ask again: what the first piece
    /// leaves may not be worth sending any more.
    pub fn wants(&mut self, now: Time) -> Wants {
        self.clock(now);
        let mut wants = Wants { records: self.piece_records(), ..Wants::default() };
        if self.stopped.is_some() {
            return wants;
        }
        let local = self.local.free_places();
        let (queued, bound) = (self.queue.parts(), self.queue.parts_local_only());
        let forced = matches!(self.policy.offload, Offload::Always | Offload::Share(_));
        let reachable = |target: &RemoteTarget| target.reachable(self.now);
        if !forced || self.targets.is_empty() {
            wants.local = local.saturating_sub(queued);
            let ahead = queued.saturating_sub(local);
            wants.remote = self.worth_sending().saturating_sub(ahead);
        } else if self.next_share_says_offload() && self.targets.iter().any(reachable) {
            // One waits in the queue in any case: local lanes take it when targets don't for too
            // long.
            wants.remote = self.free_at_targets().max(1).saturating_sub(queued - bound);
        } else {
            wants.local = local.saturating_sub(bound);
        }
        wants
    }

    /// What waits, inside and outside.
    pub(super) fn waiting(&self) -> u64 {
        (self.queue.records() + self.outside.weight) as u64
    }

    fn piece_records(&self) -> usize {
        let time = (self.policy.latency_target / 4).max(Duration::from_micros(100));
        match self.local.service.seconds() {
            Some(seconds) if seconds > 0.0 => {
                ((time.as_secs_f64() / seconds) as usize).clamp(1, LARGEST_PIECE)
            }
            _ => FIRST_PIECE,
        }
    }

    /// How many calls targets could take that would serve what waits sooner than local lanes.
    fn worth_sending(&self) -> usize {
        if self.policy.offload == Offload::Never {
            return 0;
        }
        let observation = self.observation();
        let assessment = observation.assess();
        if !observation.wants_targets(&assessment) || self.output_is_the_bottleneck() {
            return 0;
        }
        let sooner = |number: &usize| {
            let expected = self.targets[*number].expected(self.now);
            self.waiting() > observation.local_share(expected)
        };
        self.open_targets().filter(sooner).map(|number| self.places_at(number)).sum()
    }

    fn free_at_targets(&self) -> usize {
        self.open_targets().map(|number| self.places_at(number)).sum()
    }

    fn open_targets(&self) -> impl Iterator<Item = usize> + '_ {
        let open = |n: &usize| self.targets[*n].usable(self.now) && !self.leverage_refuses(*n);
        (0..self.targets.len()).filter(open)
    }

    fn places_at(&self, number: usize) -> usize {
        let target = &self.targets[number];
        let free = target.capacity().saturating_sub(target.in_flight);
        if target.breaker.state(self.now) == BreakerState::HalfOpen {
            free.min(1)
        } else if target.measuring {
            free.min(RemoteTarget::CALLS_TO_MEASURE)
        } else {
            free
        }
    }

    /// What [`Self::share_says_offload`] will say next.
    fn next_share_says_offload(&self) -> bool {
        match self.policy.offload {
            Offload::Share(share) => {
                let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
                self.share_owed + share >= 1.0 - 1e-9
            }
            Offload::Auto | Offload::Always => true,
            Offload::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::{
        Action, Answer, AttemptId, Event, Lane, LocalPolicy, Order, Outcome, Policy, TargetId,
        TargetPolicy,
    };

    /// Keys, by how many records each has.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Keys(Vec<usize>);

    impl Work for Keys {
        type Answer = Keys;
        fn records(&self) -> usize {
            self.0.len()
        }
        fn weight(&self) -> usize {
            self.0.iter().sum()
        }
        fn bytes(&self) -> usize {
            self.weight() * 10
        }
        fn slice(&self, from: usize, to: usize) -> Self {
            Self(self.0[from..to].to_vec())
        }
    }

    impl Answer for Keys {
        fn records(&self) -> usize {
            self.0.len()
        }
        fn join(parts: Vec<Self>) -> Result<Self, String> {
            Ok(Self(parts.into_iter().flat_map(|part| part.0).collect()))
        }
    }

    const NOW: Time = Time(1_000_000);

    fn core(offload: Offload) -> Core<Keys> {
        let local = LocalPolicy { lanes: 1, depth: 1, ..LocalPolicy::default() };
        let targets = vec![TargetPolicy::new("a")];
        let policy = Policy { offload, targets, local, order: Order::None, ..Policy::default() };
        Core::new(policy, 1)
    }

    /// The runs that it asks for now.
    fn runs(core: &mut Core<Keys>) -> Vec<(AttemptId, Lane, Keys)> {
        std::iter::from_fn(|| core.poll(NOW))
            .filter_map(|action| match action {
                Action::Run { attempt, lane, work, .. } => Some((attempt, lane, work)),
                _ => None,
            })
            .collect()
    }

    fn done(core: &mut Core<Keys>, attempt: AttemptId, answer: Keys, taken: Duration) {
        let (outcome, host_cpu) = (Outcome::Done(answer), Duration::ZERO);
        core.handle(NOW, Event::Answered { attempt, outcome, taken, host_cpu, cold: false });
    }

    #[test]
    fn it_wants_as_much_as_local_lanes_take_while_they_keep_up() {
        let mut core = core(Offload::Auto);
        assert_eq!((core.wants(NOW).local, core.wants(NOW).remote), (1, 0));
        core.submit_for(NOW, Keys(vec![10, 10]), Hint::Local);
        assert_eq!(core.wants(NOW).local, 0, "it has what it wants");
        let [(attempt, Lane::Local(0), work)] = &runs(&mut core)[..] else { panic!() };
        done(&mut core, *attempt, work.clone(), Duration::from_millis(20));
        runs(&mut core);
        let wants = core.wants(NOW);
        assert_eq!((wants.local, wants.remote), (1, 0));
        assert_eq!(wants.records, 12, "a record takes 1 ms, and a quarter of the target is 12.5");
        assert_eq!(core.snapshot(NOW).emitted_records, 20, "records count, not keys");
    }

    #[test]
    fn what_waits_outside_counts_as_ahead_of_what_is_sent() {
        let mut core = core(Offload::Auto);
        core.submit_for(NOW, Keys(vec![20]), Hint::Local);
        let [(attempt, _, work)] = &runs(&mut core)[..] else { panic!() };
        done(&mut core, *attempt, work.clone(), Duration::from_millis(20));
        core.submit_for(NOW, Keys(vec![20]), Hint::Local);
        runs(&mut core);
        core.outside(NOW, 20, 200);
        assert_eq!(core.wants(NOW).remote, 0, "local lanes are sooner");
        core.outside(NOW, 1000, 10_000);
        assert_eq!((core.wants(NOW).local, core.wants(NOW).remote), (0, 8));
        core.submit_for(NOW, Keys(vec![30]), Hint::Anywhere);
        core.outside(NOW, 970, 9_700);
        assert_eq!(core.wants(NOW).remote, 7);
        let [(_, lane, _)] = &runs(&mut core)[..] else { panic!() };
        assert_eq!(*lane, Lane::Remote(TargetId(0)));
        let seen = core.snapshot(NOW);
        assert_eq!((seen.waiting_records, seen.held_records), (970, 1020));
        assert_eq!(core.room(), 1_000_000 - 1020);
    }

    #[test]
    fn a_share_of_the_pieces_is_for_targets() {
        let mut core = core(Offload::Share(0.5));
        for offloaded in [false, true, false, true] {
            let wants = core.wants(NOW);
            assert_eq!(wants.remote > 0, offloaded);
            assert_eq!(wants.local > 0, !offloaded);
            core.submit_for(NOW, Keys(vec![1]), Hint::Anywhere);
            let [(attempt, lane, work)] = &runs(&mut core)[..] else { panic!() };
            assert_eq!(matches!(lane, Lane::Remote(_)), offloaded);
            done(&mut core, *attempt, work.clone(), Duration::from_millis(1));
            runs(&mut core);
        }
    }

    #[test]
    fn an_answer_for_some_keys_counts_for_their_records() {
        let mut core = core(Offload::Always);
        core.submit_for(NOW, Keys(vec![90, 5, 5]), Hint::Anywhere);
        let [(attempt, _, _)] = &runs(&mut core)[..] else { panic!() };
        done(&mut core, *attempt, Keys(vec![90]), Duration::from_millis(1));
        let [(attempt, _, rest)] = &runs(&mut core)[..] else { panic!() };
        assert_eq!(*rest, Keys(vec![5, 5]));
        assert_eq!(core.snapshot(NOW).offloaded_records, 90);
        done(&mut core, *attempt, rest.clone(), Duration::from_millis(1));
        let Some(Action::Emit { answer, .. }) = core.poll(NOW) else { panic!() };
        assert_eq!(answer, Keys(vec![90, 5, 5]));
        assert_eq!(core.snapshot(NOW).offloaded_records, 100);
    }
}
