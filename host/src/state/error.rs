//! What can go wrong with keyed state.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// How much of a key a message shows, in characters.
const SHOWN: usize = 80;

/// Why something wasn't done. Whatever the error, nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A limit would be passed.
    #[error(
        "OS0023: operator `{operator}`: key \"{key}\" would pass the limit on {limit}, {allowed} \
         bytes: there are {current} now, {requested} would be needed; {}",
        .limit.advice()
    )]
    Limit {
        /// The operator.
        operator: String,
        /// Which limit.
        limit: StateLimit,
        /// The key whose commit was too much, printable and cut.
        key: String,
        /// The limit itself, in bytes.
        allowed: u64,
        /// How many bytes count against it now.
        current: u64,
        /// How many would.
        requested: u64,
    },
    /// The commit started from another version of a key: the key was given to someone else since.
    #[error(
        "operator `{operator}`: the commit of key \"{key}\" started from version {found}, and the \
         key is at version {current}: somebody else committed it since"
    )]
    Fenced {
        /// The operator.
        operator: String,
        /// The key, printable and cut.
        key: String,
        /// The version that the commit named.
        found: u64,
        /// The version that the key has.
        current: u64,
    },
    /// A commit names a key twice.
    #[error("operator `{operator}`: one commit changes key \"{key}\" twice")]
    Twice {
        /// The operator.
        operator: String,
        /// The key, printable and cut.
        key: String,
    },
    /// A setting that can't be taken.
    #[error("OS0006: operator `{operator}`: `state.{setting}`: {reason}")]
    Setting {
        /// The operator.
        operator: String,
        /// The setting's name.
        setting: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// What doesn't fit into memory can't be written to disk or read back.
    #[error(
        "OS0024: operator `{operator}`: can't {doing} in `{}`: {cause}; see that the disk is well \
         and has room, give another folder by `state.directory`, or raise `state.memory`",
        .folder.display()
    )]
    Disk {
        /// The operator.
        operator: String,
        /// What was being done.
        doing: &'static str,
        /// The folder.
        folder: PathBuf,
        /// Why it failed.
        cause: DiskError,
    },
}

/// A limit on keyed state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateLimit {
    /// On the state of one key.
    Key,
    /// On everything.
    Total,
    /// On what can't be moved out of memory.
    Timers,
}

impl StateLimit {
    fn advice(self) -> &'static str {
        match self {
            Self::Key => {
                "raise `state.max_key` of the operator in the pipeline file, or keep less in a key"
            }
            Self::Total => {
                "raise `state.max_total` of the operator in the pipeline file, or let what isn't \
                 used expire with `state.ttl`"
            }
            Self::Timers => {
                "timers and their keys stay in memory and may take three quarters of \
                 `state.memory`: raise it for the operator in the pipeline file, or set fewer \
                 timers"
            }
        }
    }
}

impl fmt::Display for StateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "the state of one key (`state.max_key`)",
            Self::Total => "all keys, states and timers (`state.max_total`)",
            Self::Timers => "timers in memory (three quarters of `state.memory`)",
        })
    }
}

/// What the disk said.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The folder can't be made or used.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The store failed.
    #[error("{0}")]
    Store(String),
    /// What was read isn't what was written.
    #[error("the record of a key is damaged: {0}")]
    Damaged(&'static str),
}

/// A key for a message: printable ASCII, everything else escaped, and cut.
pub(super) fn shown(key: &[u8]) -> String {
    let mut text = String::new();
    for (index, byte) in key.iter().enumerate() {
        if text.len() >= SHOWN {
            text.push_str(&format!("... ({} bytes more)", key.len() - index));
            break;
        }
        text.extend(byte.escape_ascii().map(char::from));
    }
    text
}
