//! What came of a run, as lines that can be compared and read.

use overspill_protocol::{Batch, Cause, NO_EVENT_TIME};

/// An output record.
pub(super) fn output(batch: &Batch, index: usize, outlet: u8) -> String {
    let key = batch.keys().map_or(&[][..], |keys| keys.value(index)).escape_ascii();
    let time = match batch.timestamps().map_or(NO_EVENT_TIME, |times| times[index]) {
        NO_EVENT_TIME => "none".to_owned(),
        time => time.to_string(),
    };
    let value = batch.values().value(index).escape_ascii();
    let outlet = if outlet == 0 { String::new() } else { format!(" outlet={outlet}") };
    format!("output {key} time={time}{outlet} \"{value}\"")
}

/// A record that was rejected: the reason of a trap may say where in the component it was.
pub(super) fn rejected(what: impl std::fmt::Display, cause: Cause, reason: &str) -> String {
    match cause {
        Cause::Operator => format!("rejected {what}: {reason}"),
        cause => format!("rejected {what}: {cause:?}"),
    }
}
