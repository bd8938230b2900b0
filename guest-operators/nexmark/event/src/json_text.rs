//! Text as it stands in JSON.

use std::borrow::Cow;

use overspill_operator::text::plain_in_json;
use serde::{Deserialize, Deserializer};

/// Text as it stands between the quotation marks of a JSON string, its escapes in place, and no
/// more of them than need be. Half of all bids have a backslash in `extra`, and most queries only
/// pass it on: so nothing resolves the escapes to write them again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText<'a>(Cow<'a, str>);

impl<'a> JsonText<'a> {
    /// Text that is known to be such.
    pub(crate) fn checked(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// The same as JSON text.
    fn escape(text: Cow<'a, str>) -> Self {
        if plain_in_json(text.as_bytes()) == text.len() {
            return Self(text);
        }
        let mut json = serde_json::to_string(&text).expect("text can be written as JSON");
        json.pop();
        json.remove(0);
        Self(Cow::Owned(json))
    }

    /// The text with its escapes.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The text without escapes.
    pub fn plain(&self) -> Cow<'_, str> {
        match self.0.contains('\\') {
            false => Cow::Borrowed(&self.0),
            true => {
                let string = format!("\"{}\"", self.0);
                Cow::Owned(serde_json::from_str(&string).expect("its escapes are well-formed"))
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Text<'t>(#[serde(borrow)] Cow<'t, str>);
        Text::deserialize(deserializer).map(|text| Self::escape(text.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keeps_no_more_escapes_than_it_needs() {
        for (given, json, plain) in [
            ("plain", "plain", "plain"),
            (r"a\\b", r"a\\b", r"a\b"),
            (r"\u0041\n\/", r"A\n/", "A\n/"),
            (r#"\""#, r#"\""#, "\""),
        ] {
            let string = format!("\"{given}\"");
            let text: JsonText<'_> = serde_json::from_str(&string).unwrap();
            assert_eq!((text.as_json(), &*text.plain()), (json, plain));
        }
    }
}
