//! Emits each record as it is: for benchmarks of what it costs to call a component at all.

use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, SettingError, Settings,
};

/// Emits each record as it is.
#[derive(Debug)]
pub struct Identity;

impl FlatMap for Identity {
    const DESCRIPTION: Description = Description::new("identity", env!("CARGO_PKG_VERSION"));

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    #[inline]
    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        out.emit(record.value);
        Ok(())
    }
}

overspill_operator::export!(Identity);

#[cfg(test)]
mod tests {
    use super::*;
    use overspill_operator::testing;

    #[test]
    fn records_come_out_as_they_are() {
        let identity = testing::configure::<Identity>(&[]).unwrap();
        assert_eq!(testing::values(&identity, ["a", "", "\0b"]), [&b"a"[..], b"", b"\0b"]);
    }
}
