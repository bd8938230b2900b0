//! Everything that can go wrong, short of single records.

use std::fmt;
use std::io;
use std::time::Duration;

use overspill_protocol::{Cause, Digest};

use crate::{Kind, LimitExceeded};

/// The runtime can't start.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// Wasmtime can't run on this machine.
    #[error("this machine can't run compiled WebAssembly: {reason}")]
    Engine {
        /// What wasmtime says.
        reason: String,
    },
    /// The thread that times the calls can't be started.
    #[error("the thread that times guest calls could not be started: {source}")]
    Thread {
        /// Why.
        source: io::Error,
    },
}

/// A component can't be used as an operator.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The bytes are something else than a component.
    #[error("{digest} is no WebAssembly component: {reason}")]
    NotAComponent {
        /// The digest of the bytes.
        digest: Digest,
        /// What they are instead, and what to do.
        reason: String,
    },
    /// The component exports no operator at all, or only a part of one.
    #[error(
        "the component is no operator: {found}; expected the exports of one of the worlds \
         `flatmap-operator`, `keyed-operator` or `aggregate-operator` of \
         overspill:operator@{served}"
    )]
    World {
        /// What it exports.
        found: String,
        /// The contract version that this runtime serves.
        served: &'static str,
    },
    /// The component was built for another version of the contract.
    #[error(
        "the component was built for contract overspill:operator@{found}; this runtime serves \
         {served}: build it with an SDK of that version, or use a runtime that serves {found}"
    )]
    Contract {
        /// The version it was built for.
        found: String,
        /// The versions that this runtime serves.
        served: &'static str,
    },
    /// The component imports what isn't given.
    #[error(
        "the component imports `{import}`, which no operator is given: an operator is pure, it \
         gets its batch and nothing else{}",
        hint(.import)
    )]
    Import {
        /// The import's name.
        import: String,
    },
    /// An export or import has the right name and another type.
    #[error("the component doesn't keep the contract: {reason}")]
    Signature {
        /// Which export, and how its type differs.
        reason: String,
    },
    /// The component describes itself wrongly.
    #[error("the component's `describe` is unusable: {reason}")]
    Description {
        /// What is wrong with it.
        reason: String,
    },
    /// No instance could be made, or `describe` failed.
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

fn hint(import: &str) -> &'static str {
    match import.starts_with("wasi:") {
        true => {
            " (no files, no network, no environment); build it without that part of its \
             language's library"
        }
        false => "",
    }
}

/// Settings that an operator can't take.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    /// A setting that the operator doesn't have.
    #[error("operator `{operator}` has no setting `{name}`; it has {known}")]
    Unknown {
        /// The operator's name.
        operator: String,
        /// The setting's name.
        name: String,
        /// The settings that it has.
        known: String,
    },
    /// A setting without default is not given.
    #[error("operator `{operator}` needs the setting `{name}` ({description})")]
    Missing {
        /// The operator's name.
        operator: String,
        /// The setting's name.
        name: String,
        /// What the operator says of it.
        description: String,
    },
    /// A setting is given twice.
    #[error("setting `{name}` of operator `{operator}` is given twice")]
    Twice {
        /// The operator's name.
        operator: String,
        /// The setting's name.
        name: String,
    },
    /// The operator refuses a setting.
    #[error("operator `{operator}` refuses setting `{name}`: {reason}")]
    Refused {
        /// The operator's name.
        operator: String,
        /// The setting's name.
        name: String,
        /// What it expected, and what it found.
        reason: String,
    },
    /// No instance could be made, or `configure` failed.
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

/// An instance can't be made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InstanceError {
    /// A call before the first batch failed.
    #[error("{doing} failed: {fault}")]
    Fault {
        /// What was being done: instantiation, `describe` or `configure`.
        doing: &'static str,
        /// How it failed.
        fault: Fault,
    },
    /// The component describes itself differently from one instance to the next.
    #[error(
        "the component's `describe` says something else on each instance; a description must be \
         the same at every call and on every machine"
    )]
    Fickle,
    /// The component refuses settings that it took before.
    #[error("the component took its settings once and now refuses setting `{name}`: {reason}")]
    Refused {
        /// The setting's name.
        name: String,
        /// What it says.
        reason: String,
    },
}

/// A batch can't be run, whatever is done with its records.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No instance could be made.
    #[error("no instance to run the batch in: {0}")]
    Instance(#[from] InstanceError),
    /// The call is for operators of another kind.
    #[error("operator `{operator}` is a {found} operator, and this call is for {expected} ones")]
    Kind {
        /// The operator's name.
        operator: String,
        /// What it is.
        found: Kind,
        /// What it would have to be.
        expected: Kind,
    },
    /// States were left out of a shipment, and nobody has put them in.
    #[error("the shipment lacks the states of {keys} keys, which were to be held here")]
    HeldStates {
        /// How many.
        keys: usize,
    },
    /// A call that is about no single record failed.
    #[error("{doing} failed: {fault}")]
    Fault {
        /// What was being done.
        doing: String,
        /// How it failed.
        fault: Fault,
    },
    /// The time for the whole call was up.
    #[error("the budget of {budget:?} was over before {doing} was done")]
    TimeIsUp {
        /// What was being done.
        doing: String,
        /// The budget of the call.
        budget: Duration,
    },
    /// What was to be run doesn't fit together.
    #[error("the call can't be made: {reason}")]
    Input {
        /// What is wrong with it.
        reason: String,
    },
    /// The operator has no `migrate-state`, or it refuses.
    #[error(
        "operator `{operator}` can't bring states of layout {from} to its layout {to}: {reason}"
    )]
    Migration {
        /// The operator's name.
        operator: String,
        /// The layout of the states.
        from: u32,
        /// The operator's own.
        to: u32,
        /// Why not.
        reason: String,
    },
}

/// How a guest call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Whose fault it is.
    pub cause: Cause,
    /// What happened, in one sentence.
    pub reason: String,
    /// The limit that was passed, for a cause that is a limit.
    pub limit: Option<LimitExceeded>,
    /// The end of what the guest wrote to its standard error in this call.
    pub stderr: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match &*self.stderr {
            "" => Ok(()),
            stderr => write!(f, "; its standard error: {}", stderr.trim_end()),
        }
    }
}
