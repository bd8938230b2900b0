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
    /// The version of the layout of its state, counted from 1; 0 for an operator that keeps none.
    pub state_schema: u32,
    /// The names of a keyed operator's inputs. Empty: it has one.
    pub inputs: &'static [&'static str],
    /// The names of a keyed operator's side outputs.
    pub side_outputs: &'static [&'static str],
}

impl Description {
    /// An operator that takes no settings. The version is best had by
    /// `env!("CARGO_PKG_VERSION")`.
    pub const fn new(name: &'static str, version: &'static str) -> Self {
        let (inputs, side_outputs): (&[&str], &[&str]) = (&[], &[]);
        Self { name, version, settings: &[], state_schema: 0, inputs, side_outputs }
    }

    /// The same for an operator that keeps a state. Count up by one when its layout changes.
    pub const fn state_schema(self, state_schema: u32) -> Self {
        Self { state_schema, ..self }
    }

    /// The same with several inputs. A record's input number is the place of its input's name.
    pub const fn inputs(self, inputs: &'static [&'static str]) -> Self {
        Self { inputs, ..self }
    }

    /// The same with side outputs.
    pub const fn side_outputs(self, side_outputs: &'static [&'static str]) -> Self {
        Self { side_outputs, ..self }
    }

    /// The side output of a name, best asked for in a constant:
    /// `const LATE: Outlet = Late::DESCRIPTION.side_output("late");`
    ///
    /// # Panics
    /// When the description names none such; in a constant that is an error of the compiler.
    pub const fn side_output(&self, name: &str) -> Outlet {
        let mut index = 0;
        while index < self.side_outputs.len() {
            if same(self.side_outputs[index].as_bytes(), name.as_bytes()) {
                return Outlet(index as u8 + 1);
            }
            index += 1;
        }
        panic!("the operator's description names no such side output");
    }

    /// The same, with settings.
    pub const fn settings(self, settings: &'static [Setting]) -> Self {
        Self { settings, ..self }
    }
}

/// Where an output record goes: the main output, or one of the side outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outlet(u8);

impl Outlet {
    /// The main output.
    pub const MAIN: Self = Self(0);

    /// Its number in the contract: 0 for the main output.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// `==` in constants.
const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
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
