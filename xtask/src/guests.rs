//! `cargo xtask guests`: builds every operator of `guest-operators/` into `target/guests/NAME.wasm`.
//!
//! ```text
//! Rust        cargo build --target wasm32-unknown-unknown -> core module -+
//! Python      componentize-py, in a virtual environment  ----------------+-> target/guests/NAME.wasm
//! JavaScript  esbuild and componentize-js, by npm        ----------------+
//! ```
//!
//! A guest is built again only when its inputs have changed: each has a stamp with the SHA-256 of
//! them in `target/guests/stamps/`. What has to be installed goes below `target/tools/`, but for
//! the Rust target, which goes where rustup keeps it.

mod inputs;
mod javascript;
mod python;
mod rust;
mod script;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use inputs::Inputs;

/// Which guests to build.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Build only the guest of this name; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Leave out the guests written in Python.
    #[arg(long)]
    pub no_python: bool,
    /// Leave out the guests written in JavaScript.
    #[arg(long)]
    pub no_javascript: bool,
}

/// Where the components are put.
#[must_use]
pub fn folder() -> PathBuf {
    crate::root().join("target/guests")
}

/// Builds the guests that have changed.
///
/// # Errors
/// When a tool can't be installed, a guest doesn't build, or none has the name asked for.
pub fn run(options: &Options) -> Result<()> {
    let start = Instant::now();
    let rust = rust::guests()?;
    let scripts = python::GUESTS.iter().chain(&javascript::GUESTS);
    let known = rust.iter().map(|guest| guest.name.as_str());
    check_names(options, known.chain(scripts.map(|guest| guest.name)))?;

    let rust: Vec<_> = rust.iter().filter(|guest| options.wants(&guest.name)).collect();
    let wanted = |guests: &'static [script::Guest], left_out: bool| -> Vec<&script::Guest> {
        guests.iter().filter(|guest| !left_out && options.wants(guest.name)).collect()
    };
    let python = wanted(&python::GUESTS, options.no_python);
    let javascript = wanted(&javascript::GUESTS, options.no_javascript);
    rust::build(&rust)?;
    python::build(&python)?;
    javascript::build(&javascript)?;
    let count = rust.len() + python.len() + javascript.len();
    eprintln!("    {count} guests in {} ({:.1?})", folder().display(), start.elapsed());
    Ok(())
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

fn check_names<'a>(options: &Options, known: impl Iterator<Item = &'a str>) -> Result<()> {
    let known: Vec<&str> = known.collect();
    for name in &options.only {
        if !known.contains(&name.as_str()) {
            bail!("no guest is called `{name}`; there are: {}", known.join(", "));
        }
    }
    Ok(())
}

/// The component of a guest.
fn component_path(name: &str) -> PathBuf {
    folder().join(format!("{name}.wasm"))
}

/// Whether a guest's component is there, made of just these inputs.
fn is_fresh(name: &str, inputs: &Inputs) -> bool {
    let stamp = fs::read_to_string(stamp_path(name)).unwrap_or_default();
    stamp == inputs.digest() && component_path(name).exists()
}

/// Puts a component in its place, at once and whole, and notes what it was made of.
fn keep(name: &str, component: &[u8], inputs: &Inputs) -> Result<()> {
    let path = component_path(name);
    let stamp = stamp_path(name);
    fs::create_dir_all(stamp.parent().unwrap_or(&stamp))?;
    write_whole(&path, component)?;
    write_whole(&stamp, inputs.digest().as_bytes())?;
    eprintln!("    {} ({} KB)", path.display(), component.len().div_ceil(1000));
    Ok(())
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let doing = || format!("writing {}", path.display());
    let file = tempfile::NamedTempFile::new_in(folder).with_context(doing)?;
    fs::write(file.path(), bytes).with_context(doing)?;
    file.persist(path).with_context(doing)?;
    Ok(())
}

fn stamp_path(name: &str) -> PathBuf {
    folder().join("stamps").join(name)
}
