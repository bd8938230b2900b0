//! The guests written in Python: `componentize-py` makes a component of the interpreter and the
//! operator's modules, after it has run what is at their top level.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::script;
use crate::step;

/// The guests in Python: folder, which is also the name, and main module.
pub(super) const GUESTS: [script::Guest; 1] =
    [script::Guest { name: "tokenizer-python", main: "tokenizer" }];

const PACKAGE: &str = "componentize-py";
const VERSION: &str = "0.25.1";

/// Builds those guests that have changed.
pub(super) fn build(guests: &[&script::Guest]) -> Result<()> {
    script::build("Python", guests, &[PACKAGE, VERSION], |guest, component| {
        let tool = install()?;
        // It leaves caches of modules behind in the folder it reads, so it gets a copy.
        let sources = script::copy_of_sources(guest)?;
        step::run(
            Command::new(tool)
                .args(["--wit-path"])
                .arg(crate::root().join("wit"))
                .args(["--world", script::WORLD, "componentize", "--stub-wasi"])
                .arg("--python-path")
                .arg(sources.path())
                .arg("--output")
                .arg(component)
                .arg(guest.main),
        )
    })
}

/// The tool, installed into a virtual environment if it isn't there.
fn install() -> Result<PathBuf> {
    let folder = script::tools().join(format!("{PACKAGE}-{VERSION}"));
    let tool = folder.join("bin").join(PACKAGE);
    let done = folder.join("installed");
    if done.exists() && tool.exists() {
        return Ok(tool);
    }
    eprintln!("    installing {PACKAGE} {VERSION} into {}", folder.display());
    step::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))
        .context("making a virtual environment; install Python 3 with its module `venv`, or leave the Python guests out with --no-python")?;
    step::run(
        Command::new(folder.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .arg(format!("{PACKAGE}=={VERSION}")),
    )
    .with_context(|| {
        format!(
            "installing {PACKAGE} {VERSION} from PyPI; --no-python leaves the Python guests out"
        )
    })?;
    fs::write(&done, VERSION)?;
    Ok(tool)
}
