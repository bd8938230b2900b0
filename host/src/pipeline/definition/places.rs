//! Where each key of a pipeline file was written, for what is found out later.

use std::collections::HashMap;
use std::path::Path;

use super::error_code::ErrorCode;
use super::problem::{Place, Problem};
use super::tree::{Node, Value, name};

/// The places of all keys, under names such as `operator.tokenizer.lanes`.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(HashMap<String, Place>);

impl Places {
    pub(super) fn of(root: &Node) -> Self {
        let mut places = Self::default();
        places.visit("", root);
        places
    }

    fn visit(&mut self, path: &str, node: &Node) {
        let below = |key: &str| match path.is_empty() {
            true => key.to_owned(),
            false => format!("{path}.{key}"),
        };
        match &node.value {
            Value::Table(table) => {
                for entry in &table.0 {
                    let path = below(&entry.key);
                    self.visit(&path, &entry.node);
                    self.0.insert(path, entry.place);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let path = below(&name(item).unwrap_or_else(|| index.to_string()));
                    self.visit(&path, item);
                    self.0.insert(path, item.place);
                }
            }
            _ => {}
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// A problem with a key. `spot` is the key or a part of its value, such as an item of its
    /// list; where it isn't written, whatever stands around it is named.
    pub(super) fn problem(
        &self,
        file: &Path,
        code: ErrorCode,
        key: &str,
        spot: &str,
        [wrong, right]: [String; 2],
    ) -> Problem {
        let mut spot = spot;
        let place = loop {
            match (self.0.get(spot), spot.rsplit_once('.')) {
                (Some(place), _) => break *place,
                (None, Some((around, _))) => spot = around,
                (None, None) => break Place::File,
            }
        };
        Problem { code, file: file.to_owned(), place, key: key.to_owned(), wrong, right }
    }
}
