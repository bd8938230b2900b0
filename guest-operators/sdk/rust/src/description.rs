//! What an operator says of itself.

/// The version of the contract (`wit/`) that this SDK speaks.
pub const CONTRACT: &str = "0.1.0";

/// What an operator says of itself: its name, its version and the settings it takes.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// A short name: lower-case letters, digits and hyphens.
    pub name: &'static str,
    /// The operator's own version, by semantic versioning.
    pub version: &'static str,
    /// The settings that it takes.
    pub settings: &'static [Setting],
}

impl Description {
    /// An operator that takes no settings. The version is best had by
    /// `env!("CARGO_PKG_VERSION")`.
    pub const fn new(name: &'static str, version: &'static str) -> Self {
        Self { name, version, settings: &[] }
    }

    /// The same, with settings.
    pub const fn settings(self, settings: &'static [Setting]) -> Self {
        Self { settings, ..self }
    }
}

/// One setting that an operator takes.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name, as it stands in a pipeline file.
    pub name: &'static str,
    /// One sentence for the person who writes the pipeline file, with the unit.
    pub description: &'static str,
    /// What the operator takes when the setting isn't given. `None`: it must be given.
    pub default: Option<&'static str>,
}

impl Setting {
    /// A setting that must be given.
    pub const fn required(name: &'static str, description: &'static str) -> Self {
        Self { name, description, default: None }
    }

    /// A setting that may be left out.
    pub const fn with_default(
        name: &'static str,
        description: &'static str,
        default: &'static str,
    ) -> Self {
        Self { name, description, default: Some(default) }
    }
}
