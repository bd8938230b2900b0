//! The frozen events: made by the source of this project, checked by their SHA-256, kept below
//! `target/nexmark/`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::step;

/// Events in a file.
#[derive(Debug)]
pub(super) struct Frozen {
    pub(super) path: PathBuf,
    pub(super) sha256: String,
}

/// What `data.json` says of one set of events.
#[derive(Clone, Debug, Deserialize)]
struct Recipe {
    events: u64,
    event_time_rate: u64,
    sha256: String,
}

/// The events of that name.
pub(super) fn frozen(name: &str) -> Result<Frozen> {
    let recipe = recipe(name)?;
    let path = folder()?.join(format!("{name}.ndjson"));
    if !path.exists() || sha256(&path)? != recipe.sha256 {
        step::step(&format!("make the events `{name}`"), || make(&path, &recipe, recipe.events))?;
    }
    let found = sha256(&path)?;
    ensure!(
        found == recipe.sha256,
        "the source no longer makes the frozen events `{name}`: their SHA-256 is {found}, and \
         data.json has {}",
        recipe.sha256
    );
    Ok(Frozen { path, sha256: found })
}

/// The events of that name, but so many of them: for measurements.
pub(super) fn of_length(name: &str, events: u64) -> Result<PathBuf> {
    let path = folder()?.join(format!("{name}-{events}.ndjson"));
    if !path.exists() {
        let recipe = recipe(name)?;
        step::step(&format!("make {events} events"), || make(&path, &recipe, events))?;
    }
    Ok(path)
}

fn recipe(name: &str) -> Result<Recipe> {
    let path = super::folder().join("data.json");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut recipes: BTreeMap<String, Recipe> =
        serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))?;
    recipes.remove(name).with_context(|| format!("{} has no `{name}`", path.display()))
}

fn folder() -> Result<PathBuf> {
    let folder = crate::root().join("target/nexmark");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn make(path: &Path, recipe: &Recipe, events: u64) -> Result<()> {
    let program = crate::binaries().join("overspill");
    if !program.exists() {
        step::run(step::cargo().args(["build", "--release", "--workspace", "--bin", "overspill"]))?;
    }
    // Written under another name first: a file that is there is whole.
    let part = path.with_extension("part");
    let pipeline = path.with_extension("toml");
    let text = format!(
        "source = {{ kind = \"nexmark\", events = {events}, event_time_rate = {} }}\n\
         sink = {{ kind = \"file\", path = {part:?} }}\n",
        recipe.event_time_rate
    );
    fs::write(&pipeline, text)?;
    // Its summary would stand among the results.
    let mut command = Command::new(program);
    step::run(command.arg("run").arg(&pipeline).arg("--quiet").stdout(Stdio::null()))?;
    fs::rename(&part, path)?;
    Ok(())
}

fn sha256(path: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    io::copy(&mut file, &mut hasher)?;
    Ok(hex::encode(hasher.finalize()))
}
