//! The settings of an operator, as a pipeline file gives them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::Description;

/// The settings of an operator: exactly those that its description lists.
#[derive(Clone, Debug)]
pub struct Settings {
    values: Vec<(&'static str, String)>,
}

/// A setting that the operator can't take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// The setting's name.
    pub name: String,
    /// What was expected, and what was found.
    pub reason: String,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "setting `{}`: {}", self.name, self.reason)
    }
}

impl std::error::Error for SettingError {}

impl Settings {
    /// The settings of an operator with the given description: `given`, and the defaults of the
    /// rest.
    ///
    /// # Errors
    /// When one is unknown or given twice, or one without a default isn't given.
    pub fn new<'a>(
        description: &Description,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, SettingError> {
        let error = |name: &str, reason: String| SettingError { name: name.to_owned(), reason };
        let mut values: Vec<(&'static str, String)> = Vec::new();
        for (name, value) in given {
            let Some(known) = description.settings.iter().find(|known| known.name == name) else {
                let names: Vec<&str> = description.settings.iter().map(|s| s.name).collect();
                let operator = description.name;
                return Err(error(
                    name,
                    match names.is_empty() {
                        true => format!("operator `{operator}` takes no settings"),
                        false => format!("operator `{operator}` takes only: {}", names.join(", ")),
                    },
                ));
            };
            if values.iter().any(|&(taken, _)| taken == name) {
                return Err(error(name, "expected once, found twice".to_owned()));
            }
            values.push((known.name, value.to_owned()));
        }
        for setting in description.settings {
            if !values.iter().any(|&(name, _)| name == setting.name) {
                let Some(default) = setting.default else {
                    let reason = format!("must be given: {}", setting.description);
                    return Err(error(setting.name, reason));
                };
                values.push((setting.name, default.to_owned()));
            }
        }
        Ok(Self { values })
    }

    /// The value of a setting.
    ///
    /// # Panics
    /// When the operator's description doesn't list it.
    pub fn get(&self, name: &str) -> &str {
        let found = self.values.iter().find(|&&(known, _)| known == name);
        let Some((_, value)) = found else {
            panic!("the operator's description lists no setting `{name}`");
        };
        value
    }

    /// The value of a setting, parsed.
    ///
    /// # Errors
    /// When it doesn't parse; the reason names the type.
    ///
    /// # Panics
    /// When the operator's description doesn't list it.
    pub fn parse<T: FromStr<Err: fmt::Display>>(&self, name: &str) -> Result<T, SettingError> {
        self.get(name).parse().map_err(|error| {
            let kind = std::any::type_name::<T>();
            self.refuse(name, &format!("expected a value of type {kind} ({error})"))
        })
    }

    /// The value of a setting as a length of time: a whole number with `ms`, `s`, `m` or `h`.
    ///
    /// # Errors
    /// When it has another form.
    ///
    /// # Panics
    /// When the operator's description doesn't list it.
    pub fn duration(&self, name: &str) -> Result<Duration, SettingError> {
        let value = self.get(name);
        let split = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
        let (number, unit) = value.split_at(split);
        let unit = match unit.trim_start() {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => 0,
        };
        let millis = number.parse().ok().and_then(|number: u64| number.checked_mul(unit));
        match millis {
            Some(millis) if unit > 0 => Ok(Duration::from_millis(millis)),
            _ => {
                Err(self
                    .refuse(name, "expected a length of time such as `500ms`, `10s`, `5m` or `1h`"))
            }
        }
    }

    /// An error that names the setting and the value that was found for it.
    ///
    /// # Panics
    /// When the operator's description doesn't list it.
    pub fn refuse(&self, name: &str, expected: &str) -> SettingError {
        let found = self.get(name);
        SettingError { name: name.to_owned(), reason: format!("{expected}, found `{found}`") }
    }
}
