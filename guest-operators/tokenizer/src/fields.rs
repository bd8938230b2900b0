//! The text in some fields of a JSON object.

use std::borrow::Cow;
use std::fmt;

use overspill_operator::Rejection;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// Which fields of a JSON object hold text. Objects on the way to one are a tree.
#[derive(Debug)]
pub(crate) struct Fields {
    root: Vec<Node>,
    count: usize,
}

#[derive(Debug)]
struct Node {
    name: String,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// The text of the field listed at this place.
    Text(usize),
    Object(Vec<Node>),
}

impl Fields {
    /// The fields of a list such as `bid.url, bid.channel`. An error says what was expected.
    pub(crate) fn new(paths: &str) -> Result<Self, String> {
        let mut fields = Self { root: Vec::new(), count: 0 };
        for path in paths.split(',').map(str::trim) {
            let names: Vec<&str> = path.split('.').collect();
            if names.contains(&"") {
                return Err("expected fields such as `bid.url,bid.channel`".to_owned());
            }
            insert(&mut fields.root, &names, fields.count).map_err(|()| {
                format!("expected `{path}` once, and not as part of another field")
            })?;
            fields.count += 1;
        }
        Ok(fields)
    }

    /// Calls `each` with the text of each field, in the order in which they were listed. A field
    /// that is missing or null has none.
    pub(crate) fn read(
        &self,
        record: &[u8],
        mut each: impl FnMut(&str) -> Result<(), Rejection>,
    ) -> Result<(), Rejection> {
        let mut texts = Vec::new();
        texts.resize(self.count, None);
        let mut json = serde_json::Deserializer::from_slice(record);
        Object { nodes: &self.root, texts: &mut texts }
            .deserialize(&mut json)
            .and_then(|()| json.end())
            .map_err(|error| Rejection::new(format!("expected a JSON object: {error}")))?;
        texts.iter().flatten().try_for_each(|text| each(text))
    }
}

fn insert(nodes: &mut Vec<Node>, names: &[&str], place: usize) -> Result<(), ()> {
    let (&name, rest) = names.split_first().ok_or(())?;
    let known = nodes.iter_mut().find(|node| node.name == name);
    match (known, rest) {
        (Some(Node { content: Content::Object(nodes), .. }), [_, ..]) => insert(nodes, rest, place),
        (Some(_), _) => Err(()),
        (None, []) => {
            nodes.push(Node { name: name.to_owned(), content: Content::Text(place) });
            Ok(())
        }
        (None, _) => {
            let mut inner = Vec::new();
            insert(&mut inner, rest, place)?;
            nodes.push(Node { name: name.to_owned(), content: Content::Object(inner) });
            Ok(())
        }
    }
}

/// Reads an object, and keeps the texts that are asked for.
struct Object<'a, 'de> {
    nodes: &'a [Node],
    texts: &'a mut [Option<Cow<'de, str>>],
}

impl<'de> DeserializeSeed<'de> for Object<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            match self.nodes.iter().find(|node| node.name == name) {
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
                Some(Node { content: Content::Object(nodes), .. }) => {
                    map.next_value_seed(Object { nodes, texts: &mut *self.texts })?;
                }
                Some(Node { content: Content::Text(place), .. }) => {
                    self.texts[*place] = map.next_value_seed(Text { field: &name })?;
                }
            }
        }
        Ok(())
    }
}

/// A string, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads a text or null.
struct Text<'a> {
    field: &'a str,
}

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text<'_> {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "text in the field `{}`", self.field)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }
}
