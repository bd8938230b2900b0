//! The table of error codes. Each has a page under `docs/errors/`.

use std::fmt;

/// A code such as `OS0003`, under which the documentation says more about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(u16);

impl ErrorCode {
    /// The pipeline file can't be read.
    pub const UNREADABLE: Self = Self(1);
    /// The pipeline file is not TOML.
    pub const SYNTAX: Self = Self(2);
    /// A key that isn't known here.
    pub const UNKNOWN_KEY: Self = Self(3);
    /// A key that must be given is not.
    pub const MISSING_KEY: Self = Self(4);
    /// A value of another type than the key takes.
    pub const WRONG_TYPE: Self = Self(5);
    /// A value of the right type that the key can't take.
    pub const BAD_VALUE: Self = Self(6);
    /// Two stages or two targets have one name.
    pub const DUPLICATE_NAME: Self = Self(7);
    /// A name that no stage or target has.
    pub const UNKNOWN_NAME: Self = Self(8);
    /// Stages read from each other in a circle.
    pub const CYCLE: Self = Self(9);
    /// A stage from which nothing reads.
    pub const UNREAD: Self = Self(10);
    /// A file or folder that the pipeline names is not there.
    pub const MISSING_FILE: Self = Self(11);
    /// The source can't be read.
    pub const SOURCE: Self = Self(12);
    /// The sink or the dead letters can't be written.
    pub const SINK: Self = Self(13);
    /// An operator names no component.
    pub const NO_COMPONENT: Self = Self(14);
    /// A `--set` that can't be applied.
    pub const BAD_OVERRIDE: Self = Self(15);
    /// Metrics can't be served at the address.
    pub const METRICS: Self = Self(16);
    /// An `input` that names no output of a stage.
    pub const BAD_INPUT: Self = Self(17);
    /// A side output that the stage doesn't have.
    pub const UNKNOWN_OUTLET: Self = Self(18);
    /// A component that can't be used as an operator.
    pub const COMPONENT: Self = Self(19);
    /// Settings that the component refuses.
    pub const SETTINGS: Self = Self(20);
    /// A key that has no meaning for the component's kind of operator.
    pub const WRONG_KIND: Self = Self(21);
    /// The inputs are not those that the component has.
    pub const WRONG_INPUTS: Self = Self(22);
    /// A limit on keyed state would be passed.
    pub const STATE_LIMIT: Self = Self(23);
    /// Keyed state that doesn't fit into memory can't be written or read back.
    pub const STATE_DISK: Self = Self(24);
}

/// Every code, and what it stands for in a few words.
pub const ERROR_CODES: &[(ErrorCode, &str)] = &[
    (ErrorCode::UNREADABLE, "the pipeline file can't be read"),
    (ErrorCode::SYNTAX, "the pipeline file is not TOML"),
    (ErrorCode::UNKNOWN_KEY, "unknown key"),
    (ErrorCode::MISSING_KEY, "missing key"),
    (ErrorCode::WRONG_TYPE, "wrong type"),
    (ErrorCode::BAD_VALUE, "bad value"),
    (ErrorCode::DUPLICATE_NAME, "duplicate name"),
    (ErrorCode::UNKNOWN_NAME, "unknown name"),
    (ErrorCode::CYCLE, "cycle"),
    (ErrorCode::UNREAD, "nothing reads from a stage"),
    (ErrorCode::MISSING_FILE, "missing file"),
    (ErrorCode::SOURCE, "the source can't be read"),
    (ErrorCode::SINK, "the sink can't be written"),
    (ErrorCode::NO_COMPONENT, "operator without component"),
    (ErrorCode::BAD_OVERRIDE, "bad override"),
    (ErrorCode::METRICS, "metrics can't be served"),
    (ErrorCode::BAD_INPUT, "bad input"),
    (ErrorCode::UNKNOWN_OUTLET, "unknown side output"),
    (ErrorCode::COMPONENT, "the component can't be used"),
    (ErrorCode::SETTINGS, "the component refuses its settings"),
    (ErrorCode::WRONG_KIND, "not for this kind of operator"),
    (ErrorCode::WRONG_INPUTS, "not the component's inputs"),
    (ErrorCode::STATE_LIMIT, "a limit on keyed state"),
    (ErrorCode::STATE_DISK, "keyed state on disk"),
];

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OS{:04}", self.0)
    }
}
