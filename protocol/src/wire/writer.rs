//! Writes a message into memory that is allocated once.

use std::time::Duration;

use bytes::Bytes;

use super::{Header, Kind};
use crate::compression::{self, Compression};

/// `len` rounded up to a multiple of 8.
pub(crate) const fn padded(len: usize) -> usize {
    len.next_multiple_of(8)
}

/// A message in the making: room for the header, and the body so far.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// A message whose body will be of exactly `body` bytes.
    pub(crate) fn with_body(body: usize) -> Self {
        let mut message = Vec::with_capacity(Header::LEN + body);
        message.resize(Header::LEN, 0);
        Self(message)
    }

    pub(crate) fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn len(&mut self, len: usize) {
        self.u64(len as u64);
    }

    pub(crate) fn duration(&mut self, duration: Duration, last: u32) {
        self.u64(duration.as_secs());
        self.u32(duration.subsec_nanos());
        self.u32(last);
    }

    /// Bytes that are no buffer yet: see [`Writer::pad`].
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Ends a buffer. The header's length is a multiple of 8, so the whole message may be padded.
    pub(crate) fn pad(&mut self) {
        let len = padded(self.0.len());
        self.0.resize(len, 0);
    }

    pub(crate) fn buffer(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
        self.pad();
    }

    /// A buffer of offsets that begin at 0, from such that begin anywhere.
    pub(crate) fn offsets(&mut self, offsets: &[i32]) {
        let first = offsets[0];
        let mut block = [0; 4096];
        for part in offsets.chunks(block.len() / 4) {
            for (bytes, offset) in block.chunks_exact_mut(4).zip(part) {
                bytes.copy_from_slice(&offset.wrapping_sub(first).to_le_bytes());
            }
            self.bytes(&block[..4 * part.len()]);
        }
        self.pad();
    }

    /// The finished message.
    pub(crate) fn finish(self, kind: Kind, id: u64, compression: Compression) -> Bytes {
        let plain = self.0;
        let body = &plain[Header::LEN..];
        let mut header =
            Header { kind, compressed: false, id, stored: body.len(), plain: body.len() };
        let attempt = match compression {
            Compression::None => false,
            Compression::Lz4 => true,
            Compression::Auto => compression::is_promising(body),
        };
        let mut message = plain;
        if attempt {
            let body = &message[Header::LEN..];
            let mut compressed = vec![0; Header::LEN];
            let stored = compression::compress(body, &mut compressed);
            if compression == Compression::Lz4
                || compression::is_clearly_smaller(stored, body.len())
            {
                header.compressed = true;
                header.stored = stored;
                message = compressed;
            }
        }
        header.seal(&mut message);
        message.into()
    }
}
