//! Checks what a component exports and imports against the contract.

use std::fmt::Write as _;

use wasmtime::Engine;
use wasmtime::component::types::{Component, ComponentItem};

use crate::{Kind, LoadError, wasi};

/// The contract versions that this runtime serves, for messages.
pub(crate) const SERVED: &str = "0.1.x";
const PACKAGE: &str = "overspill:operator/";

/// What a component is, by its exports and imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) kind: Kind,
    /// The contract's version in the component's export names, such as `0.1.0`.
    pub(crate) version: String,
    /// Everything it imports that isn't just a name for types.
    pub(crate) imports: Vec<String>,
    /// Whether it exports `migrate-state` beside `keyed`.
    pub(crate) migrates: bool,
}

impl World {
    /// The export that holds `interface`, such as `overspill:operator/flatmap@0.1.0`.
    pub(crate) fn export(&self, interface: &str) -> String {
        format!("{PACKAGE}{interface}@{}", self.version)
    }

    /// Reads a component's type.
    pub(crate) fn read(engine: &Engine, component: &Component) -> Result<Self, LoadError> {
        let exports: Vec<&str> = component.exports(engine).map(|(name, _)| name).collect();
        let (kind, version) = implemented(&exports)?;
        let mut imports = Vec::new();
        for (name, item) in component.imports(engine) {
            // An instance of nothing but types is how a component spells out its own types.
            if gives_nothing(engine, &item.ty) {
                continue;
            }
            if !wasi::gives(name) {
                return Err(LoadError::Import { import: name.to_owned() });
            }
            imports.push(name.to_owned());
        }
        let migrate = format!("{PACKAGE}migrate-state@{version}");
        let migrates = kind == Kind::Keyed && exports.contains(&&*migrate);
        Ok(Self { kind, version, imports, migrates })
    }
}

fn gives_nothing(engine: &Engine, item: &ComponentItem) -> bool {
    match item {
        ComponentItem::ComponentInstance(instance) => {
            instance.exports(engine).all(|(_, export)| matches!(export.ty, ComponentItem::Type(_)))
        }
        ComponentItem::Type(_) => true,
        _ => false,
    }
}

/// The kind and contract version of a component with these exports. Others are ignored: some
/// languages add their own.
fn implemented(exports: &[&str]) -> Result<(Kind, String), LoadError> {
    let ours: Vec<(&str, &str)> =
        exports.iter().filter_map(|name| name.strip_prefix(PACKAGE)?.split_once('@')).collect();
    if let Some((_, version)) = ours.iter().find(|(_, version)| !is_served(version)) {
        return Err(LoadError::Contract { found: (*version).to_owned(), served: SERVED });
    }
    let not_a_world = |found| Err(LoadError::World { found, served: SERVED });
    let Some(&(_, version)) = ours.first() else {
        return not_a_world(match exports {
            [] => "it exports nothing".to_owned(),
            exports => format!("it exports {}", list(exports)),
        });
    };
    if let Some((_, other)) = ours.iter().find(|(_, other)| *other != version) {
        return not_a_world(format!("its exports mix the versions {version} and {other}"));
    }
    let has = |interface| ours.iter().any(|(name, _)| *name == interface);
    for interface in ["describe", "configure"] {
        if !has(interface) {
            return not_a_world(format!("it doesn't export the interface `{interface}`"));
        }
    }
    let kinds: Vec<Kind> =
        [("flatmap", Kind::Flatmap), ("keyed", Kind::Keyed), ("aggregate", Kind::Aggregate)]
            .into_iter()
            .filter_map(|(interface, kind)| has(interface).then_some(kind))
            .collect();
    match kinds[..] {
        [kind] => Ok((kind, version.to_owned())),
        [] => not_a_world(
            "it exports none of the interfaces `flatmap`, `keyed` and `aggregate`".to_owned(),
        ),
        _ => not_a_world("it exports the interfaces of several worlds".to_owned()),
    }
}

/// Published versions are frozen and 0.x versions are compatible within one x.
fn is_served(version: &str) -> bool {
    version
        .strip_prefix("0.1.")
        .is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit()))
}

fn list(names: &[&str]) -> String {
    let mut text = String::new();
    for (index, name) in names.iter().take(5).enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        // Writing to a string can't fail.
        let _ = write!(text, "{comma}`{name}`");
    }
    if names.len() > 5 {
        let _ = write!(text, " and {} more", names.len() - 5);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLATMAP: [&str; 3] = [
        "overspill:operator/describe@0.1.0",
        "overspill:operator/configure@0.1.0",
        "overspill:operator/flatmap@0.1.0",
    ];

    #[test]
    fn the_world_is_read_from_the_exports() {
        let (kind, version) = implemented(&FLATMAP).expect("a flatmap operator");
        assert_eq!((kind, &*version), (Kind::Flatmap, "0.1.0"));
    }

    #[test]
    fn extra_exports_are_ignored() {
        let mut exports = FLATMAP.to_vec();
        exports.push("exports");
        exports.push("other:package/thing@3.0.0");
        assert!(implemented(&exports).is_ok());
    }

    #[test]
    fn a_patch_version_is_served_and_another_minor_one_is_not() {
        assert!(is_served("0.1.0") && is_served("0.1.12"));
        for version in ["0.2.0", "1.0.0", "0.10.0", "0.1", "0.1.", "0.1.0-rc1", ""] {
            assert!(!is_served(version), "{version}");
        }
    }

    #[test]
    fn a_part_of_a_world_is_named() {
        let message = |exports: &[&str]| implemented(exports).expect_err("no world").to_string();
        assert!(message(&FLATMAP[1..]).contains("doesn't export the interface `describe`"));
        assert!(message(&FLATMAP[..2]).contains("none of the interfaces"));
        assert!(message(&[]).contains("exports nothing"));
        let mut two = FLATMAP.to_vec();
        two.push("overspill:operator/keyed@0.1.0");
        assert!(message(&two).contains("several worlds"));
        let mut mixed = FLATMAP.to_vec();
        mixed[2] = "overspill:operator/flatmap@0.1.1";
        assert!(message(&mixed).contains("mix the versions 0.1.0 and 0.1.1"));
    }
}
