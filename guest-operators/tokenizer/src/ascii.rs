//! Words of ASCII text, sixty-four bytes at a time.
//!
//! Byte by byte, this would cost twice as much natively and three times as much in WebAssembly,
//! where each turn of a loop also checks the call's deadline. So a chunk of 64 bytes becomes one
//! mask of 64 bits in which runs of ones are words, and the loop turns once for four words.

use overspill_operator::Emitter;
use overspill_operator::text::Bytes16;

const CHUNK: usize = 64;
/// How many words are written in one turn of the loop. Those past the last one are empty, and
/// are written over by what follows.
const AT_ONCE: usize = 4;
/// The longest word that is written by one vector.
const SHORT: usize = 16;
/// How far the vectors of one turn of the loop may reach.
const SLACK: usize = AT_ONCE * SHORT + 16;

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
    let window = out.window(text.len() + SLACK, text.len() / 2 + 1 + AT_ONCE);
    let mut chunk = Chunk { bytes: [0; 16 + CHUNK + 16], words: 0, not_ascii: 0 };
    let mut output =
        Output { data: window.data, ends: window.ends, base: window.base, written: 0, count: 0 };
    // Whether the last word goes on in the next chunk. Its end so far is in `ends[count]`.
    let mut open = false;
    let mut begin = 0;
    while begin < text.len() {
        chunk.load(text, begin);
        output.count += usize::from(open && chunk.words & 1 == 0);
        output = write_words(&chunk, output);
        open = chunk.words >> (CHUNK - 1) == 1;
        output.count -= usize::from(open);
        begin += CHUNK;
    }
    if chunk.not_ascii != 0 {
        return false;
    }
    let (count, written) = (output.count + usize::from(open), output.written);
    out.commit(count, written);
    true
}

/// Where words are written. It is passed by value, so that its fields stay in registers.
struct Output<'a> {
    data: &'a mut [u8],
    ends: &'a mut [u32],
    /// What the start of `data` counts as in `ends`.
    base: u32,
    /// How many bytes and words have been written.
    written: usize,
    count: usize,
}

/// Writes the words of a chunk and where they end. One that goes on in the next chunk counts.
#[inline(always)]
fn write_words<'a>(chunk: &Chunk, mut output: Output<'a>) -> Output<'a> {
    let mut starts = chunk.words & !(chunk.words << 1);
    let mut stops = !chunk.words & (chunk.words << 1);
    if has_long_word(chunk.words) {
        return write_long_words(chunk, starts, stops, output);
    }
    let total = output.count + starts.count_ones() as usize;
    while starts != 0 {
        let data: &mut [u8; SLACK] =
            output.data[output.written..].first_chunk_mut().expect("the window has the room");
        let ends: &mut [u32; AT_ONCE] =
            output.ends[output.count..].first_chunk_mut().expect("the window has the room");
        let base = output.base + output.written as u32;
        let mut place = 0;
        for end in ends {
            // Without a bit left, both are 64: an empty word behind the chunk.
            let start = starts.trailing_zeros() as usize;
            let stop = stops.trailing_zeros() as usize;
            starts &= starts.wrapping_sub(1);
            stops &= stops.wrapping_sub(1);
            copy16(&chunk.bytes, 16 + start, data, place);
            place += stop - start;
            *end = base + place as u32;
        }
        output.written += place;
        output.count += AT_ONCE;
    }
    output.count = total;
    output
}

/// Whether there are more than 16 ones side by side.
#[inline(always)]
fn has_long_word(words: u64) -> bool {
    let two = words & (words >> 1);
    let four = two & (two >> 2);
    let eight = four & (four >> 4);
    let sixteen = eight & (eight >> 8);
    sixteen & (words >> SHORT) != 0
}

/// The same for words of any length, one by one.
#[cold]
#[inline(never)]
fn write_long_words<'a>(
    chunk: &Chunk,
    mut starts: u64,
    mut stops: u64,
    mut output: Output<'a>,
) -> Output<'a> {
    while starts != 0 {
        let start = starts.trailing_zeros() as usize;
        let length = stops.trailing_zeros() as usize - start;
        starts &= starts.wrapping_sub(1);
        stops &= stops.wrapping_sub(1);
        for done in (0..length).step_by(16) {
            copy16(&chunk.bytes, 16 + start + done, output.data, output.written + done);
        }
        output.written += length;
        output.ends[output.count] = output.base + output.written as u32;
        output.count += 1;
    }
    output
}

#[inline(always)]
fn copy16(from: &[u8], from_place: usize, to: &mut [u8], to_place: usize) {
    let (from, to) = (from[from_place..].first_chunk(), to[to_place..].first_chunk_mut());
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
