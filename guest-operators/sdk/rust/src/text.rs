//! Text, sixteen bytes at a time.
//!
//! [`Bytes16`] is what a WebAssembly or SSE2 register holds. It is for operators in which most of
//! the time goes into looking at each byte: the tokenizer is about three times as fast for it.

use imp::Vector;

/// Sixteen bytes, worked on at once.
#[derive(Clone, Copy)]
pub struct Bytes16(Vector);

impl Bytes16 {
    /// Loads sixteen bytes.
    #[inline(always)]
    pub fn load(bytes: &[u8; 16]) -> Self {
        Self(imp::load(bytes))
    }

    /// Stores the sixteen bytes.
    #[inline(always)]
    pub fn store(self, to: &mut [u8; 16]) {
        imp::store(self.0, to);
    }

    /// The same with `A` to `Z` in lower case.
    #[inline(always)]
    pub fn to_ascii_lower_case(self) -> Self {
        Self(imp::to_lower_case(self.0))
    }

    /// Which bytes are white space in ASCII (tab to carriage return, and space): bit `i` is that
    /// of byte `i`.
    #[inline(always)]
    pub fn white_space(self) -> u16 {
        imp::white_space(self.0)
    }

    /// Which bytes end a run of plain text in a string of JSON: the quotation mark, the backslash,
    /// and control characters.
    #[inline(always)]
    pub fn special_in_json(self) -> u16 {
        imp::special_in_json(self.0)
    }

    /// Which bytes are not ASCII.
    #[inline(always)]
    pub fn not_ascii(self) -> u16 {
        imp::not_ascii(self.0)
    }
}

/// How many bytes of a string's text in JSON are plain: from its beginning up to the first
/// quotation mark, backslash or control character, or all.
#[inline]
pub fn plain_in_json(bytes: &[u8]) -> usize {
    let (chunks, rest) = bytes.as_chunks::<16>();
    for (index, chunk) in chunks.iter().enumerate() {
        let special = Bytes16::load(chunk).special_in_json();
        if special != 0 {
            return index * 16 + special.trailing_zeros() as usize;
        }
    }
    let is_special = |&byte: &u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    bytes.len() - rest.len() + rest.iter().position(is_special).unwrap_or(rest.len())
}

impl std::ops::BitOr for Bytes16 {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(imp::or(self.0, other.0))
    }
}

