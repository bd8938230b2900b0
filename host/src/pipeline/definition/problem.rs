//! What is wrong with a pipeline file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::error_code::ErrorCode;

/// Where a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this line of the file, counted from 1.
    Line(usize),
    /// In this `--set` on the command line, counted from 1.
    Override(usize),
    /// The file as a whole.
    File,
}

/// One thing that is wrong with a pipeline file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Under which more is written about it.
    pub code: ErrorCode,
    /// The pipeline file.
    pub file: PathBuf,
    /// Where in it.
    pub place: Place,
    /// The key, from the top of the file, such as `operator.tokenizer.lanes`; empty for the file
    /// as a whole.
    pub key: String,
    /// What is wrong.
    pub wrong: String,
    /// What would be right.
    pub right: String,
}

impl Problem {
    pub(crate) fn unreadable(file: &Path, cause: &io::Error) -> Self {
        let right = match cause.kind() {
            io::ErrorKind::NotFound => "give the path of an existing pipeline file",
            io::ErrorKind::InvalidData => "a pipeline file is TOML in UTF-8",
            _ => "make the file readable for this user",
        };
        Self {
            code: ErrorCode::UNREADABLE,
            file: file.to_owned(),
            place: Place::File,
            key: String::new(),
            wrong: format!("the pipeline file can't be read: {cause}"),
            right: right.to_owned(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.place {
            Place::Line(line) => write!(f, ":{line}")?,
            Place::Override(number) => write!(f, " (--set number {number})")?,
            Place::File => {}
        }
        write!(f, ": ")?;
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        write!(f, "{} [{}]\n  {}", self.wrong, self.code, self.right)
    }
}

/// All that is wrong with a pipeline file, in the order of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| match problem.place {
            Place::File => (0, 0),
            Place::Line(line) => (1, line),
            Place::Override(number) => (2, number),
        });
        Self(problems)
    }

    /// One after another.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
