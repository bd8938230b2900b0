//! Counts the records of each key, and reads the states of its older version: for tests of state
//! whose layout changes.
//!
//! Each record becomes the number of records that its key has had so far, as decimal digits. The
//! state is that number as eight bytes, the lowest first; in layout 1 it was the digits.

use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, LittleEndian, MigrateState, Rejection,
    SettingError, Settings,
};

/// Counts the records of each key.
#[derive(Debug)]
pub struct MigratingCounter;

impl Keyed for MigratingCounter {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(2);
    type State = u64;
    type Codec = LittleEndian;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn process(
        &self,
        _: KeyedRecord<'_>,
        state: &mut KeyState<u64>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let count = state.get_or_default();
        *count += 1;
        context.emit(itoa::Buffer::new().format(*count).as_bytes());
        Ok(())
    }
}

impl MigrateState for MigratingCounter {
    fn migrate_state(from_schema: u32, state: &[u8]) -> Result<u64, String> {
        if from_schema != 1 {
            return Err(format!("expected a state of layout 1, found layout {from_schema}"));
        }
        let digits = str::from_utf8(state).ok().and_then(|digits| digits.parse().ok());
        digits.ok_or_else(|| {
            format!("expected a count in decimal digits, found `{}`", state.escape_ascii())
        })
    }
}

overspill_operator::export!(migrating keyed MigratingCounter);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_layout_is_read_and_no_other() {
        let migrate = MigratingCounter::migrate_state;
        assert_eq!(migrate(1, b"42"), Ok(42));
        assert!(migrate(1, b"forty-two").unwrap_err().contains("forty-two"));
        assert!(migrate(3, b"42").unwrap_err().contains("layout 3"));
    }
}
