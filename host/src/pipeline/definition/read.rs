//! Reads the keys of a table one by one, with types and ranges, and remembers which were asked
//! for: whatever is left over is an unknown key.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::error_code::ErrorCode;
use super::problem::{Place, Problem};
use super::tree::{Node, Table, Value};

/// Collects what is wrong with one file.
pub(super) struct Reader<'f> {
    file: &'f Path,
    problems: RefCell<Vec<Problem>>,
}

impl<'f> Reader<'f> {
    pub(super) fn new(file: &'f Path, problems: Vec<Problem>) -> Self {
        Self { file, problems: RefCell::new(problems) }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }

    pub(super) fn report(
        &self,
        code: ErrorCode,
        place: Place,
        key: &str,
        wrong: impl Into<String>,
        right: impl Into<String>,
    ) {
        self.problems.borrow_mut().push(Problem {
            code,
            file: self.file.to_owned(),
            place,
            key: key.to_owned(),
            wrong: wrong.into(),
            right: right.into(),
        });
    }

    /// A path as written, relative to the folder of the pipeline file.
    pub(super) fn resolve(&self, path: &str) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(path)
    }
}

/// A table under its key.
pub(super) struct Fields<'r, 't> {
    pub(super) reader: &'r Reader<'r>,
    /// The table's own key, such as `operator.tokenizer`; empty at the top of the file.
    pub(super) path: String,
    pub(super) place: Place,
    table: &'t Table,
    known: RefCell<Vec<&'static str>>,
}

impl<'r, 't> Fields<'r, 't> {
    pub(super) fn new(
        reader: &'r Reader<'r>,
        path: impl Into<String>,
        place: Place,
        table: &'t Table,
    ) -> Self {
        Self { reader, path: path.into(), place, table, known: RefCell::default() }
    }

