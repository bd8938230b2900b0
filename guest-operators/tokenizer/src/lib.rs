//! Splits text into lower-case words.

use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, SettingError, Settings,
};

/// Splits text into lower-case words.
#[derive(Debug)]
pub struct Tokenizer;

impl FlatMap for Tokenizer {
    const DESCRIPTION: Description = Description::new("tokenizer", env!("CARGO_PKG_VERSION"));

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let text = std::str::from_utf8(record.value).map_err(|error| {
            let at = error.valid_up_to();
            Rejection::new(format!("expected UTF-8, found invalid bytes at byte {at}"))
        })?;
        for token in text.split_whitespace() {
            out.emit(token.to_lowercase().as_bytes());
        }
        Ok(())
    }
}

overspill_operator::export!(Tokenizer);
