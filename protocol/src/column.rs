//! A column of byte strings in Arrow's binary layout.

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::{Array as _, BinaryArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};

/// A sequence of byte strings, stored end to end; Arrow's `Binary` without nulls.
///
/// Cloning and slicing share the bytes.
#[derive(Clone, Debug)]
pub struct Column(BinaryArray);

/// Why some offsets and bytes are no column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// An end lies before the one in front of it.
    #[error("string {index} ends at byte {end}, before it begins at byte {begin}")]
    Decreasing {
        /// Which string, counted from 0.
        index: usize,
        /// Where it begins, in bytes.
        begin: u32,
        /// Where it is said to end, in bytes.
        end: u32,
    },
    /// Arrow offsets that don't begin at 0.
    #[error("the first string begins at byte {found}, expected 0")]
    First {
        /// The first offset, in bytes; -1 when there is none.
        found: i32,
    },
    /// The last end is not the length of the data.
    #[error("the last string ends at byte {end}, but there are {len} bytes")]
    Length {
        /// The last end, in bytes; 0 when there is no string.
        end: u32,
        /// The length of the data, in bytes.
        len: usize,
    },
    /// More than Arrow's 32-bit offsets can address.
    #[error("a column holds {len} bytes, more than the 2,147,483,647 that its offsets can address")]
    TooLong {
        /// The length of the data, in bytes.
        len: usize,
    },
}

impl Column {
    /// A column of no strings.
    pub fn empty() -> Self {
        Self(BinaryArray::new(OffsetBuffer::new_empty(), Buffer::from_vec(Vec::<u8>::new()), None))
    }

    /// A column as a guest hands it over: `ends` without Arrow's leading zero.
    ///
    /// # Errors
    /// When the ends decrease, or the last one is not the length of `data`.
    pub fn from_ends(ends: &[u32], data: impl Into<Buffer>) -> Result<Self, ColumnError> {
        let data = data.into();
        let len = data.len();
        if i32::try_from(len).is_err() {
            return Err(ColumnError::TooLong { len });
        }
        let last = ends.last().copied().unwrap_or(0);
        if last as usize != len {
            return Err(ColumnError::Length { end: last, len });
        }
        // Two passes: one that the compiler can vectorise, and one that finds the culprit.
        if !ends.is_sorted() {
            let mut begin = 0;
            for (index, &end) in ends.iter().enumerate() {
                if end < begin {
                    return Err(ColumnError::Decreasing { index, begin, end });
                }
                begin = end;
            }
        }
        let mut offsets = Vec::with_capacity(ends.len() + 1);
        offsets.push(0_i32);
        // In pieces, as a copy of much memory to four bytes behind the same place of another page,
        // which an allocator easily makes of this, takes some processors sixteen times as long.
        for piece in ends.chunks(256) {
            // Every end is at most `last`, which fits.
            offsets.extend(piece.iter().map(|&end| end as i32));
        }
        Ok(Self::from_sound(offsets.into(), data))
    }

    /// A column in Arrow's own form, sharing both buffers: one offset more than there are
    /// strings, the first of them 0.
    ///
    /// # Errors
    /// When the offsets don't begin at 0, decrease, or don't end at the length of `data`.
    pub fn from_offsets(offsets: ScalarBuffer<i32>, data: Buffer) -> Result<Self, ColumnError> {
        let found = offsets.first().copied().unwrap_or(-1);
        if found != 0 {
            return Err(ColumnError::First { found });
        }
        if !offsets.is_sorted() {
            for (index, pair) in offsets.windows(2).enumerate() {
                let (begin, end) = (pair[0] as u32, pair[1] as u32);
                if pair[1] < pair[0] {
                    return Err(ColumnError::Decreasing { index, begin, end });
                }
            }
        }
        let end = offsets[offsets.len() - 1] as u32;
        if end as usize != data.len() {
            return Err(ColumnError::Length { end, len: data.len() });
        }
        Ok(Self::from_sound(offsets, data))
    }

    /// A column of offsets that begin at 0, never decrease, and end at the length of `data`.
    fn from_sound(offsets: ScalarBuffer<i32>, data: Buffer) -> Self {
        debug_assert!(offsets.first() == Some(&0) && offsets.is_sorted());
        debug_assert_eq!(offsets.last().map(|&last| last as usize), Some(data.len()));
        // Arrow would look at every offset again, and less quickly than the callers did: 0.45 ns a
        // string, which at 12 tokens a line is more than all else that decoding a line costs.
        // SAFETY: the callers have seen to what is said above.
        let offsets = unsafe { OffsetBuffer::new_unchecked(offsets) };
        Self(BinaryArray::new(offsets, data, None))
    }

    /// One offset more than there are strings; string `i` lies between offsets `i` and `i + 1` of
    /// the shared bytes. The first is not 0 in a slice from the middle.
    pub(crate) fn offsets(&self) -> &[i32] {
        self.0.value_offsets()
    }

