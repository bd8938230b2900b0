//! Tokens that must not show.

use std::fmt;
use std::path::{Path, PathBuf};

/// A text that never shows when it is printed or logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// A secret can't be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The environment doesn't have it.
    #[error("the environment variable `{0}` is not set: it must hold the token")]
    NotSet(String),
    /// The file can't be read.
    #[error("cannot read the token file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing in it.
    #[error("{0} is empty, expected a token")]
    Empty(String),
}

impl Secret {
    /// This text, less white space around it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// What the environment variable `name` holds.
    ///
    /// # Errors
    /// When it isn't set, or is empty.
    pub fn from_environment(name: &str) -> Result<Self, SecretError> {
        let text = std::env::var(name).map_err(|_| SecretError::NotSet(name.to_owned()))?;
        Self::filled(&text, || format!("the environment variable `{name}`"))
    }

    /// The first line of the file at `path`.
    ///
    /// # Errors
    /// When it can't be read, or is empty.
    pub fn from_file(path: &Path) -> Result<Self, SecretError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SecretError::Read { path: path.to_owned(), source })?;
        let line = text.lines().next().unwrap_or_default();
        Self::filled(line, || format!("the first line of the token file {}", path.display()))
    }

    /// A secret that nobody can guess: 256 bits from the system's generator.
    pub(super) fn random() -> Self {
        Self(hex::encode(rand::random::<[u8; 32]>()))
    }

    fn filled(text: &str, what: impl Fn() -> String) -> Result<Self, SecretError> {
        let secret = Self::new(text);
        match secret.0.is_empty() {
            true => Err(SecretError::Empty(what())),
            false => Ok(secret),
        }
    }

    /// The text itself, for the one who must send it.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// The value of an `Authorization` header that shows it. HTTP libraries keep it out of their
    /// logs. `None`: it has characters that no header can hold.
    pub(super) fn authorization(&self) -> Option<hyper::header::HeaderValue> {
        let mut value = hyper::header::HeaderValue::try_from(format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show() {
        let secret = Secret::new("swordfish\n");
        assert_eq!(secret.reveal(), "swordfish");
        let shown = format!("{secret:?} {:?}", secret.authorization().unwrap());
        assert!(!shown.contains("swordfish"), "{shown}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = Secret::from_environment("OVERSPILL_TEST_NOT_SET").unwrap_err().to_string();
        assert!(error.contains("`OVERSPILL_TEST_NOT_SET`"), "{error}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "  \nsecond").unwrap();
        let error = Secret::from_file(file.path()).unwrap_err().to_string();
        assert!(error.contains("is empty"), "{error}");
        let error = Secret::from_file(Path::new("no/such/file")).unwrap_err().to_string();
        assert!(error.contains("no/such/file"), "{error}");
    }

    #[test]
    fn random_secrets_differ() {
        assert_ne!(Secret::random(), Secret::random());
        assert_eq!(Secret::random().reveal().len(), 64);
    }
}
