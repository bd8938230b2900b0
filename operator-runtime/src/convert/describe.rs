//! `describe` and `configure`.

use wasmtime::component::{ComponentType, Lift, TypedFunc};

/// `describe`.
pub(crate) type DescribeFunc = TypedFunc<(), (RawDescription,)>;
/// `configure`.
pub(crate) type ConfigureFunc =
    TypedFunc<(&'static [(String, String)],), (Result<(), RawSettingError>,)>;

/// What `configure` returns when it refuses.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct RawSettingError {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// `kind`.
#[derive(ComponentType, Lift, Clone, Copy, Debug, PartialEq, Eq)]
#[expect(dead_code, reason = "wasmtime makes the variants out of guest memory")]
#[component(enum)]
#[repr(u8)]
pub(crate) enum RawKind {
    #[component(name = "flatmap")]
    Flatmap,
    #[component(name = "keyed")]
    Keyed,
    #[component(name = "aggregate")]
    Aggregate,
}

/// `setting`.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct RawSetting {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) default: Option<String>,
}

/// `description`.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct RawDescription {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) kind: RawKind,
    pub(crate) contract: String,
    #[component(name = "state-schema")]
    pub(crate) state_schema: u32,
    pub(crate) settings: Vec<RawSetting>,
    pub(crate) inputs: Vec<String>,
    #[component(name = "side-outputs")]
    pub(crate) side_outputs: Vec<String>,
}
