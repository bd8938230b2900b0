//! How much a keyed state holds.

/// How much a keyed state holds. States that have outlived their time count until they are swept
/// away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateStats {
    /// Keys that have a state or timers.
    pub keys: u64,
    /// Bytes of keys, states and timers (16 bytes each), wherever they are.
    pub bytes: u64,
    /// Bytes that the entries in memory take, with index and allocations.
    pub memory_bytes: usize,
    /// Keys whose state is on disk alone.
    pub spilled_keys: u64,
    /// Bytes of what is on disk alone.
    pub spilled_bytes: u64,
    /// Timers that are set.
    pub timers: u64,
}
