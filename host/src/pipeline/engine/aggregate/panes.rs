//! Tumbling and sliding windows of mergeable states.
//!
//! Time is cut into panes as long as windows are apart. A record belongs to one pane, and a window
//! is a run of panes, so that a record is accumulated once however many windows it is in. Which
//! record is late, when a window fires and when it is forgotten is as in Flink: a window fires
//! with the watermark of its last millisecond, and takes late records for the allowed lateness
//! after that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The panes that hold something, and the windows that they are part of. All times are in
/// milliseconds since 1970-01-01T00:00:00 UTC.
#[derive(Debug)]
pub(super) struct Panes {
    /// How long a window is.
    size: i64,
    /// How far apart the beginnings of windows are; `size` is a multiple of it.
    every: i64,
    lateness: i64,
    /// The keys of each pane, by the pane's beginning.
    panes: BTreeMap<i64, BTreeSet<Arc<[u8]>>>,
    /// Windows up to this have fired.
    watermark: i64,
    /// Windows that have fired, and the keys of theirs for which records came late.
    again: BTreeMap<i64, BTreeSet<Arc<[u8]>>>,
}

/// A window of a key that fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Firing {
    pub(super) key: Arc<[u8]>,
    /// The beginnings of its panes that hold something.
    pub(super) panes: Vec<i64>,
}

impl Panes {
    pub(super) fn new(size: i64, every: i64, lateness: i64) -> Self {
        let (panes, again) = (BTreeMap::new(), BTreeMap::new());
        Self { size, every, lateness, panes, watermark: i64::MIN, again }
    }

    /// The beginning of the pane that a time is in.
    pub(super) fn pane_of(&self, time: i64) -> i64 {
        time.saturating_sub(time.rem_euclid(self.every))
    }

    /// Whether all windows of a pane are forgotten at a watermark.
    pub(super) fn is_late(&self, pane: i64, watermark: i64) -> bool {
        self.forgotten_at(pane) <= watermark
    }

    fn forgotten_at(&self, pane: i64) -> i64 {
        pane.saturating_add(self.size - 1).saturating_add(self.lateness)
    }

    /// A key has something in a pane now.
    pub(super) fn filled(&mut self, pane: i64, key: &Arc<[u8]>) {
        self.panes.entry(pane).or_default().insert(Arc::clone(key));
        let mut begin = pane.saturating_sub(self.size - self.every);
        // The windows of the pane that have fired and are not forgotten.
        while begin <= pane && begin.saturating_add(self.size - 1) <= self.watermark {
            if !self.is_late(begin, self.watermark) {
                self.again.entry(begin).or_default().insert(Arc::clone(key));
            }
            begin = begin.saturating_add(self.every);
        }
    }

    /// Windows that fire again for records that came late: their last millisecond, and the keys.
    pub(super) fn fire_again(&mut self) -> Vec<(i64, Vec<Firing>)> {
        std::mem::take(&mut self.again)
            .into_iter()
            .map(|(begin, keys)| {
                let firings = keys.into_iter().map(|key| self.firing(begin, key)).collect();
                (begin.saturating_add(self.size - 1), firings)
            })
            .collect()
    }

    /// The watermark rises: the windows that fire, by their last millisecond, each with its keys
    /// in the order of their bytes.
    pub(super) fn fire(&mut self, watermark: i64) -> Vec<(i64, Vec<Firing>)> {
        let before = self.watermark;
        self.watermark = before.max(watermark);
        let mut windows = BTreeSet::new();
        // Older panes are only in windows that have fired.
        for (&pane, _) in self.panes.range(before.saturating_sub(self.size - 1)..) {
            let mut begin = pane.saturating_sub(self.size - self.every);
            while begin <= pane {
                let last = begin.saturating_add(self.size - 1);
                if last > watermark {
                    break;
                }
                if last > before {
                    windows.insert(begin);
                }
                begin = begin.saturating_add(self.every);
            }
            // Panes beyond this are in no window that ends in time.
            if pane > watermark {
                break;
            }
        }
        windows
            .into_iter()
            .map(|begin| {
                let panes = self.panes.range(begin..begin.saturating_add(self.size));
                let keys: BTreeSet<&Arc<[u8]>> = panes.flat_map(|(_, keys)| keys).collect();
                let firings = keys.into_iter().map(|key| self.firing(begin, Arc::clone(key)));
                (begin.saturating_add(self.size - 1), firings.collect())
            })
            .collect()
    }

