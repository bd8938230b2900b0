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

use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, Setting, SettingError, Settings,
};

use fields::Fields;

/// Splits text into lower-case words.
#[derive(Debug)]
pub struct Tokenizer {
    fields: Option<Fields>,
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
        Ok(Self { fields })
    }

    #[inline]
    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        match &self.fields {
            None => words(record.value, out),
            Some(fields) => fields.read(record.value, |text| words(text.as_bytes(), out)),
        }
    }
}

#[inline]
fn words(text: &[u8], out: &mut Emitter) -> Result<(), Rejection> {
    match ascii::words(text, out) {
        true => Ok(()),
        false => unicode::words(text, out),
    }
}

overspill_operator::export!(Tokenizer);
