//! `keyed.process` and `migrate-state.migrate-state`.

use overspill_protocol::BatchError;
use overspill_protocol::keyed::{StateChange, TimeDomain};
use wasmtime::component::{ComponentType, Lift, Lower, TypedFunc};

use super::{
    Borrowed, BorrowedColumn, LiftedBatch, LiftedColumn, LiftedRejection, RawBatch, RawColumn,
    rejections,
};
use crate::shipment::{Groups, Timers, Unchecked};

/// `process`.
pub(crate) type ProcessFunc = TypedFunc<(RawGroups<'static>,), (RawOutcome,)>;
/// `migrate-state`.
pub(crate) type MigrateFunc = TypedFunc<(u32, RawColumn<'static>), (Result<LiftedColumn, String>,)>;

/// `time-domain`.
#[derive(ComponentType, Lift, Lower, Clone, Copy, Debug, PartialEq, Eq)]
#[component(enum)]
#[repr(u8)]
pub(crate) enum RawDomain {
    #[component(name = "event-time")]
    EventTime,
    #[component(name = "processing-time")]
    ProcessingTime,
}

impl From<TimeDomain> for RawDomain {
    fn from(domain: TimeDomain) -> Self {
        match domain {
            TimeDomain::EventTime => Self::EventTime,
            TimeDomain::ProcessingTime => Self::ProcessingTime,
        }
    }
}

impl From<RawDomain> for TimeDomain {
    fn from(domain: RawDomain) -> Self {
        match domain {
            RawDomain::EventTime => Self::EventTime,
            RawDomain::ProcessingTime => Self::ProcessingTime,
        }
    }
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct RawOptionalColumn<'a> {
    values: RawColumn<'a>,
    present: Option<&'a [bool]>,
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct RawTimers<'a> {
    times: &'a [i64],
    domains: &'a [RawDomain],
    ends: &'a [u32],
}

/// Groups as they are lowered into a guest.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct RawGroups<'a> {
    keys: RawColumn<'a>,
    states: RawOptionalColumn<'a>,
    records: RawBatch<'a>,
    #[component(name = "record-ends")]
    record_ends: &'a [u32],
    inputs: Option<&'a [u8]>,
    fired: RawTimers<'a>,
    watermark: i64,
    #[component(name = "processing-time")]
    processing_time: i64,
}

/// Groups whose columns are at hand as a guest gets them.
pub(crate) struct BorrowedKeyed<'a> {
    groups: &'a Groups,
    keys: BorrowedColumn<'a>,
    states: BorrowedColumn<'a>,
    records: Borrowed<'a>,
    domains: Vec<RawDomain>,
}

impl<'a> BorrowedKeyed<'a> {
    pub(crate) fn new(groups: &'a Groups) -> Self {
        Self {
            groups,
            keys: BorrowedColumn::new(&groups.keys),
            states: BorrowedColumn::new(groups.states.values()),
            records: Borrowed::new(&groups.records),
            domains: groups.fired.domains().iter().map(|&domain| domain.into()).collect(),
        }
    }

    pub(crate) fn raw(&self) -> RawGroups<'_> {
        let groups = self.groups;
        RawGroups {
            keys: self.keys.raw(),
            states: RawOptionalColumn {
                values: self.states.raw(),
                present: groups.states.present(),
            },
            records: self.records.raw(),
            record_ends: &groups.record_ends,
            inputs: groups.inputs.as_ref().map(|inputs| &inputs[..]),
            fired: RawTimers {
                times: groups.fired.times(),
                domains: &self.domains,
                ends: groups.fired.ends(),
            },
            watermark: groups.watermark,
            processing_time: groups.processing_time,
        }
    }
}

/// `state-change`.
#[derive(ComponentType, Lift, Clone, Copy, Debug, PartialEq, Eq)]
#[expect(dead_code, reason = "wasmtime makes the variants out of guest memory")]
#[component(enum)]
#[repr(u8)]
pub(crate) enum RawChange {
    #[component(name = "unchanged")]
    Unchanged,
    #[component(name = "replaced")]
    Replaced,
    #[component(name = "cleared")]
    Cleared,
}

impl From<RawChange> for StateChange {
    fn from(change: RawChange) -> Self {
        match change {
            RawChange::Unchanged => Self::Unchanged,
            RawChange::Replaced => Self::Replaced,
            RawChange::Cleared => Self::Cleared,
        }
    }
}

/// Timers as a guest hands them over.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct LiftedTimers {
    times: Vec<i64>,
    domains: Vec<RawDomain>,
    ends: Vec<u32>,
}

impl From<LiftedTimers> for Timers {
    fn from(lifted: LiftedTimers) -> Self {
        let LiftedTimers { times, domains, ends } = lifted;
        Self { times, domains: domains.into_iter().map(Into::into).collect(), ends }
    }
}

/// An outcome as a guest hands it over: nothing of it is checked yet.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct RawOutcome {
    records: LiftedBatch,
    ends: Vec<u32>,
    outlets: Option<Vec<u8>>,
    changes: Vec<RawChange>,
    states: LiftedColumn,
    set: LiftedTimers,
    cancelled: LiftedTimers,
    rejected: Vec<LiftedRejection>,
}

impl RawOutcome {
    /// The outcome, of which only the columns are checked.
    pub(crate) fn columns(self) -> Result<Unchecked, BatchError> {
        Ok(Unchecked {
            records: self.records.check()?,
            ends: self.ends,
            outlets: self.outlets,
            changes: self.changes.into_iter().map(Into::into).collect(),
            states: self.states.check("states")?,
            set: self.set.into(),
            cancelled: self.cancelled.into(),
            rejected: rejections(self.rejected),
        })
    }
}
