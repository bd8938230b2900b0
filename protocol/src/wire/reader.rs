//! Reads a message where it lies.

use std::time::Duration;

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use bytes::Bytes;

use super::{Header, Kind, padded};
use crate::{Limits, WireError, compression};

/// Checks a message's header and checksum, and decompresses its body if need be.
pub(crate) fn open(message: Bytes, limits: &Limits) -> Result<(Kind, u64, Reader<'_>), WireError> {
    let header = Header::read(&message, limits)?;
    let body = message.slice(Header::LEN..);
    let body = match header.compressed {
        false => Buffer::from(body),
        true => Buffer::from_vec(compression::decompress(&body, header.plain)?),
    };
    Ok((header.kind, header.id, Reader { body, at: 0, limits }))
}

/// A place in a body. Whatever it gives out was there: it never reads or allocates past the end.
pub(crate) struct Reader<'a> {
    body: Buffer,
    at: usize,
    limits: &'a Limits,
}

impl Reader<'_> {
    pub(crate) fn limits(&self) -> &Limits {
        self.limits
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], WireError> {
        let left = &self.body[self.at..];
        let Some(bytes) = left.first_chunk::<N>() else {
            return Err(WireError::Truncated { field, needed: N as u64, found: left.len() as u64 });
        };
        self.at += N;
        Ok(*bytes)
    }

    pub(crate) fn digest(&mut self, field: &'static str) -> Result<[u8; 32], WireError> {
        self.array(field)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, WireError> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, WireError> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub(crate) fn u128(&mut self, field: &'static str) -> Result<u128, WireError> {
        self.array(field).map(u128::from_le_bytes)
    }

    pub(crate) fn i64(&mut self, field: &'static str) -> Result<i64, WireError> {
        self.array(field).map(i64::from_le_bytes)
    }

    /// Four bytes that must be zero.
    pub(crate) fn zero(&mut self, field: &'static str) -> Result<(), WireError> {
        match self.u32(field)? {
            0 => Ok(()),
            _ => Err(WireError::Padding { field }),
        }
    }

    /// Flags, of which only those in `known` may be set.
    pub(crate) fn flags(
        &mut self,
        field: &'static str,
        known: u64,
        expected: &'static str,
    ) -> Result<u64, WireError> {
        match self.u64(field)? {
            found if found & !known == 0 => Ok(found),
            found => Err(WireError::Value { field, found, expected }),
        }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.body.len() - self.at
    }

    /// A number of records, or of what else there is at most once a record or key.
    pub(crate) fn count_of_records(&mut self, field: &'static str) -> Result<usize, WireError> {
        self.count(field, "max_records", self.limits.max_records)
    }

    /// A number of things, at most `max`, which is the limit of that name.
    pub(crate) fn count(
        &mut self,
        field: &'static str,
        limit: &'static str,
        max: usize,
    ) -> Result<usize, WireError> {
        let found = self.u64(field)?;
        match found > max as u64 {
            true => Err(WireError::Limit { field, found, limit, max: max as u64 }),
            false => Ok(found as usize),
        }
    }

    /// A duration, and the four bytes that come after its nanoseconds.
    pub(crate) fn duration(&mut self, field: &'static str) -> Result<(Duration, u32), WireError> {
        let seconds = self.u64(field)?;
        let nanoseconds = self.u32(field)?;
        if nanoseconds >= 1_000_000_000 {
            return Err(WireError::Value {
                field,
                found: nanoseconds.into(),
                expected: "less than 1,000,000,000 nanoseconds",
            });
        }
        Ok((Duration::new(seconds, nanoseconds), self.u32(field)?))
    }

    /// The next `count` things of `size` bytes each, sharing the message's memory.
    fn take(&mut self, field: &'static str, count: u64, size: u64) -> Result<Buffer, WireError> {
        let needed = count.saturating_mul(size);
        let found = (self.body.len() - self.at) as u64;
        if needed > found {
            return Err(WireError::Truncated { field, needed, found });
        }
        let taken = self.body.slice_with_length(self.at, needed as usize);
        self.at += needed as usize;
        Ok(taken)
    }

    /// Skips the padding that ends a buffer.
    fn pad(&mut self, field: &'static str) -> Result<(), WireError> {
        let len = padded(self.at) - self.at;
        let padding = self.take(field, len as u64, 1)?;
        match padding.iter().all(|&byte| byte == 0) {
            true => Ok(()),
            false => Err(WireError::Padding { field }),
        }
    }

    /// A buffer of `len` bytes.
    pub(crate) fn buffer(&mut self, field: &'static str, len: u64) -> Result<Buffer, WireError> {
        let buffer = self.take(field, len, 1)?;
        self.pad(field)?;
        Ok(buffer)
    }

    /// A buffer of `count` numbers. Copied only when it lies at an address that the processor
    /// can't read such numbers from.
    pub(crate) fn numbers<T: ArrowNativeType>(
        &mut self,
        field: &'static str,
        count: usize,
    ) -> Result<ScalarBuffer<T>, WireError> {
        let buffer = self.take(field, count as u64, size_of::<T>() as u64)?;
        self.pad(field)?;
        let buffer = match buffer.as_ptr().cast::<T>().is_aligned() {
            true => buffer,
            false => Buffer::from_slice_ref(buffer.as_slice()),
        };
        Ok(ScalarBuffer::new(buffer, 0, count))
    }

    /// Says that there is nothing more to read.
    pub(crate) fn finish(&self) -> Result<(), WireError> {
        match self.body.len() - self.at {
            0 => Ok(()),
            bytes => Err(WireError::Trailing { bytes: bytes as u64 }),
        }
    }
}

/// The UTF-8 text in `bytes`.
pub(crate) fn text(field: &'static str, bytes: &[u8]) -> Result<String, WireError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(WireError::Text { field, at: error.valid_up_to() }),
    }
}
