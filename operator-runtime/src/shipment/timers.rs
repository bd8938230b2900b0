//! The timers of a shipment's keys while its steps run, and what they come to in the end.

use std::collections::VecDeque;

use overspill_protocol::keyed::{TimeDomain, Timer, TimerLists, TimerListsBuilder};

/// How many timers that are due at once a key's firing timers may set in one step. A timer each
/// second over a day is 86,400.
pub(super) const MOST_CHAINED: u32 = 100_000;

/// The timers of keys that are numbered from 0.
#[derive(Debug)]
pub(super) struct KeyTimers {
    shipped: TimerLists,
    /// Empty as long as no key has a timer: many operators know none.
    keys: Vec<OneKey>,
    count: usize,
    /// No timer is due before this, by clock: most steps reach none.
    earliest: [i64; 2],
    /// Keys that have set too many timers while they fired.
    runaways: Vec<u32>,
}

/// The timers of one key.
#[derive(Clone, Debug, Default)]
struct OneKey {
    /// Those that haven't fired yet, by clock, rising.
    waiting: [VecDeque<i64>; 2],
    /// What was done, in order.
    log: Vec<(Timer, Deed)>,
    /// How many timers its firing timers have set that were due at once.
    chained: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Set,
    TakenBack,
    Fired,
}

/// What was done to the timers of each key, all in all.
#[derive(Debug)]
pub(super) struct TimerEffects {
    pub(super) set: TimerLists,
    pub(super) cancelled: TimerLists,
    pub(super) fired: TimerLists,
}

impl KeyTimers {
    pub(super) fn new(shipped: &TimerLists) -> Self {
        let mut timers = Self {
            shipped: shipped.clone(),
            keys: Vec::new(),
            count: shipped.lists(),
            earliest: [i64::MAX; 2],
            runaways: Vec::new(),
        };
        if shipped.timers() > 0 {
            timers.open();
            timers.earliest = [i64::MIN; 2];
            for (key, own) in timers.keys.iter_mut().enumerate() {
                for timer in shipped.get(key) {
                    own.waiting[timer.domain as usize].push_back(timer.time);
                }
            }
        }
        timers
    }

    fn open(&mut self) {
        if self.keys.is_empty() {
            self.keys = vec![OneKey::default(); self.count];
        }
    }

    /// Sets a timer. `firing`: in a call for timers of this clock, when those up to that time are
    /// due.
    pub(super) fn set(&mut self, key: u32, timer: Timer, firing: Option<(TimeDomain, i64)>) {
        self.open();
        let earliest = &mut self.earliest[timer.domain as usize];
        *earliest = timer.time.min(*earliest);
        let own = &mut self.keys[key as usize];
        if own.set(timer)
            && firing.is_some_and(|(d, until)| d == timer.domain && timer.time <= until)
        {
            own.chained += 1;
            if own.chained > MOST_CHAINED {
                self.runaways.push(key);
            }
        }
    }

    /// Takes a timer back.
    pub(super) fn take_back(&mut self, key: u32, timer: Timer) {
        self.open();
        self.keys[key as usize].take_back(timer);
    }

    /// Takes, for each of the keys that has one at or before `until`, the earliest timer that
    /// waits for this clock: the keys, and the time of each.
    pub(super) fn fire(&mut self, domain: TimeDomain, until: i64) -> (Vec<u32>, Vec<i64>) {
        if self.earliest[domain as usize] > until || self.keys.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let due = self.fire_of(domain, until, 0..self.keys.len() as u32);
        let mut earliest = i64::MAX;
        for own in &mut self.keys {
            own.chained = 0;
            let first = own.waiting[domain as usize].front();
            earliest = first.map_or(earliest, |&first| first.min(earliest));
        }
        self.earliest[domain as usize] = earliest;
        due
    }