    /// A column of the given strings.
    pub fn from_values<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Self {
        let mut builder = ColumnBuilder::default();
        for value in values {
            builder.push(value.as_ref());
        }
        builder.finish()
    }

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no string.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// String `index`.
    ///
    /// # Panics
    /// When there is no such string.
    pub fn value(&self, index: usize) -> &[u8] {
        self.0.value(index)
    }

    /// All strings, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.0.value(index))
    }

    /// The strings of `range`, without a copy.
    ///
    /// # Panics
    /// When the range reaches past the end.
    pub fn slice(&self, range: Range<usize>) -> Self {
        Self(self.0.slice(range.start, range.len()))
    }

    /// The bytes of all strings, end to end.
    pub fn data(&self) -> &[u8] {
        let offsets = self.0.value_offsets();
        let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
        &self.0.value_data()[first..last]
    }

    /// The bytes of the strings `range`, end to end.
    pub(crate) fn bytes_of(&self, range: Range<usize>) -> &[u8] {
        let offsets = self.0.value_offsets();
        &self.0.value_data()[offsets[range.start] as usize..offsets[range.end] as usize]
    }

    /// Where each string ends in [`Column::data`]. Copied only for a slice from the middle.
    pub fn ends(&self) -> Cow<'_, [u32]> {
        let offsets = self.0.offsets();
        let ends = &offsets.inner().inner().typed_data::<u32>()[1..];
        match offsets[0] as u32 {
            0 => Cow::Borrowed(ends),
            first => Cow::Owned(ends.iter().map(|end| end.wrapping_sub(first)).collect()),
        }
    }

    /// The memory that the strings and their ends take, in bytes.
    pub fn bytes(&self) -> usize {
        self.data().len() + 4 * self.len()
    }

    /// The strings of all `parts`, in order.
    ///
    /// # Errors
    /// When together they are longer than offsets can address.
    pub fn concat(parts: &[&Self]) -> Result<Self, ColumnError> {
        let len = parts.iter().map(|part| part.data().len()).sum();
        if i32::try_from(len).is_err() {
            return Err(ColumnError::TooLong { len });
        }
        let mut data = Vec::with_capacity(len);
        let mut offsets = Vec::with_capacity(1 + parts.iter().map(|p| p.len()).sum::<usize>());
        offsets.push(0_i32);
        for part in parts {
            // Wrapping, so that the loop can be vectorised: the sums are at most `len`, which fits.
            let shift = (data.len() as i32).wrapping_sub(part.offsets()[0]);
            offsets.extend(part.offsets()[1..].iter().map(|offset| offset.wrapping_add(shift)));
            data.extend_from_slice(part.data());
        }
        Ok(Self::from_sound(offsets.into(), Buffer::from_vec(data)))
    }

    /// String `i` as often as `counts` says for it, in order.
    ///
    /// # Errors
    /// When the result is longer than offsets can address.
    ///
    /// # Panics
    /// When there is not one count a string.
    pub(crate) fn repeat(
        &self,
        counts: impl Iterator<Item = usize> + Clone,
    ) -> Result<Self, ColumnError> {
        let repeated = || self.iter().zip(counts.clone());
        let (len, strings) =
            repeated().fold((0_usize, 0_usize), |(len, strings), (value, count)| {
                (
                    len.saturating_add(value.len().saturating_mul(count)),
                    strings.saturating_add(count),
                )
            });
        if i32::try_from(len).is_err() {
            return Err(ColumnError::TooLong { len });
        }
        let mut builder = ColumnBuilder::with_capacity(strings, len);
        for (value, count) in repeated() {
            for _ in 0..count {
                builder.push(value);
            }
        }
        Ok(builder.finish())
    }

    /// A column of `len` empty strings.
    pub fn of_empty_strings(len: usize) -> Self {
        Self::from_sound(vec![0; len + 1].into(), Buffer::from_vec(Vec::<u8>::new()))
    }

    /// The column as Arrow's own array, sharing the bytes.
    pub fn as_arrow(&self) -> &BinaryArray {
        &self.0
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        self.data() == other.data() && self.ends() == other.ends()
    }
}

impl Eq for Column {}

/// Builds a [`Column`] string by string.
#[derive(Debug, Default)]
pub struct ColumnBuilder {
    ends: Vec<u32>,
    data: Vec<u8>,
}

impl ColumnBuilder {
    /// A builder with room for `strings` strings of `bytes` bytes in all.
    pub fn with_capacity(strings: usize, bytes: usize) -> Self {
        Self { ends: Vec::with_capacity(strings), data: Vec::with_capacity(bytes) }
    }

    /// Appends a string.
    ///
    /// # Panics
    /// When the column would be longer than its offsets can address (2 GiB).
    pub fn push(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        let end = i32::try_from(self.data.len()).expect("a column holds at most 2 GiB");
        self.ends.push(end as u32);
    }

    /// How many strings there are so far.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no string yet.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of all strings so far.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// The column.
    pub fn finish(self) -> Column {
        Column::from_ends(&self.ends, self.data).expect("the builder keeps the ends in order")
    }
}
