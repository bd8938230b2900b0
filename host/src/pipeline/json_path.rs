//! Finds one field of a JSON record without building the others.
//!
//! A keyed operator with `key_by` looks at every record, and builds no tree of values for it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The bytes of the string, number or boolean at `path`, such as `bid.auction`; the error is for
/// the dead letters.
pub(crate) fn key_of(record: &[u8], path: &str) -> Result<Vec<u8>, String> {
    let mut reader = serde_json::Deserializer::from_slice(record);
    let found = At { path: Some(path) }
        .deserialize(&mut reader)
        .and_then(|found| reader.end().map(|()| found))
        .map_err(|error| format!("this is not JSON: {error}"))?;
    match found {
        Found::Key(key) => Ok(key),
        Found::Nothing => Err(format!("there is no field `{path}`")),
        Found::OtherKind => Err(format!("the key `{path}` is not a string, a number or a boolean")),
    }
}

#[derive(Debug)]
enum Found {
    Key(Vec<u8>),
    Nothing,
    OtherKind,
}

/// Looks for what is left of a path; none: this is it.
#[derive(Clone, Copy)]
struct At<'p> {
    path: Option<&'p str>,
}

impl At<'_> {
    fn scalar(self, bytes: impl Into<Vec<u8>>) -> Found {
        match self.path {
            None => Found::Key(bytes.into()),
            Some(_) => Found::Nothing,
        }
    }

    fn other(self) -> Found {
        if self.path.is_none() { Found::OtherKind } else { Found::Nothing }
    }
}

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Found, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Found, M::Error> {
        let Some(path) = self.path else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Found::OtherKind);
        };
        let (name, rest) = match path.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (path, None),
        };
        let mut found = Found::Nothing;
        while let Some(is_it) = map.next_key_seed(Is(name))? {
            if is_it {
                found = map.next_value_seed(At { path: rest })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Found, S::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.other())
    }

    fn visit_str<E>(self, text: &str) -> Result<Found, E> {
        Ok(self.scalar(text))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Found, E> {
        Ok(self.scalar(value.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Found, E> {
        Ok(self.scalar(itoa::Buffer::new().format(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Found, E> {
        Ok(self.scalar(itoa::Buffer::new().format(number)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Found, E> {
        Ok(self.scalar(serde_json::Value::from(number).to_string()))
    }

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(self.other())
    }
}

/// Whether a name is this one.
struct Is<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_key_is_what_the_tree_of_values_would_give() {
        let record = br#"{"a":1,"b":{"c":"x\u00e9","d":{"e":-2.5e3,"a":9}},"t":true,"n":null,
            "l":[1,{"a":2}],"a":7,"":{"":3}}"#;
        let tree: Value = serde_json::from_slice(record).expect("it is JSON");
        for path in ["a", "b.c", "b.d.e", "b.d.a", "t", ".", "b", "n", "l", "b.x", "a.b", "x"] {
            let value = path.split('.').try_fold(&tree, |value, name| value.get(name));
            let expected = match value {
                Some(Value::String(text)) => Some(text.as_bytes().to_vec()),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                    Some(value.to_string().into_bytes())
                }
                _ => None,
            };
            assert_eq!(key_of(record, path).ok(), expected, "{path}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (record, path, expected) in [
            (&b"{"[..], "a", "not JSON"),
            (b"{} x", "a", "not JSON"),
            (b"{\"a\":{}}", "a", "not a string"),
            (b"{\"a\":[]}", "a", "not a string"),
            (b"{\"a\":1}", "b", "no field `b`"),
            (b"[1]", "b", "no field `b`"),
            (b"7", "b", "no field `b`"),
            (b"{\"a\":\"\xff\"}", "a", "not JSON"),
        ] {
            let reason = key_of(record, path).expect_err("there is no key");
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
