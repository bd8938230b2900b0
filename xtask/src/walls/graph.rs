//! Which crate uses which, as cargo resolved it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{CargoOpt, DependencyKind, MetadataCommand};

/// The crates of a workspace and all that they use, without what only tests and build scripts use.
#[derive(Debug, Default)]
pub(super) struct Graph {
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Of the workspace in `folder`.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(folder.join("Cargo.toml"))
            .features(CargoOpt::AllFeatures)
            .exec()
            .with_context(|| format!("cargo metadata failed for {}", folder.display()))?;
        let name_of = metadata
            .packages
            .iter()
            .map(|package| (&package.id, package.name.to_string()))
            .collect::<BTreeMap<_, _>>();
        let resolve = metadata.resolve.as_ref().context("cargo metadata resolved nothing")?;
        let mut graph = Self::default();
        for node in &resolve.nodes {
            graph.uses.entry(name_of[&node.id].clone()).or_default();
            for dependency in &node.deps {
                if dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal) {
                    graph.add(&name_of[&node.id], &name_of[&dependency.pkg]);
                }
            }
        }
        Ok(graph)
    }

    pub(super) fn add(&mut self, user: &str, used: &str) {
        self.uses.entry(user.to_owned()).or_default().insert(used.to_owned());
    }

    pub(super) fn has(&self, package: &str) -> bool {
        self.uses.contains_key(package)
    }

    pub(super) fn packages(&self) -> impl Iterator<Item = &str> {
        self.uses.keys().map(String::as_str)
    }

    /// The shortest way from `package` to a crate that is `forbidden`, both ends included.
    pub(super) fn way(
        &self,
        package: &str,
        forbidden: impl Fn(&str) -> bool,
    ) -> Option<Vec<String>> {
        let mut came_from = BTreeMap::new();
        let mut queue = VecDeque::from([package]);
        while let Some(user) = queue.pop_front() {
            for used in self.uses.get(user).into_iter().flatten() {
                if used == package || came_from.contains_key(used.as_str()) {
                    continue;
                }
                came_from.insert(used.as_str(), user);
                if forbidden(used) {
                    let mut way = vec![used.clone()];
                    let mut at = used.as_str();
                    while let Some(user) = came_from.get(at) {
                        way.insert(0, (*user).to_owned());
                        at = user;
                    }
                    return Some(way);
                }
                queue.push_back(used);
            }
        }
        None
    }
}
