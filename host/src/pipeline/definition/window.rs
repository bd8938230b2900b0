//! The windows of event time into which an aggregate operator's records are put.

use std::fmt;
use std::time::Duration;

use super::error_code::ErrorCode;
use super::read::Fields;
use super::units::{MILLISECOND, YEAR, duration_text};

/// In how many windows a record may be at most.
const MOST_WINDOWS: u128 = 10_000;

/// Into which windows of event time an operator's records are put. All lengths are whole
/// milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowDefinition {
    /// Where windows begin and end.
    pub kind: WindowKind,
    /// How long after its end by the watermark a window still takes records. Each that comes in
    /// that time makes a new result; what comes later goes to the side output `late`.
    pub allowed_lateness: Duration,
}

impl WindowDefinition {
    /// The side output for late records, which every operator with windows has.
    pub const LATE: &'static str = "late";
}

/// Where windows begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowKind {
    /// One after another, from 1970 on.
    Tumbling {
        /// How long each is.
        size: Duration,
    },
    /// Overlapping, from 1970 on.
    Sliding {
        /// How long each is: a multiple of `every`.
        size: Duration,
        /// How far apart they begin.
        every: Duration,
    },
    /// From a key's first record to the end of a pause.
    Session {
        /// How long the pause is.
        gap: Duration,
    },
}

impl fmt::Display for WindowDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            WindowKind::Tumbling { size } => {
                write!(f, "tumbling windows of {}", duration_text(size))?;
            }
            WindowKind::Sliding { size, every } => {
                let (size, every) = (duration_text(size), duration_text(every));
                write!(f, "sliding windows of {size} every {every}")?;
            }
            WindowKind::Session { gap } => {
                write!(f, "sessions that end after {}", duration_text(gap))?;
            }
        }
        if !self.allowed_lateness.is_zero() {
            write!(f, ", {} of lateness allowed", duration_text(self.allowed_lateness))?;
        }
        Ok(())
    }
}

/// Reads the table `window` of an operator.
pub(super) fn window(fields: Fields<'_, '_>) -> Option<WindowDefinition> {
    let given: Vec<&str> =
        ["tumbling", "sliding", "session"].into_iter().filter(|key| fields.has(key)).collect();
    if given.is_empty() {
        fields.missing(
            "tumbling",
            "say what windows: tumbling = \"10s\", or sliding = \"10s\" with every = \"2s\", or \
             session = \"30s\"",
        );
    } else if let [first, second, ..] = given[..] {
        fields.report(
            ErrorCode::BAD_VALUE,
            second,
            format!("a window is either {first} or {second}"),
            "keep one of the two; two kinds of windows are two operators",
        );
    }
    let tumbling = millis(&fields, "tumbling", MILLISECOND);
    let sliding = millis(&fields, "sliding", MILLISECOND);
    let session = millis(&fields, "session", MILLISECOND);
    let lateness = millis(&fields, "allowed_lateness", Duration::ZERO);
    // Where windows don't slide it is an unknown key.
    let every = fields.has("sliding").then(|| {
        if !fields.has("every") {
            let right = "say how far apart the windows begin, such as every = \"2s\"";
            fields.missing("every", right);
        }
        millis(&fields, "every", MILLISECOND)
    });
    if let (Some(size), Some(Some(every))) = (sliding, every) {
        slides(&fields, size, every);
    }
    fields.finish();
    let kind = match (tumbling, sliding.zip(every.flatten()), session) {
        (Some(size), _, _) => WindowKind::Tumbling { size },
        (_, Some((size, every)), _) => WindowKind::Sliding { size, every },
        (_, _, gap) => WindowKind::Session { gap: gap? },
    };
    Some(WindowDefinition { kind, allowed_lateness: lateness.unwrap_or_default() })
}

/// A length of event time, which is counted in milliseconds.
fn millis(fields: &Fields<'_, '_>, key: &'static str, least: Duration) -> Option<Duration> {
    let duration = fields.duration(key, least..=YEAR)?;
    if duration.subsec_nanos() % 1_000_000 != 0 {
        fields.report(
            ErrorCode::BAD_VALUE,
            key,
            format!("{duration:?} is no whole number of milliseconds"),
            "event time is counted in milliseconds; write such as \"2ms\"",
        );
    }
    Some(duration)
}

fn slides(fields: &Fields<'_, '_>, size: Duration, every: Duration) {
    let (length, step) = (size.as_millis(), every.as_millis().max(1));
    if length % step != 0 || length < step {
        fields.report(
            ErrorCode::BAD_VALUE,
            "every",
            format!("{} is no multiple of {}", duration_text(size), duration_text(every)),
            "let the windows' length be a multiple of `every`, such as sliding = \"10s\" with \
             every = \"2s\"",
        );
    } else if length / step > MOST_WINDOWS {
        fields.report(
            ErrorCode::BAD_VALUE,
            "every",
            format!("each record would be in {} windows", length / step),
            format!("let a record be in at most {MOST_WINDOWS}"),
        );
    }
}
