//! The guests written in JavaScript: esbuild makes one module of the operator's modules, and
//! `componentize-js` a component of the engine and that module, after it has run what is at its
//! top level.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::script;
use crate::step;

/// The guests in JavaScript: folder, which is also the name, and main module.
pub(super) const GUESTS: [script::Guest; 1] =
    [script::Guest { name: "tokenizer-javascript", main: "tokenizer.js" }];

/// npm's description of the tools, with their pinned versions. The last two are what
/// `componentize-js` uses without saying which, or without saying so.
const PACKAGE: &str = r#"{
  "private": true,
  "dependencies": {
    "@bytecodealliance/componentize-js": "0.23.0",
    "esbuild": "0.28.2",
    "@bytecodealliance/jco": "1.35.0",
    "@bytecodealliance/preview2-shim": "0.26.1"
  }
}
"#;

/// Makes a component: arguments are the module, the folder of the contract, the world and where
/// the component goes. The features left out are those that would import something. The contract
/// is handed over as one text, because the tool's own reader of files finds none.
const COMPONENTIZE: &str = r"
import { componentize } from '@bytecodealliance/componentize-js';
import { readdir, readFile, writeFile } from 'node:fs/promises';

const [sourcePath, contract, worldName, output] = process.argv.slice(2);
const names = (await readdir(contract)).filter((name) => name.endsWith('.wit')).sort();
const texts = await Promise.all(names.map((name) => readFile(`${contract}/${name}`, 'utf8')));
const PACKAGE = /^package .*;$/m;
const witWorld = [texts[0].match(PACKAGE)[0], ...texts.map((text) => text.replace(PACKAGE, ''))].join('\n');
const disableFeatures = ['stdio', 'random', 'clocks', 'http', 'fetch-event'];
const { component } = await componentize({ sourcePath, witWorld, worldName, disableFeatures });
await writeFile(output, component);
";

/// Builds those guests that have changed.
pub(super) fn build(guests: &[&script::Guest]) -> Result<()> {
    script::build("JavaScript", guests, &[PACKAGE, COMPONENTIZE], |guest, component| {
        let tools = install()?;
        let work = tempfile::tempdir()?;
        let bundle = work.path().join("bundle.js");
        step::run(
            Command::new(tools.join("node_modules/.bin/esbuild"))
                .arg(script::folder(guest).join(guest.main))
                .args(["--bundle", "--format=esm", "--target=es2023", "--log-level=warning"])
                .arg(format!("--outfile={}", bundle.display())),
        )?;
        step::run(
            Command::new("node")
                .arg(tools.join("componentize.mjs"))
                .arg(&bundle)
                .arg(crate::root().join("wit"))
                .arg(script::WORLD)
                .arg(component),
        )
    })
}

/// The folder of the tools, installed by npm if they aren't there.
fn install() -> Result<PathBuf> {
    let folder = script::tools().join("js");
    let done = folder.join("installed");
    fs::create_dir_all(&folder)?;
    write_if_changed(&folder.join("componentize.mjs"), COMPONENTIZE)?;
    if fs::read_to_string(&done).is_ok_and(|installed| installed == PACKAGE) {
        return Ok(folder);
    }
    eprintln!("    installing componentize-js and esbuild into {}", folder.display());
    fs::write(folder.join("package.json"), PACKAGE)?;
    step::run(
        Command::new("npm")
            .current_dir(&folder)
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error"]),
    )
    .context("installing componentize-js and esbuild; install Node.js 20 or later with npm, or leave the JavaScript guests out with --no-javascript")?;
    fs::write(&done, PACKAGE)?;
    Ok(folder)
}

fn write_if_changed(path: &Path, text: &str) -> Result<()> {
    if !fs::read_to_string(path).is_ok_and(|found| found == text) {
        fs::write(path, text)?;
    }
    Ok(())
}
