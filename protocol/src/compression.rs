//! When and how the body of a message is compressed.

use crate::WireError;

/// Whether to compress a message.
///
/// A line of 67 bytes of English takes 4 ns to encode and 3 to decode as it is. LZ4 makes 40 bytes
/// of it, and takes another 86 ns on one side and 23 on the other. A host that is short of
/// processor time, which is when it bursts, therefore sends plain bytes over a fast network, and
/// compresses where the network or a payload ceiling is the tighter limit. Only the caller knows
/// which it is, so the caller chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Plain bytes: the cheapest for both sides.
    #[default]
    None,
    /// LZ4, always.
    Lz4,
    /// LZ4 when the message becomes clearly smaller by it. A sample is compressed first, so a
    /// message that doesn't compress costs a few µs more than a plain one, however long it is.
    Auto,
}

/// A body shorter than this is not worth a try: it fits in one network packet anyway.
const AUTO_MIN_BODY: usize = 1024;
/// How many blocks of a body are sampled, and how many bytes each of them has.
const SAMPLES: usize = 4;
const SAMPLE: usize = 2048;

/// LZ4 writes at most this many bytes for one that it reads.
const LZ4_MAX_RATIO: u64 = 255;

/// Whether `body` should be compressed, as far as one can tell without doing it.
pub(crate) fn is_promising(body: &[u8]) -> bool {
    if body.len() < AUTO_MIN_BODY {
        return false;
    }
    if body.len() <= SAMPLES * SAMPLE {
        return true;
    }
    let mut scratch = vec![0; lz4_flex::block::get_maximum_output_size(SAMPLE)];
    let last = body.len() - SAMPLE;
    let compressed: usize = (0..SAMPLES)
        .map(|sample| {
            let begin = last / (SAMPLES - 1) * sample;
            let block = &body[begin..begin + SAMPLE];
            lz4_flex::block::compress_into(block, &mut scratch).unwrap_or(SAMPLE)
        })
        .sum();
    is_clearly_smaller(compressed, SAMPLES * SAMPLE)
}

/// Whether it pays for the receiver to decompress: at least an eighth is saved.
pub(crate) fn is_clearly_smaller(compressed: usize, plain: usize) -> bool {
    compressed <= plain - plain / 8
}

/// Appends `body`, compressed as one LZ4 block, to `out`; returns how many bytes that took.
pub(crate) fn compress(body: &[u8], out: &mut Vec<u8>) -> usize {
    let begin = out.len();
    out.resize(begin + lz4_flex::block::get_maximum_output_size(body.len()), 0);
    let written = lz4_flex::block::compress_into(body, &mut out[begin..])
        .expect("the room is what LZ4 says it needs at most");
    out.truncate(begin + written);
    written
}

/// The `plain` bytes that `stored` was compressed from.
///
/// Allocates nothing before it is clear that so many bytes can come out of `stored`.
pub(crate) fn decompress(stored: &[u8], plain: usize) -> Result<Vec<u8>, WireError> {
    let possible = stored.len() as u64 * LZ4_MAX_RATIO;
    if plain as u64 > possible {
        return Err(WireError::Decompress {
            reason: format!("{} bytes can't become {plain}, at most {possible}", stored.len()),
        });
    }
    let mut body = vec![0; plain];
    let written = lz4_flex::block::decompress_into(stored, &mut body)
        .map_err(|error| WireError::Decompress { reason: error.to_string() })?;
    match written == plain {
        true => Ok(body),
        false => {
            Err(WireError::Length { field: "body", found: written as u64, expected: plain as u64 })
        }
    }
}