impl std::fmt::Debug for Bytes16 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut bytes = [0; 16];
        self.store(&mut bytes);
        write!(f, "\"{}\"", bytes.escape_ascii())
    }
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod imp {
    use core::arch::wasm32::*;

    pub(super) type Vector = v128;

    #[inline(always)]
    pub(super) fn load(bytes: &[u8; 16]) -> Vector {
        // SAFETY: the sixteen bytes are there, and the load needs no alignment.
        unsafe { v128_load(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    pub(super) fn store(vector: Vector, to: &mut [u8; 16]) {
        // SAFETY: the sixteen bytes are there, and the store needs no alignment.
        unsafe { v128_store(to.as_mut_ptr().cast(), vector) }
    }

    #[inline(always)]
    pub(super) fn to_lower_case(vector: Vector) -> Vector {
        // At most, not less than: the processor has the former.
        let from_a = u8x16_sub(vector, u8x16_splat(b'A'));
        let upper = u8x16_le(from_a, u8x16_splat(25));
        v128_or(vector, v128_and(upper, u8x16_splat(0x20)))
    }

    #[inline(always)]
    pub(super) fn white_space(vector: Vector) -> u16 {
        let from_tab = u8x16_sub(vector, u8x16_splat(b'\t'));
        let control = u8x16_le(from_tab, u8x16_splat(4));
        u8x16_bitmask(v128_or(control, u8x16_eq(vector, u8x16_splat(b' '))))
    }

    #[inline(always)]
    pub(super) fn special_in_json(vector: Vector) -> u16 {
        let control = u8x16_le(vector, u8x16_splat(0x1f));
        let quote = u8x16_eq(vector, u8x16_splat(b'"'));
        let backslash = u8x16_eq(vector, u8x16_splat(b'\\'));
        u8x16_bitmask(v128_or(control, v128_or(quote, backslash)))
    }

    #[inline(always)]
    pub(super) fn or(one: Vector, other: Vector) -> Vector {
        v128_or(one, other)
    }

    #[inline(always)]
    pub(super) fn not_ascii(vector: Vector) -> u16 {
        u8x16_bitmask(vector)
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use core::arch::x86_64::*;

    pub(super) type Vector = __m128i;

    #[inline(always)]
    pub(super) fn load(bytes: &[u8; 16]) -> Vector {
        // SAFETY: the sixteen bytes are there, and the load needs no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[inline(always)]
    pub(super) fn store(vector: Vector, to: &mut [u8; 16]) {
        // SAFETY: the sixteen bytes are there, and the store needs no alignment.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), vector) }
    }

    /// Which bytes are at least `least` and less than `least` plus `count`: 255, else 0.
    #[inline(always)]
    fn within(vector: Vector, least: u8, count: i8) -> Vector {
        // SAFETY: SSE2 is part of the architecture.
        unsafe {
            let from_least = _mm_sub_epi8(vector, _mm_set1_epi8(least as i8));
            _mm_cmpeq_epi8(_mm_min_epu8(from_least, _mm_set1_epi8(count - 1)), from_least)
        }
    }

    #[inline(always)]
    pub(super) fn to_lower_case(vector: Vector) -> Vector {
        let upper = within(vector, b'A', 26);
        // SAFETY: SSE2 is part of the architecture.
        unsafe { _mm_or_si128(vector, _mm_and_si128(upper, _mm_set1_epi8(0x20))) }
    }

    #[inline(always)]
    pub(super) fn white_space(vector: Vector) -> u16 {
        let control = within(vector, b'\t', 5);
        // SAFETY: SSE2 is part of the architecture.
        unsafe {
            let space = _mm_cmpeq_epi8(vector, _mm_set1_epi8(b' ' as i8));
            _mm_movemask_epi8(_mm_or_si128(control, space)) as u16
        }
    }

    #[inline(always)]
    pub(super) fn special_in_json(vector: Vector) -> u16 {
        let control = within(vector, 0, 0x20);
        // SAFETY: SSE2 is part of the architecture.
        unsafe {
            let quote = _mm_cmpeq_epi8(vector, _mm_set1_epi8(b'"' as i8));
            let backslash = _mm_cmpeq_epi8(vector, _mm_set1_epi8(b'\\' as i8));
            _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, backslash))) as u16
        }
    }

    #[inline(always)]
    pub(super) fn or(one: Vector, other: Vector) -> Vector {
        // SAFETY: SSE2 is part of the architecture.
        unsafe { _mm_or_si128(one, other) }
    }

    #[inline(always)]
    pub(super) fn not_ascii(vector: Vector) -> u16 {
        // SAFETY: SSE2 is part of the architecture.
        unsafe { _mm_movemask_epi8(vector) as u16 }
    }
}

#[cfg(not(any(all(target_arch = "wasm32", target_feature = "simd128"), target_arch = "x86_64")))]
mod imp {
    pub(super) type Vector = [u8; 16];

    #[inline(always)]
    pub(super) fn load(bytes: &[u8; 16]) -> Vector {
        *bytes
    }

    #[inline(always)]
    pub(super) fn store(vector: Vector, to: &mut [u8; 16]) {
        *to = vector;
    }

    #[inline(always)]
    pub(super) fn to_lower_case(vector: Vector) -> Vector {
        vector.map(|byte| byte.to_ascii_lowercase())
    }

    #[inline(always)]
    pub(super) fn white_space(vector: Vector) -> u16 {
        mask(vector, |byte| byte == b' ' || byte.wrapping_sub(b'\t') < 5)
    }

    #[inline(always)]
    pub(super) fn special_in_json(vector: Vector) -> u16 {
        mask(vector, |byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    }

    #[inline(always)]
    pub(super) fn or(one: Vector, other: Vector) -> Vector {
        std::array::from_fn(|place| one[place] | other[place])
    }

    #[inline(always)]
    pub(super) fn not_ascii(vector: Vector) -> u16 {
        mask(vector, |byte| byte >= 0x80)
    }

    #[inline(always)]
    fn mask(vector: Vector, holds: impl Fn(u8) -> bool) -> u16 {
        vector.iter().rev().fold(0, |mask, &byte| mask << 1 | u16::from(holds(byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes16, plain_in_json};

    #[test]
    fn plain_text_ends_at_the_first_special_byte() {
        for len in 0..40 {
            assert_eq!(plain_in_json(&vec![b'x'; len]), len);
            for place in 0..len {
                let mut text = vec![b'x'; len];
                text[place..].fill(b'"');
                assert_eq!(plain_in_json(&text), place, "{len} bytes");
            }
        }
    }

    #[test]
    fn every_byte_is_treated_as_the_standard_library_treats_it() {
        for byte in 0..=255_u8 {
            for place in 0..16 {
                let mut bytes = *b"xxxxxxxxxxxxxxxx";
                bytes[place] = byte;
                let loaded = Bytes16::load(&bytes);
                let bit = |holds: bool| u16::from(holds) << place;
                let space = byte.is_ascii() && char::from(byte).is_whitespace();
                assert_eq!(loaded.white_space(), bit(space), "white space, byte {byte}");
                assert_eq!(loaded.not_ascii(), bit(!byte.is_ascii()), "ASCII, byte {byte}");
                let special = byte < 0x20 || byte == b'"' || byte == b'\\';
                assert_eq!(loaded.special_in_json(), bit(special), "JSON, byte {byte}");
                let mut lower = [0; 16];
                loaded.to_ascii_lower_case().store(&mut lower);
                assert_eq!(lower, bytes.map(|byte| byte.to_ascii_lowercase()), "byte {byte}");
            }
        }
    }
}
