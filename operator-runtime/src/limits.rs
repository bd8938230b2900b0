//! What a call may use, and the one error for all of it.

use std::fmt;
use std::time::Duration;

use wasmtime::ResourceLimiter;

/// What one guest call may use. The memory and tables are those of the whole instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long one guest call may run. It is stopped up to two ticks later
    /// ([`RuntimeOptions::tick`](crate::RuntimeOptions)).
    pub deadline: Duration,
    /// How much linear memory an instance may have, in bytes.
    pub memory: usize,
    /// How much a guest call may return, in bytes of the columns, ends and reasons.
    pub output: usize,
    /// How many elements an instance's tables may have.
    pub table_elements: usize,
    /// How large the state of one key, or one partial state, may be, in bytes.
    pub state: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            memory: 256 << 20,
            output: 64 << 20,
            table_elements: 100_000,
            state: 1 << 20,
        }
    }
}

/// Which limit was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitName {
    /// [`Limits::deadline`], in milliseconds.
    Deadline,
    /// [`Limits::memory`], in bytes.
    Memory,
    /// [`Limits::output`], or the ceiling of one run, in bytes.
    Output,
    /// [`Limits::table_elements`].
    TableElements,
    /// [`Limits::state`], in bytes.
    State,
}

impl LimitName {
    fn unit(self) -> &'static str {
        match self {
            Self::Deadline => "ms",
            Self::Memory | Self::Output | Self::State => "bytes",
            Self::TableElements => "elements",
        }
    }
}

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "deadline",
            Self::Memory => "memory",
            Self::Output => "output",
            Self::TableElements => "table elements",
            Self::State => "state",
        })
    }
}

/// A guest asked for more than it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Which limit.
    pub name: LimitName,
    /// How much it allows, in the limit's unit.
    pub limit: u64,
    /// How much was in use.
    pub current: u64,
    /// How much it would have been; none where the guest was stopped before that was known.
    pub requested: Option<u64>,
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, limit, current, requested } = self;
        let unit = name.unit();
        write!(f, "limit `{name}` exceeded: limit {limit} {unit}, current {current}, requested ")?;
        match requested {
            Some(requested) => write!(f, "{requested}"),
            None => f.write_str("more"),
        }
    }
}

impl std::error::Error for LimitExceeded {}

/// Says no to memory and tables past the limits, and counts what an instance holds.
#[derive(Debug)]
pub(crate) struct Limiter {
    limits: Limits,
    memory: usize,
    table_elements: usize,
}

impl Limiter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, memory: 0, table_elements: 0 }
    }

    /// The linear memory of the instance, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }
}

/// The new total, or the error that traps the guest. A refusal that the guest could see would let
/// its answer depend on what the instance did before.
fn grow(
    name: LimitName,
    limit: usize,
    total: usize,
    current: usize,
    desired: usize,
) -> wasmtime::Result<usize> {
    let requested = total.saturating_add(desired.saturating_sub(current));
    if requested <= limit {
        return Ok(requested);
    }
    Err(wasmtime::Error::new(LimitExceeded {
        name,
        limit: limit as u64,
        current: total as u64,
        requested: Some(requested as u64),
    }))
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // The component's own maximum: it knows it, and is told so as WebAssembly says.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.memory = grow(LimitName::Memory, self.limits.memory, self.memory, current, desired)?;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        // This machine has no more memory: an answer that depends on that is no answer.
        Err(error.context("the machine refused memory that the limits allow"))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.table_elements = grow(
            LimitName::TableElements,
            self.limits.table_elements,
            self.table_elements,
            current,
            desired,
        )?;
        Ok(true)
    }

    // A component is made of several core instances; a Python one has dozens.
    fn instances(&self) -> usize {
        500
    }

    fn tables(&self) -> usize {
        100
    }

    fn memories(&self) -> usize {
        100
    }
}
