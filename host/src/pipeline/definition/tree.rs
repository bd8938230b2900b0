//! A TOML document whose values know where they were written, with `--set` laid over it.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error_code::ErrorCode;
use super::problem::{Place, Problem};

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// A date or time, which no key takes.
    Datetime,
    Array(Vec<Node>),
    Table(Table),
}

/// Keys and values, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Table(pub(super) Vec<Entry>);

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Where the key was written.
    pub(super) place: Place,
    pub(super) node: Node,
}

impl Table {
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.key == key)
    }
}

impl Value {
    /// What the value is, with its article, for an error.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Boolean(_) => "a boolean",
            Self::Datetime => "a date",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
        }
    }
}

/// Reads the text and applies the overrides. What can't be read is left out and reported.
pub(super) fn parse(
    file: &Path,
    text: &str,
    overrides: &[(String, String)],
    problems: &mut Vec<Problem>,
) -> Option<Node> {
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        problems.push(Problem {
            code: ErrorCode::SYNTAX,
            file: file.to_owned(),
            place: error.span().map_or(Place::File, |span| Place::Line(line(text, span.start))),
            key: String::new(),
            wrong: format!("this is not TOML: {}", error.message()),
            right: "correct the line; https://toml.io has the grammar".to_owned(),
        });
    }
    // A document with holes in it would only give errors about what fell into them.
    if !errors.is_empty() {
        return None;
    }
    let mut root =
        Node { place: Place::File, value: Value::Table(table(text, document.get_ref())) };
    for (index, (key, value)) in overrides.iter().enumerate() {
        let place = Place::Override(index + 1);
        let value = Node { place, value: override_value(value) };
        if let Err(right) = set(&mut root, key, value, place) {
            problems.push(Problem {
                code: ErrorCode::BAD_OVERRIDE,
                file: file.to_owned(),
                place,
                key: key.clone(),
                wrong: "this can't be set".to_owned(),
                right,
            });
        }
    }
    Some(root)
}

fn line(text: &str, offset: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..offset.min(text.len())]).count()
}

fn table(text: &str, source: &DeTable<'_>) -> Table {
    let mut entries: Vec<_> = source.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<toml::de::DeString<'_>> = key;
        let place = Place::Line(line(text, key.span().start));
        // A `[table]` has the span of its header, an inline value that of its text; where the
        // parser knows no better the key's line is right for both.
        Entry { key: key.get_ref().to_string(), place, node: node(text, value) }
    };
    Table(entries.into_iter().map(entry).collect())
}

fn node(text: &str, source: &Spanned<DeValue<'_>>) -> Node {
    let value = match source.get_ref() {
        DeValue::String(string) => Value::String(string.to_string()),
        DeValue::Integer(integer) => {
            match i64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(integer) => Value::Integer(integer),
                // Too large for any key; as a number it gets an error about its range.
                Err(_) => Value::Float(integer.as_str().parse().unwrap_or(f64::INFINITY)),
            }
        }
        DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(boolean) => Value::Boolean(*boolean),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(array) => Value::Array(array.iter().map(|item| node(text, item)).collect()),
        DeValue::Table(source) => Value::Table(table(text, source)),
    };
    Node { place: Place::Line(line(text, source.span().start)), value }
}

/// A value from the command line: TOML where it is some, and a plain string otherwise, so that
/// nobody has to quote a quote.
fn override_value(text: &str) -> Value {
    match DeValue::parse(text) {
        Ok(value) => node(text, &value).value,
        Err(_) => Value::String(text.to_owned()),
    }
}

/// Sets the value at a path such as `operator.tokenizer.burst.offload`. In a list of tables the
/// next part of the path is the `name` of one, or its number from 0.
fn set(node: &mut Node, path: &str, value: Node, place: Place) -> Result<(), String> {
    let (head, rest) = match path.split_once('.') {
        Some((head, rest)) => (head, Some(rest)),
        None => (path, None),
    };
    if head.is_empty() {
        return Err("write --set key=value, with a key such as `source.rate.base`".to_owned());
    }
    let next = match &mut node.value {
        Value::Table(table) => {
            let index = table.0.iter().position(|entry| entry.key == head);
            let index = index.unwrap_or_else(|| {
                let empty = Node { place, value: Value::Table(Table::default()) };
                table.0.push(Entry { key: head.to_owned(), place, node: empty });
                table.0.len() - 1
            });
            let entry = &mut table.0[index];
            if rest.is_none() {
                entry.place = place;
            }
            &mut entry.node
        }
        Value::Array(items) => {
            let names: Vec<String> = items.iter().filter_map(name).collect();
            let index = match head.parse::<usize>() {
                Ok(index) if index < items.len() => Some(index),
                _ => items.iter().position(|item| name(item).as_deref() == Some(head)),
            };
            match index {
                Some(index) => &mut items[index],
                None => return Err(format!("`{head}` is none of them: {}", names.join(", "))),
            }
        }
        other => return Err(format!("in front of `.{head}` there is {}", other.kind())),
    };
    match rest {
        Some(rest) => set(next, rest, value, place),
        None => {
            *next = value;
            Ok(())
        }
    }
}

/// The `name` of a table that has one.
pub(super) fn name(node: &Node) -> Option<String> {
    let Value::Table(table) = &node.value else { return None };
    match &table.get("name")?.node.value {
        Value::String(name) => Some(name.clone()),
        _ => None,
    }
}
