//! Splits text into lower-case words.
//!
//! A word is a run of characters without the Unicode property White_Space. It comes out in lower
//! case by Unicode's full mapping, as [`str::to_lowercase`] has it: `İ` becomes two characters,
//! and a capital sigma at the end of a word becomes `ς`. White space ends a word for that rule as
//! well, so that it makes no difference whether words or whole texts are turned to lower case.
//!
//! A record is text in UTF-8. With the setting `field`, a record is a JSON object, and the text is
//! that of the fields named.

mod ascii;
mod fields;
mod unicode;

use std::cell::RefCell;

use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, Setting, SettingError, Settings,
};

use ascii::Chunk;
use fields::Fields;

/// Splits text into lower-case words.
#[derive(Debug)]
pub struct Tokenizer {
    fields: Option<Fields>,
    chunk: RefCell<Chunk>,
}

impl FlatMap for Tokenizer {
    const DESCRIPTION: Description = Description::new("tokenizer", env!("CARGO_PKG_VERSION"))
        .settings(&[Setting::with_default(
            "field",
            "The fields of a JSON record that hold the text, such as `bid.url,bid.channel`; \
                 none: the whole record is text.",
            "",
        )]);

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        let fields = match settings.get("field") {
            "" => None,
            paths => {
                Some(Fields::new(paths).map_err(|expected| settings.refuse("field", &expected))?)
            }
        };
        Ok(Self { fields, chunk: RefCell::new(Chunk::new()) })
    }

    #[inline(always)]
    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let chunk = &mut *self.chunk.borrow_mut();
        match &self.fields {
            None => words(record.value, chunk, out),
            Some(fields) => words_of_fields(fields, record.value, chunk, out),
        }
    }
}

/// Not inlined, so that the way of plain text stays short.
#[inline(never)]
fn words_of_fields(
    fields: &Fields,
    record: &[u8],
    chunk: &mut Chunk,
    out: &mut Emitter,
) -> Result<(), Rejection> {
    fields.read(record, |text| words(text.as_bytes(), chunk, out))
}

#[inline(always)]
fn words(text: &[u8], chunk: &mut Chunk, out: &mut Emitter) -> Result<(), Rejection> {
    match ascii::words(text, chunk, out) {
        true => Ok(()),
        false => unicode::words(text, out),
    }
}

overspill_operator::export!(Tokenizer);
