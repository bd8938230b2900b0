//! Session windows of mergeable states: runs of a key's records without a gap.
//!
//! A session is from its first record to a gap after its last. Records of one key within a batch
//! that belong together are accumulated at once; what that makes joins the sessions that it
//! touches. As in Flink, a session fires with the watermark of its last millisecond and takes late
//! records for the allowed lateness after that, and windows that touch are one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A session: from `begin` up to and without `end`, in milliseconds since
/// 1970-01-01T00:00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) begin: i64,
    pub(super) end: i64,
}

impl Session {
    fn touches(self, other: Self) -> bool {
        self.begin <= other.end && other.begin <= self.end
    }

    fn with(self, other: Self) -> Self {
        Self { begin: self.begin.min(other.begin), end: self.end.max(other.end) }
    }

    /// Its last millisecond.
    pub(super) fn last(self) -> i64 {
        self.end.saturating_sub(1)
    }
}

/// What becomes of records that form a session of their own.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// They are too late.
    Late,
    /// They are part of the session `whole`, in which the sessions that began at `parts` are gone.
    Into {
        /// The session with them in it.
        whole: Session,
        /// The beginnings of the sessions that it is made of, itself excluded.
        parts: Vec<i64>,
    },
}

/// The sessions of all keys.
#[derive(Debug)]
pub(super) struct Sessions {
    gap: i64,
    lateness: i64,
    of_key: HashMap<Arc<[u8]>, BTreeMap<i64, i64>>,
    /// Sessions by their last millisecond, until they fire.
    to_fire: BTreeSet<(i64, Arc<[u8]>, i64)>,
    /// Sessions by when they are forgotten.
    to_forget: BTreeSet<(i64, Arc<[u8]>, i64)>,
    watermark: i64,
}

impl Sessions {
    pub(super) fn new(gap: i64, lateness: i64) -> Self {
        Self {
            gap,
            lateness,
            of_key: HashMap::new(),
            to_fire: BTreeSet::new(),
            to_forget: BTreeSet::new(),
            watermark: i64::MIN,
        }
    }

    /// Cuts records, by their times, into runs that belong together: each run's records by their
    /// places, in the order of their times.
    pub(super) fn runs(&self, times: &[(usize, i64)]) -> Vec<(Session, Vec<usize>)> {
        let mut times = times.to_vec();
        times.sort_by_key(|(_, time)| *time);
        let mut runs: Vec<(Session, Vec<usize>)> = Vec::new();
        for (place, time) in times {
            let own = Session { begin: time, end: time.saturating_add(self.gap) };
            match runs.last_mut() {
                Some((run, places)) if run.touches(own) => {
                    *run = run.with(own);
                    places.push(place);
                }
                _ => runs.push((own, vec![place])),
            }
        }
        runs
    }

    /// Records of a key, which came when the watermark was `watermark`, join its sessions.
    pub(super) fn join(&mut self, key: &Arc<[u8]>, run: Session, watermark: i64) -> Joined {
        // Sessions of a key don't touch each other: those that touch the run are neighbours.
        let earlier = self.of_key.get(key).into_iter().flat_map(|all| all.range(..=run.end).rev());
        let mut touching: Vec<Session> = earlier
            .map(|(&begin, &end)| Session { begin, end })
            .take_while(|session| session.touches(run))
            .collect();
        touching.reverse();
        let whole = touching.iter().fold(run, |whole, session| whole.with(*session));
        if whole.last().saturating_add(self.lateness) <= watermark {
            return Joined::Late;
        }
        let parts = touching.iter().map(|session| session.begin).collect();
        for session in touching {
            if let Some(sessions) = self.of_key.get_mut(key) {
                sessions.remove(&session.begin);
            }
            self.unlist(key, session);
        }
        let sessions = self.of_key.entry(Arc::clone(key)).or_default();
        sessions.insert(whole.begin, whole.end);
        self.to_fire.insert((whole.last(), Arc::clone(key), whole.begin));
        let forgotten = whole.last().saturating_add(self.lateness);
        self.to_forget.insert((forgotten, Arc::clone(key), whole.begin));
        Joined::Into { whole, parts }
    }

    fn unlist(&mut self, key: &Arc<[u8]>, session: Session) {
        self.to_fire.remove(&(session.last(), Arc::clone(key), session.begin));
        let forgotten = session.last().saturating_add(self.lateness);
        self.to_forget.remove(&(forgotten, Arc::clone(key), session.begin));
    }

