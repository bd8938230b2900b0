//! `aggregate.accumulate`, `merge` and `finish`.

use overspill_protocol::{Batch, BatchError, Column, Rejection};
use wasmtime::component::{ComponentType, Lift, Lower, TypedFunc};

use super::{
    Borrowed, BorrowedColumn, LiftedBatch, LiftedColumn, LiftedRejection, RawBatch, RawColumn,
    rejections,
};

/// `accumulate`.
pub(crate) type AccumulateFunc = TypedFunc<(RawAggregateGroups<'static>,), (RawPartials,)>;
/// `merge`.
pub(crate) type MergeFunc = TypedFunc<(RawColumn<'static>, &'static [u32]), (LiftedColumn,)>;
/// `finish`.
pub(crate) type FinishFunc =
    TypedFunc<(RawColumn<'static>, RawColumn<'static>, i64), (RawResults,)>;

/// Records by key as they are lowered into a guest.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct RawAggregateGroups<'a> {
    keys: RawColumn<'a>,
    records: RawBatch<'a>,
    #[component(name = "record-ends")]
    record_ends: &'a [u32],
}

/// Records by key whose columns are at hand as a guest gets them.
pub(crate) struct BorrowedGroups<'a> {
    keys: BorrowedColumn<'a>,
    records: Borrowed<'a>,
    record_ends: &'a [u32],
}

impl<'a> BorrowedGroups<'a> {
    pub(crate) fn new(keys: &'a Column, records: &'a Batch, record_ends: &'a [u32]) -> Self {
        Self { keys: BorrowedColumn::new(keys), records: Borrowed::new(records), record_ends }
    }

    pub(crate) fn raw(&self) -> RawAggregateGroups<'_> {
        RawAggregateGroups {
            keys: self.keys.raw(),
            records: self.records.raw(),
            record_ends: self.record_ends,
        }
    }
}

/// Partials as a guest hands them over.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct RawPartials {
    values: LiftedColumn,
    rejected: Vec<LiftedRejection>,
}

impl RawPartials {
    /// The partials and rejections, of which only the column is checked.
    pub(crate) fn columns(self) -> Result<(Column, Vec<Rejection>), BatchError> {
        Ok((self.values.check("values")?, rejections(self.rejected)))
    }
}

/// What finished partials became, as a guest hands it over.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct RawResults {
    records: LiftedBatch,
    ends: Vec<u32>,
}

impl RawResults {
    /// The output records and the ends, of which only the columns are checked.
    pub(crate) fn columns(self) -> Result<(Batch, Vec<u32>), BatchError> {
        Ok((self.records.check()?, self.ends))
    }
}
