//! The columns in which aggregates come and go, as the contract (`wit/aggregate.wit`) has them.

use crate::{Batch, Column, RejectedRecord};

/// Records by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordGroups {
    /// The key of each group, each at most once.
    pub keys: Column,
    /// The records of all groups, group after group. They have no column of keys.
    pub records: Batch,
    /// One entry a group: group `i` has the records `record_ends[i - 1]..record_ends[i]`.
    pub record_ends: Vec<u32>,
}

/// Partial states, one a group, in the order of the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partials {
    /// The partial of each group.
    pub values: Column,
    /// The input records that were rejected, by rising index.
    pub rejected: Vec<RejectedRecord>,
}

/// What finished partials became.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// The output records. An absent column of keys means the key of the partial; absent
    /// timestamps mean the time of the call.
    pub records: Batch,
    /// One entry a partial: partial `i` made the output records `ends[i - 1]..ends[i]`.
    pub ends: Vec<u32>,
}
