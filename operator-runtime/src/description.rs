//! What a component says of itself.

use std::fmt;

use crate::convert::{RawDescription, RawKind};

/// Which world of the contract a component implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Each record on its own: world `flatmap-operator`.
    Flatmap,
    /// A state for each key: world `keyed-operator`.
    Keyed,
    /// A state for each key that merges in any order: world `aggregate-operator`.
    Aggregate,
}

impl Kind {
    /// The world's name in the contract.
    pub fn world(self) -> &'static str {
        match self {
            Self::Flatmap => "flatmap-operator",
            Self::Keyed => "keyed-operator",
            Self::Aggregate => "aggregate-operator",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flatmap => "flatmap",
            Self::Keyed => "keyed",
            Self::Aggregate => "aggregate",
        })
    }
}

/// One setting that a component takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name, as it stands in a pipeline file.
    pub name: String,
    /// One sentence for the person who writes the pipeline file.
    pub description: String,
    /// What is taken when the setting is not given. None: it must be given.
    pub default: Option<String>,
}

/// What a component says of itself: `wit/describe.wit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// A short name: lower-case letters, digits and hyphens.
    pub name: String,
    /// The operator's own version.
    pub version: String,
    /// Which world it implements.
    pub kind: Kind,
    /// The version of the contract that it was built for.
    pub contract: String,
    /// The version of the layout of its state; 0 when it keeps none.
    pub state_schema: u32,
    /// The settings that it takes.
    pub settings: Vec<Setting>,
    /// The names of its inputs. Empty: it has one.
    pub inputs: Vec<String>,
    /// The names of its side outputs, whose numbers start at 1.
    pub side_outputs: Vec<String>,
}

impl Description {
    /// The description, if the host can use it; else what is wrong with it.
    pub(crate) fn check(raw: RawDescription) -> Result<Self, String> {
        let name_is_plain = !raw.name.is_empty()
            && raw.name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if !name_is_plain {
            return Err(format!(
                "its name is {:?}, where lower-case letters, digits and hyphens are expected",
                raw.name
            ));
        }
        let mut names: Vec<&str> = raw.settings.iter().map(|setting| &*setting.name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("it names the setting `{}` twice", pair[0]));
        }
        if names.first() == Some(&"") {
            return Err("it has a setting without a name".to_owned());
        }
        Ok(Self {
            name: raw.name,
            version: raw.version,
            kind: match raw.kind {
                RawKind::Flatmap => Kind::Flatmap,
                RawKind::Keyed => Kind::Keyed,
                RawKind::Aggregate => Kind::Aggregate,
            },
            contract: raw.contract,
            state_schema: raw.state_schema,
            settings: raw
                .settings
                .into_iter()
                .map(|s| Setting { name: s.name, description: s.description, default: s.default })
                .collect(),
            inputs: raw.inputs,
            side_outputs: raw.side_outputs,
        })
    }
}
