//! Reads values that have a form of their own: quantities with a unit, paths, names, fields.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::error_code::ErrorCode;
use super::read::Fields;
use super::tree::Value;
use super::units;

impl Fields<'_, '_> {
    pub(super) fn boolean(&self, key: &'static str) -> Option<bool> {
        match &self.node(key)?.value {
            Value::Boolean(boolean) => Some(*boolean),
            other => {
                self.wrong_type(key, other, "true or false");
                None
            }
        }
    }

    pub(super) fn duration(
        &self,
        key: &'static str,
        range: RangeInclusive<Duration>,
    ) -> Option<Duration> {
        let text = match &self.node(key)?.value {
            Value::String(text) => text,
            other => {
                self.wrong_type(key, other, "a duration in quotes, such as \"250ms\"");
                return None;
            }
        };
        let wrong = match units::duration(text) {
            Ok(duration) if range.contains(&duration) => return Some(duration),
            Ok(_) => {
                let right = format!("it can be {:?} to {:?}", range.start(), range.end());
                (format!("\"{text}\" is out of range"), right)
            }
            Err(right) => (format!("\"{text}\" is no duration"), right.to_owned()),
        };
        self.report(ErrorCode::BAD_VALUE, key, wrong.0, wrong.1);
        None
    }

    pub(super) fn bytes(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<usize> {
        let (text, size) = match &self.node(key)?.value {
            Value::String(text) => (text.clone(), units::bytes(text)),
            Value::Integer(size) => {
                (size.to_string(), u64::try_from(*size).map_err(|_| "a size is not negative"))
            }
            other => {
                self.wrong_type(key, other, "a size, such as \"64MiB\" or a number of bytes");
                return None;
            }
        };
        let wrong = match size {
            Ok(size) if range.contains(&size) => return usize::try_from(size).ok(),
            Ok(_) => {
                let right = format!("it can be {} to {} bytes", range.start(), range.end());
                (format!("\"{text}\" is out of range"), right)
            }
            Err(right) => (format!("\"{text}\" is no size"), right.to_owned()),
        };
        self.report(ErrorCode::BAD_VALUE, key, wrong.0, wrong.1);
        None
    }

    /// A path, relative to the folder of the pipeline file.
    pub(super) fn path(&self, key: &'static str) -> Option<PathBuf> {
        let path = self.string(key)?;
        if path.is_empty() {
            self.report(ErrorCode::BAD_VALUE, key, "the path is empty", "give the path of a file");
            return None;
        }
        Some(self.reader.resolve(&path))
    }

    /// The name of a stage or target.
    pub(super) fn name(&self, default: &str) -> String {
        let Some(name) = self.string("name") else { return default.to_owned() };
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(allowed) {
            self.report(
                ErrorCode::BAD_VALUE,
                "name",
                format!("\"{name}\" is no name"),
                "a name has letters, digits, hyphens and underscores, such as \"tokenizer-1\"",
            );
        }
        name
    }

    /// A field of a JSON value, such as `user.id`.
    pub(super) fn json_field(&self, key: &'static str) -> Option<String> {
        let field = self.string(key)?;
        if field.split('.').any(str::is_empty) {
            self.report(
                ErrorCode::BAD_VALUE,
                key,
                format!("\"{field}\" is no field"),
                "give the name of a field of the JSON value, or the way to it, such as \"user.id\"",
            );
        }
        Some(field)
    }

    /// The path of a file that must exist.
    pub(super) fn existing_file(&self, key: &'static str) -> Option<PathBuf> {
        let path = self.path(key)?;
        if !path.exists() {
            let right = "correct the path (it is relative to the folder of the pipeline file), or \
                         make the file";
            let wrong = format!("there is no file `{}`", path.display());
            self.report(ErrorCode::MISSING_FILE, key, wrong, right);
        } else if path.is_dir() {
            let wrong = format!("`{}` is a folder", path.display());
            self.report(ErrorCode::MISSING_FILE, key, wrong, "give the path of a file");
        }
        Some(path)
    }

    /// The path of a file that will be written: its folder must exist.
    pub(super) fn new_file(&self, key: &'static str) -> Option<PathBuf> {
        let path = self.path(key)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let wrong = format!("there is no folder `{}`", folder.display());
            self.report(
                ErrorCode::MISSING_FILE,
                key,
                wrong,
                "make the folder, or give another path (relative to that of the pipeline file)",
            );
        } else if path.is_dir() {
            let wrong = format!("`{}` is a folder", path.display());
            self.report(ErrorCode::MISSING_FILE, key, wrong, "give the path of a file");
        }
        Some(path)
    }

    /// The path of a folder, which is made when it isn't there.
    pub(super) fn folder(&self, key: &'static str) -> Option<PathBuf> {
        let path = self.path(key)?;
        if path.exists() && !path.is_dir() {
            let wrong = format!("`{}` is no folder", path.display());
            self.report(ErrorCode::MISSING_FILE, key, wrong, "give the path of a folder");
        }
        Some(path)
    }
}