    /// The sessions that fire at a watermark, or again because records came late: last
    /// millisecond, key and beginning, in this order.
    pub(super) fn fire(&mut self, watermark: i64) -> Vec<(i64, Arc<[u8]>, i64)> {
        self.watermark = self.watermark.max(watermark);
        let mut fired = Vec::new();
        while let Some(first) = self.to_fire.first() {
            if first.0 > self.watermark {
                break;
            }
            fired.extend(self.to_fire.pop_first());
        }
        fired
    }

    /// Forgets the sessions that have had their time: key and beginning.
    pub(super) fn forget(&mut self) -> Vec<(Arc<[u8]>, i64)> {
        let mut gone = Vec::new();
        while self.to_forget.first().is_some_and(|(at, ..)| *at <= self.watermark) {
            let Some((_, key, begin)) = self.to_forget.pop_first() else { break };
            if let Some(sessions) = self.of_key.get_mut(&key) {
                sessions.remove(&begin);
                if sessions.is_empty() {
                    self.of_key.remove(&key);
                }
            }
            gone.push((key, begin));
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn key() -> Arc<[u8]> {
        b"k".as_slice().into()
    }

    fn session(begin: i64, end: i64) -> Session {
        Session { begin, end }
    }

    #[test]
    fn records_without_a_gap_are_one_run() {
        let sessions = Sessions::new(10, 0);
        let runs = sessions.runs(&[(0, 30), (1, 5), (2, 15), (3, 26)]);
        assert_eq!(runs, [(session(5, 25), vec![1, 2]), (session(26, 40), vec![3, 0])]);
    }

    #[test]
    fn a_run_joins_the_sessions_that_it_touches() {
        let mut sessions = Sessions::new(10, 0);
        let alone = |whole| Joined::Into { whole, parts: vec![] };
        let none = i64::MIN;
        assert_eq!(sessions.join(&key(), session(0, 10), none), alone(session(0, 10)));
        assert_eq!(sessions.join(&key(), session(30, 40), none), alone(session(30, 40)));
        let bridge = sessions.join(&key(), session(10, 31), none);
        assert_eq!(bridge, Joined::Into { whole: session(0, 40), parts: vec![0, 30] });
        assert_eq!(sessions.fire(38), []);
        assert_eq!(sessions.fire(39), [(39, key(), 0)]);
        assert_eq!(sessions.forget(), [(key(), 0)]);
        assert!(sessions.of_key.is_empty());
    }

    #[test]
    fn a_late_run_is_late_unless_it_joins_a_session_that_is_not() {
        let mut sessions = Sessions::new(10, 0);
        sessions.join(&key(), session(15, 40), 0);
        assert_eq!(sessions.join(&key(), session(0, 10), 20), Joined::Late);
        let joined = sessions.join(&key(), session(6, 16), 20);
        assert_eq!(joined, Joined::Into { whole: session(6, 40), parts: vec![15] });
    }

    #[test]
    fn a_session_within_the_allowed_lateness_fires_again() {
        let mut sessions = Sessions::new(10, 50);
        sessions.join(&key(), session(0, 10), 0);
        assert_eq!(sessions.fire(20).len(), 1);
        assert!(sessions.forget().is_empty());
        sessions.join(&key(), session(5, 15), 20);
        assert_eq!(sessions.fire(20), [(14, key(), 0)]);
        sessions.fire(64);
        assert_eq!(sessions.forget(), [(key(), 0)]);
    }

    #[test]
    fn runs_in_any_order_make_the_sessions_of_all_their_records() {
        for seed in 0..2_000 {
            let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
            let mut times: Vec<i64> = (0..40).map(|_| random.random_range(0..400)).collect();
            let mut sessions = Sessions::new(10, 0);
            for batch in times.chunks(7) {
                let places: Vec<_> = batch.iter().copied().enumerate().collect();
                for (run, _) in sessions.runs(&places) {
                    sessions.join(&key(), run, i64::MIN);
                }
            }
            times.sort_unstable();
            let mut expected: Vec<(i64, i64)> = Vec::new();
            for time in times {
                match expected.last_mut() {
                    Some((_, end)) if time <= *end => *end = time + 10,
                    _ => expected.push((time, time + 10)),
                }
            }
            let found: Vec<_> = sessions.of_key[&key()].iter().map(|(b, e)| (*b, *e)).collect();
            assert_eq!(found, expected, "seed {seed}");
            let lasts: Vec<_> = sessions.fire(i64::MAX).iter().map(|fired| fired.0).collect();
            assert_eq!(lasts, expected.iter().map(|e| e.1 - 1).collect::<Vec<_>>(), "seed {seed}");
        }
    }
}
