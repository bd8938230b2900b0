//! Words of ASCII text, sixty-four bytes at a time.
//!
//! Byte by byte, this would cost twice as much natively and three times as much in WebAssembly,
//! where each turn of a loop also checks the call's deadline. So a chunk of 64 bytes becomes one
//! mask of 64 bits in which runs of ones are words, and the loop turns once for four words.

use overspill_operator::text::Bytes16;
use overspill_operator::{Emitter, Window};

const CHUNK: usize = 64;
/// How many words are written in one turn of the loop. Those past the last one are empty, and
/// are written over by what follows.
const AT_ONCE: usize = 4;

/// A chunk in lower case, between room for a vector that begins before it and one that ends
/// behind it.
struct Chunk {
    bytes: [u8; 16 + CHUNK + 16],
    /// Which of its bytes belong to words.
    words: u64,
    not_ascii: u16,
}

/// Emits the words of a text, if it is ASCII. Says whether it is; if not, nothing is emitted.
#[inline]
pub(crate) fn words(text: &[u8], out: &mut Emitter) -> bool {
    let mut window = out.window(text.len() + 16, text.len() / 2 + 1 + AT_ONCE);
    let mut chunk = Chunk { bytes: [0; 16 + CHUNK + 16], words: 0, not_ascii: 0 };
    let (mut written, mut count) = (0, 0);
    // Whether the last word goes on in the next chunk. Its end so far is in `ends[count]`.
    let mut open = false;
    let mut begin = 0;
    while begin < text.len() {
        chunk.load(text, begin);
        if open && chunk.words & 1 == 0 {
            count += 1;
        }
        count += write_words(&chunk, &mut window, &mut written, count);
        open = chunk.words >> (CHUNK - 1) == 1;
        count -= usize::from(open);
        begin += CHUNK;
    }
    if chunk.not_ascii != 0 {
        return false;
    }
    window.commit(count + usize::from(open), written);
    true
}

/// Writes the words of a chunk and where they end, from the end numbered `count` on. Returns how
/// many there are, counting one that goes on in the next chunk.
#[inline(always)]
fn write_words(
    chunk: &Chunk,
    window: &mut Window<'_>,
    written: &mut usize,
    mut count: usize,
) -> usize {
    let mut starts = chunk.words & !(chunk.words << 1);
    let mut stops = !chunk.words & (chunk.words << 1);
    let total = starts.count_ones() as usize;
    while starts != 0 {
        let ends: &mut [u32; AT_ONCE] =
            (&mut window.ends[count..count + AT_ONCE]).try_into().expect("of that length");
        for end in ends {
            // Without a bit left, both are 64: an empty word behind the chunk.
            let start = starts.trailing_zeros() as usize;
            let stop = stops.trailing_zeros() as usize;
            starts &= starts.wrapping_sub(1);
            stops &= stops.wrapping_sub(1);
            let mut copied = 0;
            loop {
                copy16(&chunk.bytes[16 + start + copied..], &mut window.data[*written + copied..]);
                copied += 16;
                if copied >= stop - start {
                    break;
                }
            }
            *written += stop - start;
            *end = window.base + *written as u32;
        }
        count += AT_ONCE;
    }
    total
}

#[inline(always)]
fn copy16(from: &[u8], to: &mut [u8]) {
    let (from, to) = (from.first_chunk::<16>(), to.first_chunk_mut::<16>());
    Bytes16::load(from.expect("16 bytes follow")).store(to.expect("16 bytes follow"));
}

impl Chunk {
    /// Loads the chunk of the text that begins at `begin`; the text may end within it.
    #[inline(always)]
    fn load(&mut self, text: &[u8], begin: usize) {
        let rest = text.len() - begin;
        let mut white = 0_u64;
        if rest >= CHUNK {
            for place in [0, 16, 32, 48] {
                white |= u64::from(self.load16(at(text, begin + place), 16 + place)) << place;
            }
            self.words = !white;
            return;
        }
        if rest >= 16 {
            // The vectors that would pass the end are those of the last 16 bytes again.
            for place in [0, 16, 32, 48] {
                let place = place.min(rest - 16);
                white |= u64::from(self.load16(at(text, begin + place), 16 + place)) << place;
            }
        } else if begin > 0 {
            // The last 16 bytes reach back into the chunk before.
            let mask = self.load16(at(text, text.len() - 16), rest);
            white = u64::from(mask >> (16 - rest));
        } else {
            let mut bytes = [0; 16];
            for (to, &from) in bytes.iter_mut().zip(text) {
                *to = from;
            }
            white = u64::from(self.load16(&bytes, 16));
        }
        self.words = !white & ((1 << rest) - 1);
    }

    /// Loads 16 bytes, puts them in lower case at `to`, and returns which are white space.
    #[inline(always)]
    fn load16(&mut self, from: &[u8; 16], to: usize) -> u16 {
        let loaded = Bytes16::load(from);
        let place = self.bytes[to..].first_chunk_mut().expect("16 bytes follow");
        loaded.to_ascii_lower_case().store(place);
        self.not_ascii |= loaded.not_ascii();
        loaded.white_space()
    }
}

#[inline(always)]
fn at(text: &[u8], place: usize) -> &[u8; 16] {
    text[place..].first_chunk().expect("16 bytes follow")
}
