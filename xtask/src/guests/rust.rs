//! The guests written in Rust: the members of the workspace `guest-operators/` that make a
//! dynamic library.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use cargo_metadata::{CrateType, Message, MetadataCommand};
use wit_component::ComponentEncoder;

use super::Inputs;
use crate::step;
use crate::toolchain;

pub(super) struct Guest {
    pub(super) name: String,
}

fn workspace() -> PathBuf {
    crate::root().join("guest-operators")
}

/// The guests, by name.
pub(super) fn guests() -> Result<Vec<Guest>> {
    let metadata = MetadataCommand::new()
        .manifest_path(workspace().join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("reading the workspace guest-operators/")?;
    let mut guests: Vec<Guest> = metadata
        .packages
        .iter()
        .filter(|package| {
            package.targets.iter().any(|target| target.crate_types.contains(&CrateType::CDyLib))
        })
        .map(|package| Guest { name: package.name.to_string() })
        .collect();
    guests.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(guests)
}

/// Builds those that have changed.
pub(super) fn build(guests: &[&Guest]) -> Result<()> {
    // Guests share code, and cargo knows best what depends on what: one digest for all.
    // One of them has the benchmark's table built in.
    let paths = ["wit", "guest-operators", "bench/ysb/ad-to-campaign-ids.txt"];
    let inputs = Inputs::new(&paths, &[&toolchain::compiler_version()?])?;
    let stale: Vec<&Guest> =
        guests.iter().copied().filter(|guest| !super::is_fresh(&guest.name, &inputs)).collect();
    if stale.is_empty() {
        return Ok(());
    }
    step::step("guests in Rust", || {
        let modules = compile(&stale)?;
        for Guest { name } in stale {
            let module = modules.get(name).with_context(|| format!("cargo made no {name}.wasm"))?;
            let component = componentize(module)
                .with_context(|| format!("making a component of {}", module.display()))?;
            super::keep(name, &component, &inputs)?;
        }
        Ok(())
    })
}

/// Compiles guests to core modules: the path of each by the name of its package.
fn compile(guests: &[&Guest]) -> Result<BTreeMap<String, PathBuf>> {
    let mut command = step::cargo();
    command
        .current_dir(workspace())
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .args(["build", "--profile", "component", "--target", toolchain::WASM_TARGET])
        .arg("--message-format=json-render-diagnostics")
        .arg("--target-dir")
        .arg(super::folder().join("build"));
    for guest in guests {
        command.args(["--package", &guest.name]);
    }
    toolchain::wasm()?.prepare(&mut command);
    let line = step::shown(&command);
    eprintln!("    $ {line}");
    let mut cargo = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("can't start `{line}`"))?;
    let mut modules = BTreeMap::new();
    let output = cargo.stdout.take().context("cargo's output is piped")?;
    for message in Message::parse_stream(BufReader::new(output)) {
        if let Message::CompilerArtifact(artifact) = message.context("reading cargo's messages")? {
            let module = artifact.filenames.iter().find(|file| file.extension() == Some("wasm"));
            if let Some(module) = module
                && let Some(guest) = guests.iter().find(|guest| {
                    guest.name.replace('-', "_") == artifact.target.name.replace('-', "_")
                })
            {
                modules.insert(guest.name.clone(), module.clone().into_std_path_buf());
            }
        }
    }
    let status = cargo.wait()?;
    if !status.success() {
        bail!("cargo ended with {status}; to run it again, in guest-operators/: {line}");
    }
    Ok(modules)
}

fn componentize(module: &PathBuf) -> Result<Vec<u8>> {
    let module = std::fs::read(module)?;
    ComponentEncoder::default().validate(true).module(&module)?.encode()
}
