//! The 40 bytes in front of every body.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::{Limits, WireError};

/// The version of the format that this build writes.
pub const VERSION: u16 = 2;

/// The oldest version of the format that this build reads.
pub const OLDEST_VERSION: u16 = 2;

const MAGIC: [u8; 4] = *b"OSPL";
const PLAIN: u8 = 0;
const LZ4: u8 = 1;
/// The checksum covers what lies before it.
const CHECKSUM: usize = 32;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Invocation = 1,
    Done = 2,
    Partial = 3,
    NeedModule = 4,
    Rejected = 5,
    Overloaded = 6,
    Failed = 7,
    NeedState = 8,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Invocation,
            2 => Self::Done,
            3 => Self::Partial,
            4 => Self::NeedModule,
            5 => Self::Rejected,
            6 => Self::Overloaded,
            7 => Self::Failed,
            8 => Self::NeedState,
            _ => return None,
        })
    }
}

/// A message's header, less its checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) compressed: bool,
    pub(crate) id: u64,
    /// Bytes of the body as stored.
    pub(crate) stored: usize,
    /// Bytes of the body once decompressed.
    pub(crate) plain: usize,
}

impl Header {
    /// How long it is, in bytes.
    pub(crate) const LEN: usize = 40;

    /// Writes header and checksum in front of the stored body, which must stand in `message` from
    /// byte [`Header::LEN`] on.
    pub(crate) fn seal(&self, message: &mut [u8]) {
        let (header, body) = message.split_at_mut(Self::LEN);
        debug_assert_eq!(body.len(), self.stored);
        header[0..4].copy_from_slice(&MAGIC);
        header[4..6].copy_from_slice(&VERSION.to_le_bytes());
        header[6] = self.kind as u8;
        header[7] = if self.compressed { LZ4 } else { PLAIN };
        header[8..16].copy_from_slice(&self.id.to_le_bytes());
        header[16..24].copy_from_slice(&(self.stored as u64).to_le_bytes());
        header[24..32].copy_from_slice(&(self.plain as u64).to_le_bytes());
        let checksum = checksum(header, body);
        header[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads and checks the header of a whole message, its checksum included.
    pub(crate) fn read(message: &[u8], limits: &Limits) -> Result<Self, WireError> {
        check_start(message)?;
        if message.len() < Self::LEN {
            return Err(WireError::Truncated {
                field: "header",
                needed: Self::LEN as u64,
                found: message.len() as u64,
            });
        }
        let limit = |field, found, limit, max| match found > max as u64 {
            true => Err(WireError::Limit { field, found, limit, max: max as u64 }),
            false => Ok(()),
        };
        limit("message", message.len() as u64, "max_message", limits.max_message)?;
        let kind = Kind::from_byte(message[6])
            .ok_or(WireError::Kind { found: message[6], expected: "1 to 8" })?;
        let compressed = match message[7] {
            PLAIN => false,
            LZ4 => true,
            found => {
                return Err(WireError::Value {
                    field: "flags",
                    found: found.into(),
                    expected: "0 (plain) or 1 (LZ4)",
                });
            }
        };
        let (header, body) = message.split_at(Self::LEN);
        let stored = u64_at(header, 16);
        if stored > body.len() as u64 {
            return Err(WireError::Truncated {
                field: "body",
                needed: stored,
                found: body.len() as u64,
            });
        }
        let stored = stored as usize;
        if stored < body.len() {
            return Err(WireError::Trailing { bytes: (body.len() - stored) as u64 });
        }
        let found = u64_at(header, CHECKSUM);
        let expected = checksum(header, body);
        if found != expected {
            return Err(WireError::Checksum { found, expected });
        }
        let plain = u64_at(header, 24);
        limit("body_length", plain, "max_uncompressed", limits.max_uncompressed)?;
        if !compressed && plain != stored as u64 {
            return Err(WireError::Length { field: "body", found: stored as u64, expected: plain });
        }
        // The limit is a `usize`, so the length is one too.
        Ok(Self { kind, compressed, id: u64_at(header, 8), stored, plain: plain as usize })
    }
}

/// The id that a message says it has, be the rest of it sound or not: what a runner puts on the
/// rejection of an invocation that it can't decode. `None` when the bytes don't begin as a message
/// of a version that this build reads.
pub fn message_id(message: &[u8]) -> Option<u64> {
    check_start(message).ok()?;
    let id = message.get(8..16)?;
    Some(u64_at(id, 0))
}

/// Checks magic and version, the two fields that no later version will move.
fn check_start(message: &[u8]) -> Result<(), WireError> {
    let Some(start) = message.first_chunk::<6>() else {
        return Err(WireError::Truncated {
            field: "header",
            needed: Header::LEN as u64,
            found: message.len() as u64,
        });
    };
    let [m0, m1, m2, m3, v0, v1] = *start;
    let found = [m0, m1, m2, m3];
    if found != MAGIC {
        return Err(WireError::Magic { found });
    }
    let found = u16::from_le_bytes([v0, v1]);
    match (OLDEST_VERSION..=VERSION).contains(&found) {
        true => Ok(()),
        false => Err(WireError::Version { found }),
    }
}

fn checksum(header: &[u8], body: &[u8]) -> u64 {
    xxh3_64_with_seed(body, xxh3_64(&header[..CHECKSUM]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}
