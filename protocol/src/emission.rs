//! What a batch of input became.

use std::ops::Range;

use arrow_buffer::ScalarBuffer;

use crate::{Batch, BatchError};

/// Why a record was not processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The operator rejected it: its data is wrong.
    Operator,
    /// The component trapped on it.
    Trap,
    /// The component didn't finish it within its deadline.
    Deadline,
    /// The component asked for more memory than it may have.
    Memory,
    /// Its output alone is larger than a call may return.
    Output,
    /// The component's answer for it broke the contract.
    Contract,
    /// It would leave its key with a larger state than a key may have.
    State,
}

/// A record that was not processed, and why: what goes to the dead-letter path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Which record of the input batch, counted from 0.
    pub index: u32,
    /// Who gave up on it.
    pub cause: Cause,
    /// For the person who reads the dead letters.
    pub reason: String,
}

/// The output of a batch: its records, which input record made which, and what was rejected.
///
/// An emission is always sound: `ends` never decreases and covers the records, rejections are by
/// rising index, and a rejected record made no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emission {
    pub(crate) records: Batch,
    pub(crate) ends: ScalarBuffer<u32>,
    pub(crate) rejected: Vec<Rejection>,
}

/// Why some parts are no emission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmissionError {
    /// The output records are broken.
    #[error("the output records are broken: {0}")]
    Records(#[from] BatchError),
    /// There is not one end an input record.
    #[error("`ends` has {found} entries for {inputs} input records")]
    Inputs {
        /// How many ends there are.
        found: usize,
        /// How many input records there were.
        inputs: usize,
    },
    /// An end lies before the one in front of it.
    #[error("input record {index} is said to end its output at {end}, before it begins at {begin}")]
    Decreasing {
        /// Which input record, counted from 0.
        index: usize,
        /// Its first output record.
        begin: u32,
        /// The end of its output records.
        end: u32,
    },
    /// The last end is not the number of output records.
    #[error("`ends` covers {end} output records, but there are {records}")]
    Coverage {
        /// The last end; 0 when there is none.
        end: u32,
        /// How many output records there are.
        records: usize,
    },
    /// The rejections are not by rising index.
    #[error("rejection of record {index} comes after that of record {previous}")]
    Unordered {
        /// The index that is out of order.
        index: u32,
        /// The index in front of it.
        previous: u32,
    },
    /// A record that isn't in the input was rejected.
    #[error("record {index} was rejected, but there are only {inputs} input records")]
    Unknown {
        /// The index.
        index: u32,
        /// How many input records there were.
        inputs: usize,
    },
    /// A rejected record has output.
    #[error("record {index} was rejected, and yet it made {outputs} output records")]
    RejectedWithOutput {
        /// The index.
        index: u32,
        /// How many output records it made.
        outputs: u32,
    },
    /// Parts of one emission differ in which columns they have, so that the absent ones must be
    /// looked up in the input.
    #[error(
        "column `{column}` is inherited from the input in some parts of an emission and set in \
         others: resolve the parts against their input first"
    )]
    Mixed {
        /// The column's name in the contract.
        column: &'static str,
    },
    /// More records than `ends` can count.
    #[error(
        "the parts have {records} {of} records, more than the 4,294,967,295 that can be counted"
    )]
    TooMany {
        /// Of what: `input` or `output`.
        of: &'static str,
        /// How many.
        records: u64,
    },
}

impl Emission {
    /// An emission of the given parts, for a batch of `inputs` records.
    ///
    /// # Errors
    /// When the parts break the contract (`wit/types.wit`).
    pub fn new(
        inputs: usize,
        records: Batch,
        ends: impl Into<ScalarBuffer<u32>>,
        rejected: Vec<Rejection>,
    ) -> Result<Self, EmissionError> {
        let ends = ends.into();
        if ends.len() != inputs {
            return Err(EmissionError::Inputs { found: ends.len(), inputs });
        }
        if !ends.is_sorted() {
            let mut begin = 0;
            for (index, &end) in ends.iter().enumerate() {
                if end < begin {
                    return Err(EmissionError::Decreasing { index, begin, end });
                }
                begin = end;
            }
        }
        let end = ends.last().copied().unwrap_or(0);
        if end as usize != records.len() {
            return Err(EmissionError::Coverage { end, records: records.len() });
        }
        let emission = Self { records, ends, rejected };
        emission.check_rejections()?;
        Ok(emission)
    }

    fn check_rejections(&self) -> Result<(), EmissionError> {
        let mut previous = None;
        for &Rejection { index, .. } in &self.rejected {
            if let Some(previous) = previous.filter(|&previous| previous >= index) {
                return Err(EmissionError::Unordered { index, previous });
            }
            if index as usize >= self.inputs() {
                return Err(EmissionError::Unknown { index, inputs: self.inputs() });
            }
            let outputs = self.outputs_of(index as usize).len() as u32;
            if outputs != 0 {
                return Err(EmissionError::RejectedWithOutput { index, outputs });
            }
            previous = Some(index);
        }
        Ok(())
    }

    /// The emission of a batch of no records.
    pub fn empty() -> Self {
        Self { records: Batch::empty(), ends: Vec::new().into(), rejected: Vec::new() }
    }

    /// How many input records there were.
    pub fn inputs(&self) -> usize {
        self.ends.len()
    }

    /// The output records. An absent key or time column means: inherited from the input.
    pub fn records(&self) -> &Batch {
        &self.records
    }

    /// One entry an input record: input record `i` made the output records
    /// `ends[i - 1]..ends[i]`.
    pub fn ends(&self) -> &ScalarBuffer<u32> {
        &self.ends
    }

    /// The output records that input record `index` made.
    ///
    /// # Panics
    /// When there is no such input record.
    pub fn outputs_of(&self, index: usize) -> Range<usize> {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        begin as usize..self.ends[index] as usize
    }

    /// The input records that were not processed, by rising index.
    pub fn rejected(&self) -> &[Rejection] {
        &self.rejected
    }

    /// The memory that the emission takes, in bytes.
    pub fn bytes(&self) -> usize {
        let reasons: usize = self.rejected.iter().map(|r| r.reason.len() + 16).sum();
        self.records.bytes() + 4 * self.ends.len() + reasons
    }

    /// The part of the emission that the input records `inputs` made. The output records are
    /// shared, not copied.
    ///
    /// # Panics
    /// When the range reaches past the last input record.
    pub fn slice(&self, inputs: Range<usize>) -> Self {
        if inputs.is_empty() {
            return Self { records: self.records.slice(0..0), ..Self::empty() };
        }
        let first = self.outputs_of(inputs.start).start;
        let last = self.outputs_of(inputs.end - 1).end;
        let ends = self.ends.slice(inputs.start, inputs.len());
        let rejected = self.rejected_in(inputs.clone()).iter().map(|rejection| Rejection {
            index: rejection.index - inputs.start as u32,
            ..rejection.clone()
        });
        Self {
            records: self.records.slice(first..last),
            ends: match first as u32 {
                0 => ends,
                first => ends.iter().map(|end| end.wrapping_sub(first)).collect::<Vec<_>>().into(),
            },
            rejected: rejected.collect(),
        }
    }

    /// The rejections of the input records `inputs`, by their index in the whole emission.
    pub(crate) fn rejected_in(&self, inputs: Range<usize>) -> &[Rejection] {
        let place = |input| self.rejected.partition_point(|r| (r.index as usize) < input);
        &self.rejected[place(inputs.start)..place(inputs.end)]
    }
}
