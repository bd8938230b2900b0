//! How much of a message a receiver is ready to take in.

/// What a decoder accepts at most.
///
/// A decoder allocates no more than these limits and the bytes that really came justify, whatever
/// a message claims of itself. A sender finds out beforehand with
/// [`Invocation::encoded_len`](crate::Invocation::encoded_len) and
/// [`Reply::encoded_len`](crate::Reply::encoded_len).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a message as it travels, header included.
    pub max_message: usize,
    /// Bytes of a message's body once it is decompressed.
    pub max_uncompressed: usize,
    /// Records of a batch, or of all steps of a shipment; of an answer, the output records. Also
    /// how many there may be of anything that is counted by record or key, such as timers.
    pub max_records: usize,
    /// Steps of a shipment.
    pub max_steps: usize,
    /// Settings of an invocation.
    pub max_settings: usize,
}

impl Default for Limits {
    /// 64 MiB a message, 256 MiB decompressed, 16,777,216 records, 65,536 steps, 1,024
    /// settings.
    fn default() -> Self {
        Self {
            max_message: 64 << 20,
            max_uncompressed: 256 << 20,
            max_records: 1 << 24,
            max_steps: 1 << 16,
            max_settings: 1 << 10,
        }
    }
}
