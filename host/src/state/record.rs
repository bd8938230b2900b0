//! What is written to disk for a key.
//!
//! ```text
//! disk key   group (2, big endian), kind (1): 0 the key itself, 1 its SHA-256
//! record     checksum (8), version (8), committed (8), length of the key (4), key if the disk key
//!            has its hash, state; all little endian
//! ```
//!
//! The checksum is XXH3 over the disk key and the rest of the record: whatever the store does, a
//! record of another key or a damaged one is not taken for this key's. Files live and die with
//! the process that wrote them, so that the layout carries no version.

use fjall::Slice;
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::Xxh3;

use super::entry::Entry;
use super::error::DiskError;
use super::key_group::KeyGroup;

/// Keys up to this length stand in the disk key. The store takes keys up to 64 KiB, and keeps
/// them in its indexes.
const LONGEST_KEY: usize = 1024;

const CHECKSUM: usize = 8;
const HEADER: usize = CHECKSUM + 8 + 8 + 4;

/// The key under which a record lies.
pub(super) fn disk_key(group: KeyGroup, key: &[u8]) -> Vec<u8> {
    let mut disk_key = Vec::with_capacity(3 + key.len().min(LONGEST_KEY));
    disk_key.extend_from_slice(&group.number().to_be_bytes());
    if key.len() <= LONGEST_KEY {
        disk_key.push(0);
        disk_key.extend_from_slice(key);
    } else {
        disk_key.push(1);
        disk_key.extend_from_slice(&Sha256::digest(key));
    }
    disk_key
}

/// How a record's key begins that is of this group.
pub(super) fn group_prefix(group: KeyGroup) -> [u8; 2] {
    group.number().to_be_bytes()
}

/// The record of an entry whose state is here.
pub(super) fn encode(disk_key: &[u8], entry: &Entry) -> Vec<u8> {
    let (key, state) = (entry.key(), entry.state().unwrap_or_default());
    let spelled_out = if key.len() > LONGEST_KEY { key } else { &[] };
    let mut record = Vec::with_capacity(HEADER + spelled_out.len() + state.len());
    record.extend_from_slice(&[0; CHECKSUM]);
    record.extend_from_slice(&entry.version.to_le_bytes());
    record.extend_from_slice(&entry.committed.to_le_bytes());
    // No longer than the 32 bits in which an entry counts it.
    record.extend_from_slice(&(spelled_out.len() as u32).to_le_bytes());
    record.extend_from_slice(spelled_out);
    record.extend_from_slice(state);
    let sum = checksum(disk_key, &record[CHECKSUM..]);
    record[..CHECKSUM].copy_from_slice(&sum);
    record
}

/// A record that was read and is what was written.
#[derive(Debug)]
pub(super) struct Record {
    bytes: Slice,
    key_length: usize,
}

impl Record {
    /// Checks what was read under a disk key.
    ///
    /// # Errors
    /// When it isn't what was written there.
    pub(super) fn decode(disk_key: &[u8], bytes: Slice) -> Result<Self, DiskError> {
        if bytes.len() < HEADER {
            return Err(DiskError::Damaged("it is too short"));
        }
        if bytes[..CHECKSUM] != checksum(disk_key, &bytes[CHECKSUM..]) {
            return Err(DiskError::Damaged("its checksum is wrong"));
        }
        let record = Self { key_length: number::<4>(&bytes, 24) as usize, bytes };
        match record.bytes.len() - HEADER < record.key_length {
            true => Err(DiskError::Damaged("it ends within its key")),
            false => Ok(record),
        }
    }

    pub(super) fn version(&self) -> u64 {
        number::<8>(&self.bytes, 8)
    }

    pub(super) fn committed(&self) -> i64 {
        number::<8>(&self.bytes, 16).cast_signed()
    }

    pub(super) fn state(&self) -> &[u8] {
        &self.bytes[HEADER + self.key_length..]
    }

    /// The key, given the disk key that the record lay under.
    pub(super) fn key<'a>(&'a self, disk_key: &'a [u8]) -> &'a [u8] {
        match disk_key.get(2) {
            Some(0) => &disk_key[3..],
            _ => &self.bytes[HEADER..HEADER + self.key_length],
        }
    }
}

fn checksum(disk_key: &[u8], rest: &[u8]) -> [u8; CHECKSUM] {
    let mut sum = Xxh3::new();
    sum.update(disk_key);
    sum.update(rest);
    sum.digest().to_le_bytes()
}

fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number[..BYTES].copy_from_slice(&bytes[at..at + BYTES]);
    u64::from_le_bytes(number)
}
