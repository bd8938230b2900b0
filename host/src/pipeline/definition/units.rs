//! Quantities that are written with their unit.

use std::time::Duration;

pub(super) const MILLISECOND: Duration = Duration::from_millis(1);
pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);
pub(super) const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
pub(super) const MIB: u64 = 1 << 20;
pub(super) const GIB: u64 = 1 << 30;

const DURATION: &str = "write a duration as a number and a unit (us, ms, s, m or h), such as \
                        \"250ms\" or \"1.5s\"";
const BYTES: &str = "write a size as a number of bytes, or as a number and a unit (B, KiB, MiB or \
                     GiB; kB, MB or GB for powers of ten), such as \"64MiB\"";

/// A duration as it is written in a pipeline file, in the largest unit that leaves no fraction.
pub fn duration_text(duration: Duration) -> String {
    let micros = duration.as_micros();
    let units = [(3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1_000, "ms")];
    let unit = units.into_iter().find(|(unit, _)| micros >= *unit && micros.is_multiple_of(*unit));
    match unit {
        Some((unit, name)) => format!("{}{name}", micros / unit),
        None if micros == 0 => "0s".to_owned(),
        None => format!("{micros}us"),
    }
}

fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let unit = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))?;
    let number: f64 = text[..unit].replace('_', "").parse().ok()?;
    Some((number, text[unit..].trim_start()))
}

/// A duration such as `250ms`; the error says how to write one.
pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    let (number, unit) = split(text).ok_or(DURATION)?;
    let micros = match unit {
        "us" | "µs" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" | "min" => 60e6,
        "h" => 3_600e6,
        _ => return Err(DURATION),
    };
    // Beyond a hundred years it is a slip, and sums of times might overflow.
    match number * micros {
        micros if micros < 3.2e15 => Ok(Duration::from_micros(micros.round() as u64)),
        _ => Err("write a duration of less than a hundred years"),
    }
}

/// A size in bytes such as `64MiB`; the error says how to write one.
pub(super) fn bytes(text: &str) -> Result<u64, &'static str> {
    let (number, unit) = match text.trim().replace('_', "").parse::<u64>() {
        Ok(number) => return Ok(number),
        Err(_) => split(text).ok_or(BYTES)?,
    };
    let factor = match unit {
        "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return Err(BYTES),
    };
    match number * factor {
        bytes if bytes < 9e15 => Ok(bytes.round() as u64),
        _ => Err("write a size of less than 8 PiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        for (text, micros) in [
            ("250ms", 250_000),
            ("1.5s", 1_500_000),
            ("2 m", 120_000_000),
            ("1h", 3_600_000_000),
            ("7us", 7),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_micros(micros)), "{text}");
        }
        for text in ["", "10", "s", "-1s", "10 parsecs", "1.2.3s", "99999999999h", "ms10"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_duration_is_shown_as_it_would_be_written() {
        for text in ["0s", "7us", "1500us", "250ms", "90s", "2m", "36h"] {
            assert_eq!(duration_text(duration(text).unwrap_or_default()), text);
        }
    }

    #[test]
    fn sizes_are_bytes_or_have_a_unit() {
        for (text, size) in [
            ("10", 10),
            ("1_000", 1_000),
            ("64MiB", 64 << 20),
            ("1.5 KiB", 1536),
            ("6MB", 6_000_000),
        ] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "MiB", "-1", "1 mib", "1e9", "99999999GiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
