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
/// behind it. What lies outside of the chunk is undefined.
#[derive(Debug)]
pub(crate) struct Chunk {
    bytes: [u8; 16 + CHUNK + 16],
}

impl Chunk {
    /// Room for a chunk. It is kept from text to text: clearing it takes as long as a word.
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; 16 + CHUNK + 16] }
    }
}

/// What [`short_words`] found.
enum Found {
    /// So many words, written end to end.
    Words { count: usize, bytes: usize },
    /// A byte that is not ASCII.
    NotAscii,
    /// A word that is longer than one vector.
    LongWord,
}

/// Emits the words of a text, if it is ASCII. Says whether it is; if not, nothing is emitted.
#[inline(always)]
pub(crate) fn words(text: &[u8], chunk: &mut Chunk, out: &mut Emitter) -> bool {
    let window = out.window(text.len() + SLACK, text.len() / 2 + 1 + AT_ONCE);
    match short_words(text, chunk, window.data, window.ends, window.base) {
        Found::Words { count, bytes } => {
            out.commit(count, bytes);
            true
        }
        Found::NotAscii => false,
        Found::LongWord => any_words(text, chunk, out),
    }
}

/// Writes the words of an ASCII text that are up to [`SHORT`] bytes long.
///
/// It calls nothing, and its slices shrink instead of being indexed: what the loop needs then fits
/// into registers, which the code that wasmtime makes depends on.
#[inline(never)]
fn short_words(
    text: &[u8],
    chunk: &mut Chunk,
    mut data: &mut [u8],
    mut ends: &mut [u32],
    base: u32,
) -> Found {
    let room = ends.len();
    let mut written = base;
    // Whether the last word goes on in the next chunk. Its end so far is in `ends[0]`.
    let mut open = false;
    let mut begin = 0;
    while begin < text.len() {
        let Some(words) = chunk.load(text, begin) else {
            return Found::NotAscii;
        };
        if has_long_word(words) {
            return Found::LongWord;
        }
        ends = &mut ends[usize::from(open && words & 1 == 0)..];
        let mut starts = words & !(words << 1);
        let mut stops = !words & (words << 1);
        open = words >> (CHUNK - 1) == 1;
        let complete = starts.count_ones() as usize - usize::from(open);
        let mut places = &mut *ends;
        while starts != 0 {
            let (four, rest) =
                places.split_first_chunk_mut::<AT_ONCE>().expect("the window has the room");
            let bytes: &mut [u8; SLACK] = data.first_chunk_mut().expect("the window has the room");
            let mut place = 0;
            for end in four {
                // Without a bit left, both are 64: an empty word behind the chunk.
                let start = starts.trailing_zeros() as usize;
                let stop = stops.trailing_zeros() as usize;
                starts &= starts.wrapping_sub(1);
                stops &= stops.wrapping_sub(1);
                // At most three words of sixteen bytes lie before: the mask changes nothing, and
                // tells the compiler so.
                copy16(&chunk.bytes, 16 + start, bytes, place & (CHUNK - 1));
                place += stop - start;
                *end = written + place as u32;
            }
            written += place as u32;
            data = &mut data[place..];
            places = rest;
        }
        ends = &mut ends[complete..];
        begin += CHUNK;
    }
    let count = room - ends.len() + usize::from(open);
    Found::Words { count, bytes: (written - base) as usize }
}

/// As [`words`], for words of any length.
#[cold]
#[inline(never)]
fn any_words(text: &[u8], chunk: &mut Chunk, out: &mut Emitter) -> bool {
    let window = out.window(text.len() + SLACK, text.len() / 2 + 1 + AT_ONCE);
    let mut output =
        Output { data: window.data, ends: window.ends, base: window.base, written: 0, count: 0 };
    // Whether the last word goes on in the next chunk. Its end so far is in `ends[count]`.
    let mut open = false;
    let mut begin = 0;
    while begin < text.len() {
        let Some(words) = chunk.load(text, begin) else {
            return false;
        };
        output.count += usize::from(open && words & 1 == 0);
        write_words(chunk, words, &mut output);
        open = words >> (CHUNK - 1) == 1;
        output.count -= usize::from(open);
        begin += CHUNK;
    }
    let (count, written) = (output.count + usize::from(open), output.written);
    out.commit(count, written);
    true
}