    /// As [`KeyTimers::fire`], for the keys `of` alone.
    pub(super) fn fire_of(
        &mut self,
        domain: TimeDomain,
        until: i64,
        of: impl IntoIterator<Item = u32>,
    ) -> (Vec<u32>, Vec<i64>) {
        let (mut keys, mut times) = (Vec::new(), Vec::new());
        for key in of {
            if let Some(time) = self.keys[key as usize].fire(domain, until) {
                keys.push(key);
                times.push(time);
            }
        }
        (keys, times)
    }

    /// Takes all timers that are due of keys whose timers would fire without end.
    pub(super) fn runaways(&mut self, domain: TimeDomain, until: i64) -> Vec<(u32, Timer)> {
        let mut due = Vec::new();
        for key in std::mem::take(&mut self.runaways) {
            while let Some(time) = self.keys[key as usize].fire(domain, until) {
                due.push((key, Timer { time, domain }));
            }
        }
        due
    }

    /// What it all comes to.
    pub(super) fn finish(mut self) -> TimerEffects {
        if self.keys.is_empty() {
            let none = TimerLists::empty(self.count);
            return TimerEffects { set: none.clone(), cancelled: none.clone(), fired: none };
        }
        let builder = || TimerListsBuilder::with_capacity(self.count);
        let (mut set, mut cancelled, mut fired) = (builder(), builder(), builder());
        let mut lists: [Vec<Timer>; 3] = Default::default();
        for (key, own) in self.keys.iter_mut().enumerate() {
            lists.iter_mut().for_each(Vec::clear);
            own.sum_up(self.shipped.get(key), &mut lists);
            let [own_set, own_cancelled, own_fired] = &lists;
            set.push(own_set.iter().copied());
            cancelled.push(own_cancelled.iter().copied());
            fired.push(own_fired.iter().copied());
        }
        TimerEffects { set: set.finish(), cancelled: cancelled.finish(), fired: fired.finish() }
    }
}

impl OneKey {
    /// Takes the earliest timer, if it is due.
    fn fire(&mut self, domain: TimeDomain, until: i64) -> Option<i64> {
        let waiting = &mut self.waiting[domain as usize];
        let time = waiting.front().copied().filter(|&time| time <= until)?;
        waiting.pop_front();
        self.log.push((Timer { time, domain }, Deed::Fired));
        Some(time)
    }

    /// Whether it wasn't set before.
    fn set(&mut self, timer: Timer) -> bool {
        let waiting = &mut self.waiting[timer.domain as usize];
        // Most timers are set for later than those before them.
        if waiting.back().is_none_or(|&last| last < timer.time) {
            waiting.push_back(timer.time);
        } else if let Err(place) = waiting.binary_search(&timer.time) {
            waiting.insert(place, timer.time);
        } else {
            // Setting one that is set already changes nothing.
            return false;
        }
        self.log.push((timer, Deed::Set));
        true
    }

    fn take_back(&mut self, timer: Timer) {
        let waiting = &mut self.waiting[timer.domain as usize];
        if let Ok(place) = waiting.binary_search(&timer.time) {
            waiting.remove(place);
        }
        // Even when it isn't set here: it may be set at home, for later than these steps reach.
        self.log.push((timer, Deed::TakenBack));
    }

    /// Adds what was done to the lists of timers set, cancelled and fired.
    fn sum_up(&mut self, shipped: impl Iterator<Item = Timer>, lists: &mut [Vec<Timer>; 3]) {
        // Stable: the last deed about a timer is what counts.
        self.log.sort_by_key(|(timer, _)| *timer);
        let [set, cancelled, fired] = lists;
        let mut shipped = shipped.peekable();
        for deeds in self.log.chunk_by(|a, b| a.0 == b.0) {
            let Some(&(timer, last)) = deeds.last() else { continue };
            while shipped.next_if(|other| *other < timer).is_some() {}
            let was_shipped = shipped.peek() == Some(&timer);
            match last {
                Deed::Set if !was_shipped => set.push(timer),
                Deed::Fired if was_shipped => fired.push(timer),
                Deed::TakenBack => cancelled.push(timer),
                // It stays as it was: set before and set again, or set here and fired here.
                Deed::Set | Deed::Fired => {}
            }
        }
    }
}
