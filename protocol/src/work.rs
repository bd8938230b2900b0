//! The kinds of work that an invocation can ask for, and their answers.

use std::ops::Range;
use std::time::Duration;

use crate::keyed::{KeyedError, KeyedRecords, Partials, Shipment, ShipmentAnswer};
use crate::{Batch, Emission};

/// What an invocation asks for: one kind for each world of the contract.
///
/// It can be cut into *units*: records of a batch, keys of a shipment, groups of records by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Records for a `flatmap` operator, each on its own.
    FlatMap(Batch),
    /// Keys for a `keyed` operator, with their states, timers and records.
    Keyed(Shipment),
    /// Records by key for an `aggregate` operator to accumulate.
    Accumulate(KeyedRecords),
}

impl Request {
    /// How many units there are.
    pub fn len(&self) -> usize {
        match self {
            Self::FlatMap(batch) => batch.len(),
            Self::Keyed(shipment) => shipment.len(),
            Self::Accumulate(records) => records.len(),
        }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many records there are.
    pub fn records(&self) -> usize {
        match self {
            Self::FlatMap(batch) => batch.len(),
            Self::Keyed(shipment) => shipment.records(),
            Self::Accumulate(records) => records.records().len(),
        }
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::FlatMap(batch) => batch.bytes(),
            Self::Keyed(shipment) => shipment.bytes(),
            Self::Accumulate(records) => records.bytes(),
        }
    }

    /// The units of `range`; no record is copied.
    ///
    /// # Panics
    /// When the range reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::FlatMap(batch) => Self::FlatMap(batch.slice(range)),
            Self::Keyed(shipment) => Self::Keyed(shipment.slice(range)),
            Self::Accumulate(records) => Self::Accumulate(records.slice(range)),
        }
    }
}

impl From<Batch> for Request {
    fn from(batch: Batch) -> Self {
        Self::FlatMap(batch)
    }
}

/// The answer to the first units of a [`Request`] of the same kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one a call, beside thousands of records")]
pub enum Response {
    /// What the first records became.
    FlatMap(Emission),
    /// What the first keys became.
    Keyed(ShipmentAnswer),
    /// The partial states of the first groups.
    Accumulate(Partials),
}

/// Why something is no answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// It answers another kind of request.
    #[error("it is an answer of kind `{found}`, expected `{expected}`")]
    Kind {
        /// The kind of the answer.
        found: &'static str,
        /// That of the request.
        expected: &'static str,
    },
    /// It answers for more than was asked.
    #[error("it answers {found} of {asked} units")]
    Units {
        /// For how many units it is the answer.
        found: usize,
        /// How many there are.
        asked: usize,
    },
    /// It names what isn't in the request.
    #[error(transparent)]
    Keyed(#[from] KeyedError),
}

impl Response {
    /// For how many units of the request it is the answer: the first ones.
    pub fn len(&self) -> usize {
        match self {
            Self::FlatMap(emission) => emission.inputs(),
            Self::Keyed(answer) => answer.len(),
            Self::Accumulate(partials) => partials.len(),
        }
    }

    /// Whether it is the answer for nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::FlatMap(emission) => emission.bytes(),
            Self::Keyed(answer) => answer.bytes(),
            Self::Accumulate(partials) => partials.bytes(),
        }
    }

    /// The answer for the first `units` of the units of `asked` that this is the answer for.
    ///
    /// # Panics
    /// When this is the answer for fewer.
    pub fn first(&self, units: usize, asked: &Request) -> Self {
        match (self, asked) {
            (Self::FlatMap(emission), _) => Self::FlatMap(emission.slice(0..units)),
            (Self::Keyed(answer), _) => Self::Keyed(answer.first(units)),
            (Self::Accumulate(partials), Request::Accumulate(records)) => {
                Self::Accumulate(partials.first(units, records))
            }
            (Self::Accumulate(partials), _) => Self::Accumulate(partials.clone()),
        }
    }

    /// Checks that this can be the answer for the first units of `asked`.
    ///
    /// # Errors
    /// When it is of another kind, answers for more, or names what isn't there.
    pub fn check(&self, asked: &Request) -> Result<(), ResponseError> {
        match (self, asked) {
            (Self::FlatMap(_), Request::FlatMap(_)) => {}
            (Self::Keyed(answer), Request::Keyed(shipment)) => answer.check(shipment)?,
            (Self::Accumulate(partials), Request::Accumulate(records)) => {
                partials.check(records)?;
            }
            _ => {
                let (found, expected) = (self.kind(), asked.kind());
                return Err(ResponseError::Kind { found, expected });
            }
        }
        match self.len() <= asked.len() {
            true => Ok(()),
            false => Err(ResponseError::Units { found: self.len(), asked: asked.len() }),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::FlatMap(_) => "flatmap",
            Self::Keyed(_) => "keyed",
            Self::Accumulate(_) => "accumulate",
        }
    }
}

impl Request {
    /// What it can be cut into, as a word.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::FlatMap(_) => "record",
            Self::Keyed(_) => "key",
            Self::Accumulate(_) => "group",
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::FlatMap(_) => "flatmap",
            Self::Keyed(_) => "keyed",
            Self::Accumulate(_) => "accumulate",
        }
    }
}

/// What a guest call may use, as the pipeline says. A runner lowers it to its own limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallLimits {
    /// How long one guest call may run.
    pub deadline: Duration,
    /// How much linear memory an instance may have, in bytes.
    pub memory: usize,
    /// How much a guest call may return, in bytes.
    pub output: usize,
    /// How large the state of one key may be, in bytes.
    pub state: usize,
}

impl Default for CallLimits {
    /// 10 seconds, 256 MiB, 64 MiB of output, 1 MiB of state.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            memory: 256 << 20,
            output: 64 << 20,
            state: 1 << 20,
        }
    }
}
