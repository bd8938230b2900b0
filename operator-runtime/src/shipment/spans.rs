//! Parts of a call: groups, or some of the records of one group.

use std::ops::Range;

use super::Groups;

/// A part of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) groups: Range<usize>,
    /// For a part of the records of a single group: which of the call's records.
    pub(super) records: Option<Range<usize>>,
    /// Whether one of its records is known to take too long.
    pub(super) searching: bool,
}

impl Span {
    /// A whole call of `groups` groups.
    pub(super) fn all(groups: usize, searching: bool) -> Self {
        Self { groups: 0..groups, records: None, searching }
    }

    /// Whether it is the whole call.
    pub(super) fn is_all(&self, call: &Groups) -> bool {
        self.records.is_none() && self.groups.len() == call.len()
    }

    /// How many records and timers there are in it.
    pub(super) fn weight(&self, call: &Groups) -> usize {
        match &self.records {
            Some(records) => records.len(),
            None => call.weight(self.groups.clone()),
        }
    }

    /// The number of its first record in the call.
    pub(super) fn first_record(&self, call: &Groups) -> usize {
        match &self.records {
            Some(records) => records.start,
            None => call.records_of(self.groups.clone()).start,
        }
    }

    /// Two parts, of which the first weighs no more than `most`, if it can be cut so; else it is
    /// a group. None: it can't be cut.
    pub(super) fn cut(&self, call: &Groups, most: usize) -> Option<(Self, Self)> {
        if self.groups.len() == 1 {
            return self.cut_records(call, most, self.searching);
        }
        let (mut low, mut high) = (1, self.groups.len() - 1);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            let groups = self.groups.start..self.groups.start + middle;
            match call.weight(groups) <= most {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        Some(self.cut_groups(low, self.searching))
    }

    /// Two halves of a part that isn't a single record or timer.
    pub(super) fn halve(&self, call: &Groups, searching: bool) -> (Self, Self) {
        if self.groups.len() == 1 {
            let half = self.weight(call) / 2;
            if let Some(halves) = self.cut_records(call, half, searching) {
                return halves;
            }
        }
        self.cut_groups(self.groups.len() / 2, searching)
    }

    fn cut_groups(&self, first: usize, searching: bool) -> (Self, Self) {
        let middle = self.groups.start + first;
        let part = |groups| Self { groups, records: None, searching };
        (part(self.groups.start..middle), part(middle..self.groups.end))
    }

    fn cut_records(&self, call: &Groups, first: usize, searching: bool) -> Option<(Self, Self)> {
        let all = self.records.clone().unwrap_or_else(|| call.records_of(self.groups.clone()));
        if all.len() < 2 {
            return None;
        }
        let middle = all.start + first.clamp(1, all.len() - 1);
        let part =
            |records| Self { groups: self.groups.clone(), records: Some(records), searching };
        Some((part(all.start..middle), part(middle..all.end)))
    }
}
