//! Which records of a key are accumulated together, and when their result is due.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::panes::Panes;
use super::sessions::{Joined, Session, Sessions};
use crate::pipeline::definition::{WindowDefinition, WindowKind};

/// The windows of an aggregate operator.
#[derive(Debug)]
pub(super) enum Windows {
    /// Tumbling and sliding windows.
    Panes(Panes),
    /// Session windows.
    Sessions(Sessions),
    /// No windows: one state a key, whose result is due whenever the watermark has risen.
    Whole(BTreeSet<Arc<[u8]>>),
}

/// Records of a key that are accumulated together, by their rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Where they belong: a pane, or a session of their own; without windows all time.
    pub(super) span: Session,
    pub(super) rows: Vec<u32>,
}

/// A key's records of a batch, by slot.
#[derive(Debug, Default)]
pub(super) struct Assigned {
    pub(super) slots: Vec<Slot>,
    /// Records that are too late.
    pub(super) late: Vec<u32>,
    /// Records without event time, where there are windows.
    pub(super) timeless: Vec<u32>,
}

/// A result that is due.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) key: Arc<[u8]>,
    /// The beginnings of the slots that it is made of.
    pub(super) slots: Vec<i64>,
}

impl Windows {
    pub(super) fn new(definition: Option<&WindowDefinition>) -> Self {
        let Some(definition) = definition else { return Self::Whole(BTreeSet::new()) };
        let millis =
            |span: std::time::Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let lateness = millis(definition.allowed_lateness);
        match definition.kind {
            WindowKind::Tumbling { size } => {
                Self::Panes(Panes::new(millis(size), millis(size), lateness))
            }
            WindowKind::Sliding { size, every } => {
                Self::Panes(Panes::new(millis(size), millis(every), lateness))
            }
            WindowKind::Session { gap } => Self::Sessions(Sessions::new(millis(gap), lateness)),
        }
    }

    /// Whether answers have to be taken in the order of the input.
    pub(super) fn in_order(&self) -> bool {
        matches!(self, Self::Sessions(_))
    }

    /// Assigns records of a key, which are rows `first..`, by their times; `watermark` is that of
    /// the input.
    pub(super) fn assign(&self, first: u32, times: &[Option<i64>], watermark: i64) -> Assigned {
        let mut assigned = Assigned::default();
        let rows = first..first + times.len() as u32;
        if let Self::Whole(_) = self {
            assigned.slots.push(Slot { span: ALL_TIME, rows: rows.collect() });
            return assigned;
        }
        let mut timed = Vec::with_capacity(times.len());
        for (row, time) in rows.zip(times) {
            match time {
                Some(time) => timed.push((row as usize, *time)),
                None => assigned.timeless.push(row),
            }
        }
        match self {
            Self::Whole(_) => {}
            Self::Sessions(sessions) => {
                let runs = sessions.runs(&timed).into_iter();
                assigned.slots = runs
                    .map(|(span, rows)| {
                        // Their order of arrival is what an operator sees.
                        let mut rows: Vec<u32> = rows.into_iter().map(|row| row as u32).collect();
                        rows.sort_unstable();
                        Slot { span, rows }
                    })
                    .collect();
            }
            Self::Panes(panes) => {
                for (row, time) in timed {
                    let begin = panes.pane_of(time);
                    if panes.is_late(begin, watermark) {
                        assigned.late.push(row as u32);
                        continue;
                    }
                    // Times rise for the most part.
                    let slot = assigned.slots.iter_mut().rev().find(|s| s.span.begin == begin);
                    match slot {
                        Some(slot) => slot.rows.push(row as u32),
                        None => {
                            let span = Session { begin, end: begin };
                            assigned.slots.push(Slot { span, rows: vec![row as u32] });
                        }
                    }
                }
            }
        }
        assigned
    }

    /// A slot of a key has been accumulated, from records that came at `watermark`; what it joins.
    pub(super) fn join(&mut self, key: &Arc<[u8]>, span: Session, watermark: i64) -> Joined {
        match self {
            Self::Sessions(sessions) => sessions.join(key, span, watermark),
            Self::Panes(panes) => {
                panes.filled(span.begin, key);
                Joined::Into { whole: span, parts: vec![span.begin] }
            }
            Self::Whole(changed) => {
                changed.insert(Arc::clone(key));
                Joined::Into { whole: span, parts: vec![span.begin] }
            }
        }
    }

    /// The results that are due again for records that came late, by their times.
    pub(super) fn due_again(&mut self) -> Vec<(i64, Vec<Due>)> {
        match self {
            Self::Panes(panes) => dues(panes.fire_again()),
            Self::Sessions(sessions) => sessions_due(sessions.fire(i64::MIN)),
            Self::Whole(_) => Vec::new(),
        }
    }

    /// The results that are due when the watermark rises to this, by their times.
    pub(super) fn due(&mut self, watermark: i64) -> Vec<(i64, Vec<Due>)> {
        match self {
            Self::Panes(panes) => dues(panes.fire(watermark)),
            Self::Sessions(sessions) => sessions_due(sessions.fire(watermark)),
            Self::Whole(changed) => {
                let due = |key| Due { key, slots: vec![ALL_TIME.begin] };
                let all: Vec<Due> = std::mem::take(changed).into_iter().map(due).collect();
                if all.is_empty() { Vec::new() } else { vec![(watermark, all)] }
            }
        }
    }

    /// What can be forgotten: the beginning of each slot, and its key.
    pub(super) fn forget(&mut self) -> Vec<(i64, Arc<[u8]>)> {
        match self {
            Self::Panes(panes) => panes.forget(),
            Self::Sessions(sessions) => {
                sessions.forget().into_iter().map(|(key, begin)| (begin, key)).collect()
            }
            Self::Whole(_) => Vec::new(),
        }
    }
}

/// The slot of a state without windows.
const ALL_TIME: Session = Session { begin: 0, end: 0 };

fn dues(windows: Vec<(i64, Vec<super::panes::Firing>)>) -> Vec<(i64, Vec<Due>)> {
    let due = |firing: super::panes::Firing| Due { key: firing.key, slots: firing.panes };
    windows
        .into_iter()
        .map(|(last, firings)| (last, firings.into_iter().map(due).collect()))
        .collect()
}

fn sessions_due(fired: Vec<(i64, Arc<[u8]>, i64)>) -> Vec<(i64, Vec<Due>)> {
    let mut all: Vec<(i64, Vec<Due>)> = Vec::new();
    for (last, key, begin) in fired {
        let due = Due { key, slots: vec![begin] };
        match all.last_mut() {
            Some((time, dues)) if *time == last && !dues.iter().any(|d| d.key == due.key) => {
                dues.push(due);
            }
            _ => all.push((last, vec![due])),
        }
    }
    all
}
