//! Reads a file in large pieces and cuts it at line feeds.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::SourceError;
use crate::pipeline::definition::Input;
use crate::pipeline::run_clock::StopSignal;

/// How much is read at once.
const PIECE: usize = 256 << 10;
/// The most bytes that one line may have: what an operator may hold in its memory, with room.
pub(super) const LONGEST_LINE: usize = 64 << 20;
/// How long a read waits before it looks at the stop signal.
const LOOK: Duration = Duration::from_millis(50);

/// A file, as lines.
///
/// Only the line feed is removed: a carriage return in front of it belongs to the line. A last
/// line without a line feed counts as a line; an empty rest after the last line feed doesn't.
pub(super) struct LineReader {
    path: PathBuf,
    file: File,
    /// How many more times the file is to be read after this one.
    repeat: u64,
    buffer: Vec<u8>,
    /// What of the buffer has not been handed out: `start..end`.
    start: usize,
    end: usize,
    /// Up to where the buffer is known to hold no line feed.
    searched: usize,
    /// Whether the end of the last repetition was read.
    ended: bool,
    line: u64,
}

/// How a wait for lines ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// There is more in the buffer.
    More,
    /// The time is over.
    TimedOut,
    /// The stop signal was given.
    Stopped,
    /// There is no more.
    Ended,
}

impl LineReader {
    pub(super) fn open(input: &Input, repeat: u64) -> Result<Self, SourceError> {
        let path = input.path().to_owned();
        let file = match input {
            Input::File(path) => File::open(path),
            Input::Stdin => io::stdin().as_fd().try_clone_to_owned().map(File::from),
        };
        let file = file.map_err(|cause| SourceError::Open { path: path.clone(), cause })?;
        Ok(Self {
            path,
            file,
            repeat: repeat - 1,
            buffer: vec![0; PIECE],
            start: 0,
            end: 0,
            searched: 0,
            ended: false,
            line: 0,
        })
    }

    /// Hands out lines that are in the buffer until `take` says that it has enough.
    pub(super) fn lines(&mut self, mut take: impl FnMut(u64, &[u8]) -> bool) {
        let mut start = self.start;
        let mut enough = false;
        for offset in memchr::memchr_iter(b'\n', &self.buffer[self.searched..self.end]) {
            let end = self.searched + offset;
            self.line += 1;
            enough = !take(self.line, &self.buffer[start..end]);
            start = end + 1;
            if enough {
                break;
            }
        }
        self.start = start;
        if enough {
            self.searched = start;
            return;
        }
        self.searched = self.end;
        if self.ended && self.start < self.end {
            self.line += 1;
            take(self.line, &self.buffer[self.start..self.end]);
            self.start = self.end;
        }
    }

    /// Reads more, waiting until `until` at most (`None`: as long as it takes). To be called when
    /// [`LineReader::lines`] has handed out all that it had.
    pub(super) fn fill(
        &mut self,
        stop: &StopSignal,
        until: Option<Instant>,
    ) -> Result<Filled, SourceError> {
        if self.ended {
            return Ok(Filled::Ended);
        }
        self.make_room()?;
        loop {
            if stop.is_stopped() {
                return Ok(Filled::Stopped);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let wait = left.map_or(LOOK, |left| left.min(LOOK));
            if !self.readable(wait).map_err(|cause| self.failed(cause))? {
                match left {
                    Some(left) if left <= LOOK => return Ok(Filled::TimedOut),
                    _ => continue,
                }
            }
            match self.file.read(&mut self.buffer[self.end..]) {
                Ok(0) => return self.at_end(),
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(Filled::More);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(cause) => return Err(self.failed(cause)),
            }
        }
    }

    /// Whether a read would not block, after `wait` at most.
    fn readable(&self, wait: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
        let wait = rustix::event::Timespec {
            tv_sec: wait.as_secs() as i64,
            tv_nsec: wait.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&wait)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn make_room(&mut self) -> Result<(), SourceError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        if self.end >= LONGEST_LINE {
            return Err(SourceError::Long {
                path: self.path.clone(),
                line: self.line + 1,
                limit: LONGEST_LINE,
            });
        }
        if self.buffer.len() - self.end < PIECE / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        Ok(())
    }

    /// At the end of the file: from the start again, or done.
    fn at_end(&mut self) -> Result<Filled, SourceError> {
        let empty = self.line == 0 && self.end == 0;
        if self.repeat == 0 || empty {
            self.ended = true;
            // There may be a last line without a line feed.
            return Ok(match self.start < self.end {
                true => Filled::More,
                false => Filled::Ended,
            });
        }
        self.repeat -= 1;
        self.file.rewind().map_err(|cause| self.failed(cause))?;
        // The next repetition begins on a line of its own.
        if self.start < self.end {
            self.buffer[self.end] = b'\n';
            self.end += 1;
        }
        Ok(Filled::More)
    }

    fn failed(&self, cause: io::Error) -> SourceError {
        SourceError::Read { path: self.path.clone(), line: self.line, cause }
    }
}