    pub(super) fn key(&self, key: &str) -> String {
        match self.path.is_empty() {
            true => key.to_owned(),
            false => format!("{}.{key}", self.path),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// Where the key was written, or else its table.
    pub(super) fn place_of(&self, key: &str) -> Place {
        self.table.get(key).map_or(self.place, |entry| entry.place)
    }

    pub(super) fn report(
        &self,
        code: ErrorCode,
        key: &str,
        wrong: impl Into<String>,
        right: impl Into<String>,
    ) {
        self.reader.report(code, self.place_of(key), &self.key(key), wrong, right);
    }

    pub(super) fn missing(&self, key: &str, right: &str) {
        self.reader.report(
            ErrorCode::MISSING_KEY,
            self.place,
            &self.key(key),
            "this key is missing",
            right,
        );
    }

    /// The value of a key, with its place.
    pub(super) fn node(&self, key: &'static str) -> Option<&'t Node> {
        self.known.borrow_mut().push(key);
        self.table.get(key).map(|entry| &entry.node)
    }

    pub(super) fn wrong_type(&self, key: &str, found: &Value, right: &str) {
        let wrong = format!("expected {right}, found {}", found.kind());
        let example = match right {
            "a string" => format!("write {key} = \"...\""),
            "a boolean" => format!("write {key} = true or {key} = false"),
            "an integer" => format!("write {key} = 1, without quotes"),
            "a number" => format!("write {key} = 1.5, without quotes"),
            "a table" => format!("write [{}] with keys of its own below it", self.key(key)),
            "a list of tables" => {
                format!("write [[{}]] with two brackets above each one", self.key(key))
            }
            _ => format!("write {key} as {right}"),
        };
        self.report(ErrorCode::WRONG_TYPE, key, wrong, example);
    }

    pub(super) fn string(&self, key: &'static str) -> Option<String> {
        match &self.node(key)?.value {
            Value::String(string) => Some(string.clone()),
            other => {
                self.wrong_type(key, other, "a string");
                None
            }
        }
    }

    pub(super) fn strings(&self, key: &'static str) -> Option<Vec<(String, Place)>> {
        let node = self.node(key)?;
        let Value::Array(items) = &node.value else {
            self.wrong_type(key, &node.value, "a list of strings, such as [\"here\"]");
            return None;
        };
        let item = |item: &Node| match &item.value {
            Value::String(string) => Some((string.clone(), item.place)),
            other => {
                self.wrong_type(key, other, "a list of strings, such as [\"here\"]");
                None
            }
        };
        Some(items.iter().filter_map(item).collect())
    }

    /// One of some words.
    pub(super) fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let found = self.string(key)?;
        let choice = choices.iter().find(|(word, _)| *word == found);
        if choice.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            self.report(
                ErrorCode::BAD_VALUE,
                key,
                format!("\"{found}\" is no {key}"),
                suggest(&found, &words, "\"", "it can be"),
            );
        }
        choice.map(|(_, choice)| *choice)
    }

    pub(super) fn integer(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let found = match &self.node(key)?.value {
            Value::Integer(integer) => i128::from(*integer),
            // Only an integer that fits into no i64 comes as an infinite or huge number.
            Value::Float(number) if number.abs() >= 9e18 => *number as i128,
            other => {
                self.wrong_type(key, other, "an integer");
                return None;
            }
        };
        match u64::try_from(found) {
            Ok(found) if range.contains(&found) => Some(found),
            _ => {
                self.report(
                    ErrorCode::BAD_VALUE,
                    key,
                    format!("{found} is out of range"),
                    format!("it can be {} to {}", range.start(), range.end()),
                );
                None
            }
        }
    }

    pub(super) fn count(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<usize> {
        self.integer(key, range).and_then(|count| usize::try_from(count).ok())
    }

    /// A number in a range; `unit` says what it counts.
    pub(super) fn number(
        &self,
        key: &'static str,
        range: RangeInclusive<f64>,
        unit: &str,
    ) -> Option<f64> {
        let found = match &self.node(key)?.value {
            Value::Integer(integer) => *integer as f64,
            Value::Float(number) => *number,
            other => {
                self.wrong_type(key, other, "a number");
                return None;
            }
        };
        if range.contains(&found) {
            return Some(found);
        }
        let right = format!("it can be {} to {} {unit}", range.start(), range.end());
        self.report(ErrorCode::BAD_VALUE, key, format!("{found} is out of range"), right);
        None
    }

    pub(super) fn table(&self, key: &'static str) -> Option<Fields<'r, 't>> {
        let node = self.node(key)?;
        match &node.value {
            Value::Table(table) => {
                Some(Fields::new(self.reader, self.key(key), self.place_of(key), table))
            }
            other => {
                self.wrong_type(key, other, "a table");
                None
            }
        }
    }

    /// A table by itself or a list of tables, as `[source]` and `[[source]]` are. None: something
    /// else, or nothing.
    pub(super) fn table_or_tables(&self, key: &'static str) -> Option<Vec<Fields<'r, 't>>> {
        match &self.node(key)?.value {
            Value::Table(_) => self.table(key).map(|table| vec![table]),
            Value::Array(_) => Some(self.tables(key)),
            other => {
                self.wrong_type(key, other, "a table");
                None
            }
        }
    }

    /// A list of tables. Each is named by its `name` where it has one, and by its number
    /// otherwise.
    pub(super) fn tables(&self, key: &'static str) -> Vec<Fields<'r, 't>> {
        let Some(node) = self.node(key) else { return Vec::new() };
        let Value::Array(items) = &node.value else {
            self.wrong_type(key, &node.value, "a list of tables");
            return Vec::new();
        };
        let item = |(index, item): (usize, &'t Node)| match &item.value {
            Value::Table(table) => {
                let name = match table.get("name").map(|entry| &entry.node.value) {
                    Some(Value::String(name)) => name.clone(),
                    _ => index.to_string(),
                };
                let path = format!("{}.{name}", self.key(key));
                Some(Fields::new(self.reader, path, item.place, table))
            }
            other => {
                self.wrong_type(key, other, "a list of tables");
                None
            }
        };
        items.iter().enumerate().filter_map(item).collect()
    }

    /// A table of names and simple values, as strings.
    pub(super) fn settings(&self, key: &'static str) -> Vec<(String, String)> {
        let Some(fields) = self.table(key) else { return Vec::new() };
        let setting = |entry: &'t super::tree::Entry| {
            let value = match &entry.node.value {
                Value::String(string) => string.clone(),
                Value::Integer(integer) => integer.to_string(),
                Value::Float(number) => number.to_string(),
                Value::Boolean(boolean) => boolean.to_string(),
                other => {
                    fields.report(
                        ErrorCode::WRONG_TYPE,
                        &entry.key,
                        format!("a setting can't be {}", other.kind()),
                        "write it as a string, a number or a boolean",
                    );
                    return None;
                }
            };
            Some((entry.key.clone(), value))
        };
        fields.table.0.iter().filter_map(setting).collect()
    }

    /// The value of a key that takes more than one type.
    pub(super) fn any(&self, key: &'static str) -> Option<&'t Value> {
        self.node(key).map(|node| &node.value)
    }

    /// Reports the keys that nobody asked for.
    pub(super) fn finish(self) {
        let known = self.known.borrow();
        for entry in &self.table.0 {
            if !known.contains(&entry.key.as_str()) {
                self.reader.report(
                    ErrorCode::UNKNOWN_KEY,
                    entry.place,
                    &self.key(&entry.key),
                    "there is no such key here",
                    suggest(&entry.key, &known, "`", "known keys:"),
                );
            }
        }
    }
}

/// "did you mean ..." for the nearest word, and all words.
pub(super) fn suggest(found: &str, words: &[&str], quote: &str, all: &str) -> String {
    let nearest = words
        .iter()
        .map(|word| (strsim::damerau_levenshtein(&found.to_lowercase(), word), word))
        .filter(|(distance, word)| *distance <= 1 + word.len() / 3)
        .min();
    let mut text =
        nearest.map_or(String::new(), |(_, word)| format!("did you mean {quote}{word}{quote}? "));
    let words: Vec<String> = words.iter().map(|word| format!("{quote}{word}{quote}")).collect();
    text.push_str(&format!("{all} {}", words.join(", ")));
    text
}