    fn firing(&self, begin: i64, key: Arc<[u8]>) -> Firing {
        let panes = self.panes.range(begin..begin.saturating_add(self.size));
        let panes = panes.filter(|(_, keys)| keys.contains(&key)).map(|(pane, _)| *pane).collect();
        Firing { key, panes }
    }

    /// Forgets the panes whose windows have all had their time, and names what they held.
    pub(super) fn forget(&mut self) -> Vec<(i64, Arc<[u8]>)> {
        let mut gone = Vec::new();
        while let Some(pane) = self.panes.first_entry() {
            if self.size - 1 + self.lateness > self.watermark.saturating_sub(*pane.key()) {
                break;
            }
            let (pane, keys) = pane.remove_entry();
            gone.extend(keys.into_iter().map(|key| (pane, key)));
        }
        gone
    }

    /// How many panes hold something.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.panes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Arc<[u8]> {
        name.as_bytes().into()
    }

    fn fired(windows: &[(i64, Vec<Firing>)]) -> Vec<(i64, String, Vec<i64>)> {
        let one = |last: i64, firing: &Firing| {
            (last, String::from_utf8_lossy(&firing.key).into_owned(), firing.panes.clone())
        };
        windows.iter().flat_map(|(last, all)| all.iter().map(|f| one(*last, f))).collect()
    }

    #[test]
    fn a_tumbling_window_fires_once_with_the_watermark_of_its_last_millisecond() {
        let mut panes = Panes::new(10, 10, 0);
        panes.filled(panes.pane_of(7), &key("b"));
        panes.filled(panes.pane_of(-3), &key("a"));
        panes.filled(panes.pane_of(0), &key("a"));
        assert_eq!(fired(&panes.fire(-2)), []);
        assert_eq!(fired(&panes.fire(-1)), [(-1, "a".into(), vec![-10])]);
        assert_eq!(fired(&panes.fire(8)), []);
        let both = [(9, "a".into(), vec![0]), (9, "b".into(), vec![0])];
        assert_eq!(fired(&panes.fire(12)), both);
        assert_eq!(fired(&panes.fire(30)), []);
        assert_eq!(panes.forget().len(), 3);
        assert_eq!(panes.len(), 0);
    }

    #[test]
    fn a_sliding_window_is_made_of_the_panes_that_it_covers() {
        let mut panes = Panes::new(30, 10, 0);
        panes.filled(0, &key("a"));
        panes.filled(20, &key("a"));
        let all = fired(&panes.fire(i64::MAX));
        let expected =
            [(9, vec![0]), (19, vec![0]), (29, vec![0, 20]), (39, vec![20]), (49, vec![20])];
        let expected: Vec<_> =
            expected.into_iter().map(|(last, panes)| (last, "a".to_owned(), panes)).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn a_pane_is_late_when_its_last_window_is_forgotten() {
        let panes = Panes::new(30, 10, 5);
        assert!(!panes.is_late(0, 33));
        assert!(panes.is_late(0, 34));
    }

    #[test]
    fn a_record_within_the_allowed_lateness_fires_its_windows_again() {
        let mut panes = Panes::new(20, 10, 100);
        panes.filled(0, &key("a"));
        panes.fire(25);
        assert!(panes.fire_again().is_empty());
        panes.filled(10, &key("a"));
        // The window from 0 on has fired, that from 10 on has not.
        assert_eq!(fired(&panes.fire_again()), [(19, "a".into(), vec![0, 10])]);
        assert_eq!(fired(&panes.fire(30)), [(29, "a".into(), vec![10])]);
        assert!(panes.forget().is_empty());
        panes.fire(119);
        assert_eq!(panes.forget(), [(0, key("a"))]);
    }

    #[test]
    fn times_at_the_ends_of_the_range_do_no_harm() {
        let mut panes = Panes::new(30, 10, 5);
        for time in [i64::MIN + 1, i64::MAX] {
            let pane = panes.pane_of(time);
            panes.filled(pane, &key("a"));
        }
        panes.fire(i64::MAX);
        panes.forget();
    }
}
