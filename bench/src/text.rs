//! Lines of text of one shape: 100 bytes, 19.5 words on average.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::program;

/// A file of lines.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// How many lines it has.
    pub(crate) lines: usize,
    /// Words of a line, on average.
    pub(crate) words: f64,
}

/// Bytes of a line, without its end.
pub(crate) const LINE: usize = 100;

/// Makes the file, the same one every time.
///
/// # Errors
/// When it can't be written.
pub(crate) fn lines(lines: usize) -> Result<Lines> {
    let path = program::scratch()?.join(format!("lines-{lines}.txt"));
    let text = text(lines);
    let words = text.split_whitespace().count() as f64 / lines as f64;
    fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
    Ok(Lines { path, lines, words })
}

fn text(lines: usize) -> String {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: u64| {
        // Xorshift: the same text on every machine.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut text = String::with_capacity(lines * (LINE + 1));
    for _ in 0..lines {
        let end = text.len() + LINE;
        while text.len() < end {
            // 2 to 6 letters, and one word in eight a letter more.
            let length = 2 + next(5) as usize + usize::from(next(8) == 0);
            for place in 0..length.min(end - text.len()) {
                // One word in eight begins with a capital.
                let first = if place == 0 && next(8) == 0 { b'A' } else { b'a' };
                text.push(char::from(first + next(26) as u8));
            }
            if text.len() < end {
                text.push(' ');
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_shape_that_is_said() {
        let text = text(1_000);
        assert!(text.lines().all(|line| line.len() == LINE));
        let words = text.split_whitespace().count() as f64 / 1_000.0;
        assert!((words - 19.5).abs() < 0.5, "{words} words a line");
    }
}
