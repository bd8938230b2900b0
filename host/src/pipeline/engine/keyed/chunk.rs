//! What a keyed operator has taken in: batches put together by key, and the keys' shares of them.

use std::ops::Range;
use std::sync::Arc;

use overspill_protocol::Batch;

use crate::burst::{Time, keyed};
use crate::pipeline::envelope::Envelope;

/// A batch that an operator has taken in.
#[derive(Debug)]
pub(super) struct Admitted {
    /// As it came.
    pub(super) envelope: Envelope,
    /// Its records, key after key.
    pub(super) grouped: Batch,
    /// Where each of those stood in the envelope.
    pub(super) rows: Vec<u32>,
    /// The number of the input that it came by.
    pub(super) input: u8,
    /// When it came.
    pub(super) at: Time,
}

/// A key's records of one batch.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) of: Arc<Admitted>,
    /// Which records of [`Admitted::grouped`].
    pub(super) rows: Range<u32>,
}

impl Chunk {
    /// The records, in the grouped batch.
    pub(super) fn range(&self) -> Range<usize> {
        self.rows.start as usize..self.rows.end as usize
    }

    /// The records are dealt with. The last chunk of a batch finishes the batch.
    pub(super) fn finish(self) {
        if let Some(admitted) = Arc::into_inner(self.of) {
            admitted.envelope.traces.finish();
        }
    }
}

impl keyed::Chunk for Chunk {
    fn records(&self) -> usize {
        self.range().len()
    }

    fn bytes(&self) -> usize {
        // An equal share: to look at each record's size would cost more than it tells.
        let grouped = &self.of.grouped;
        grouped.bytes() / grouped.len().max(1) * self.range().len()
    }
}