/// Where words are written.
struct Output<'a> {
    data: &'a mut [u8],
    ends: &'a mut [u32],
    /// What the start of `data` counts as in `ends`.
    base: u32,
    /// How many bytes and words have been written.
    written: usize,
    count: usize,
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

/// Writes the words of a chunk and where they end, one by one. One that goes on in the next chunk
/// counts.
fn write_words(chunk: &Chunk, words: u64, output: &mut Output<'_>) {
    let mut starts = words & !(words << 1);
    let mut stops = !words & (words << 1);
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
}

#[inline(always)]
fn copy16(from: &[u8], from_place: usize, to: &mut [u8], to_place: usize) {
    let (from, to) = (from[from_place..].first_chunk(), to[to_place..].first_chunk_mut());
    Bytes16::load(from.expect("16 bytes follow")).store(to.expect("16 bytes follow"));
}

impl Chunk {
    /// Loads the chunk of the text that begins at `begin`; the text may end within it. Returns
    /// which of its bytes belong to words, or none if one of them is not ASCII.
    #[inline(always)]
    fn load(&mut self, text: &[u8], begin: usize) -> Option<u64> {
        let rest = text.len() - begin;
        let mut white = 0_u64;
        let loaded = if let Some(whole) = text[begin..].first_chunk::<CHUNK>() {
            let mut load = |place| self.load16(at(whole, place), 16 + place, place, &mut white);
            (load(0) | load(16)) | (load(32) | load(48))
        } else if rest >= 16 {
            // The vectors that would pass the end are those of the last 16 bytes again.
            let mut load = |place: usize| {
                let place = place.min(rest - 16);
                self.load16(at(text, begin + place), 16 + place, place, &mut white)
            };
            (load(0) | load(16)) | (load(32) | load(48))
        } else if begin > 0 {
            // The last 16 bytes reach back into the chunk before.
            let loaded = self.load16(at(text, text.len() - 16), rest, 0, &mut white);
            white >>= 16 - rest;
            loaded
        } else {
            self.load16(&padded(text), 16, 0, &mut white)
        };
        let within = if rest >= CHUNK { u64::MAX } else { (1 << rest) - 1 };
        (loaded.not_ascii() == 0).then_some(!white & within)
    }

    /// Loads 16 bytes, puts them in lower case at `to`, and sets the bits from `place` on of those
    /// that are white space.
    #[inline(always)]
    fn load16(&mut self, from: &[u8; 16], to: usize, place: usize, white: &mut u64) -> Bytes16 {
        let loaded = Bytes16::load(from);
        let room = self.bytes[to..].first_chunk_mut().expect("16 bytes follow");
        loaded.to_ascii_lower_case().store(room);
        *white |= u64::from(loaded.white_space()) << place;
        loaded
    }
}

/// A text of less than sixteen bytes, and zeros.
///
/// Bit by bit of its length: a loop over the bytes would become a call.
#[inline(always)]
fn padded(text: &[u8]) -> [u8; 16] {
    let mut bytes = [0; 16];
    let mut done = 0;
    if let Some(&eight) = text.first_chunk::<8>() {
        bytes[..8].copy_from_slice(&eight);
        done = 8;
    }
    if let Some(&four) = text[done..].first_chunk::<4>() {
        bytes[done..done + 4].copy_from_slice(&four);
        done += 4;
    }
    if let Some(&two) = text[done..].first_chunk::<2>() {
        bytes[done..done + 2].copy_from_slice(&two);
        done += 2;
    }
    if let Some(&one) = text.get(done) {
        bytes[done] = one;
    }
    bytes
}

#[inline(always)]
fn at(text: &[u8], place: usize) -> &[u8; 16] {
    text[place..].first_chunk().expect("16 bytes follow")
}
