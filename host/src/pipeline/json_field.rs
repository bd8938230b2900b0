//! What a JSON record says of itself: whether it is JSON, its key, its event time.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::json_path;
use super::source::time_text;

/// Which fields of a JSON record become its key and its event time.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonFields {
    /// The path to the key.
    pub(crate) key: Option<Field>,
    /// The path to the event time.
    pub(crate) time: Option<Field>,
}

/// A path into nested objects, such as `user.id`.
#[derive(Clone, Debug)]
pub(crate) struct Field(String);

/// What was found in a record.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The bytes of the key.
    pub(crate) key: Option<Vec<u8>>,
    /// Milliseconds since 1970-01-01T00:00:00 UTC.
    pub(crate) time: Option<i64>,
}

impl Field {
    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    fn of<'v>(&self, value: &'v Value) -> Result<&'v Value, String> {
        self.0
            .split('.')
            .try_fold(value, |value, name| value.get(name))
            .ok_or_else(|| format!("there is no field `{}`", self.0))
    }
}

impl Field {
    /// The bytes of this field of a record, as a key; the error is for the dead letters.
    pub(crate) fn key_of(&self, record: &[u8]) -> Result<Vec<u8>, String> {
        json_path::key_of(record, &self.0)
    }
}

impl JsonFields {
    /// Checks a record and reads its fields; the error is for the dead letters.
    pub(crate) fn read(&self, record: &[u8]) -> Result<Found, String> {
        let broken = |error: serde_json::Error| format!("this is not JSON: {error}");
        if self.key.is_none() && self.time.is_none() {
            serde_json::from_slice::<IgnoredAny>(record).map_err(broken)?;
            // The check above doesn't look at the bytes of strings.
            std::str::from_utf8(record).map_err(|error| format!("this is not UTF-8: {error}"))?;
            return Ok(Found::default());
        }
        let value: Value = serde_json::from_slice(record).map_err(broken)?;
        let key = self.key.as_ref().map(|field| key(field, field.of(&value)?)).transpose()?;
        let time = self.time.as_ref().map(|field| time(field, field.of(&value)?)).transpose()?;
        Ok(Found { key, time })
    }
}

fn key(field: &Field, value: &Value) -> Result<Vec<u8>, String> {
    match value {
        Value::String(string) => Ok(string.as_bytes().to_vec()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string().into_bytes()),
        _ => Err(format!("the key `{}` is not a string, a number or a boolean", field.0)),
    }
}

fn time(field: &Field, value: &Value) -> Result<i64, String> {
    let time = match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => time_text::parse(text),
        _ => None,
    };
    time.ok_or_else(|| {
        format!(
            "the time `{}` is neither milliseconds since 1970 nor a time such as \
             2015-07-15T00:00:00.000Z",
            field.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> JsonFields {
        JsonFields { key: Some(Field::new("user.id")), time: Some(Field::new("at")) }
    }

    #[test]
    fn key_and_time_come_out_of_nested_fields() {
        let found = fields().read(br#"{"user":{"id":"u1"},"at":12}"#);
        assert_eq!(found, Ok(Found { key: Some(b"u1".to_vec()), time: Some(12) }));
        let found = fields().read(br#"{"user":{"id":7},"at":"1970-01-01T00:00:01Z"}"#);
        assert_eq!(found, Ok(Found { key: Some(b"7".to_vec()), time: Some(1_000) }));
    }

    #[test]
    fn what_is_missing_or_broken_is_said() {
        for (record, expected) in [
            (&br#"{"user":{},"at":1}"#[..], "`user.id`"),
            (br#"{"user":{"id":[]},"at":1}"#, "not a string"),
            (br#"{"user":{"id":1},"at":1.5}"#, "`at`"),
            (br#"{"user":{"id":1},"at":"yesterday"}"#, "`at`"),
            (b"{", "not JSON"),
            (b"\"\xff\"", "not JSON"),
        ] {
            let reason = fields().read(record).expect_err("the record is bad");
            assert!(reason.contains(expected), "{reason}");
        }
        let plain = JsonFields::default();
        assert_eq!(plain.read(b" [1, 2] "), Ok(Found::default()));
        assert!(plain.read(b"{} {}").is_err());
        assert!(plain.read(b"\"\xff\"").is_err());
    }
}
