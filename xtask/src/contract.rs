//! The rule that a published contract is frozen: `wit/` can't change and keep its version.
//!
//! `wit/versions.lock` holds a digest of the contract for each of its versions. Comments don't
//! count, nor does the layout of the text: what counts is what a component is built against, the
//! packages, interfaces, types, functions and worlds with all their names in their order.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use wit_component::WitPrinter;
use wit_parser::Resolve;

/// The file with the digests, in the folder of the contract.
pub const LOCK: &str = "versions.lock";

/// A contract as it stands in a folder of `.wit` files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Its name and version, such as `overspill:operator@0.1.0`.
    pub package: String,
    /// The SHA-256, in hexadecimal, of its text without comments.
    pub digest: String,
}

impl Contract {
    /// Reads the contract of a folder.
    ///
    /// # Errors
    /// When the folder holds no sound package of WIT.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut resolve = Resolve::default();
        let (package, _) = resolve
            .push_dir(folder)
            .with_context(|| format!("reading the contract in {}", folder.display()))?;
        let mut printer = WitPrinter::default();
        printer.emit_docs(false);
        printer.print(&resolve, package, &[])?;
        let digest = hex::encode(Sha256::digest(printer.output.to_string()));
        Ok(Self { package: resolve.packages[package].name.to_string(), digest })
    }
}

/// Checks that the contract of a folder is the one that its lock file has for its version.
///
/// # Errors
/// When it is another one, or the lock file doesn't know the version: says what to do.
pub fn check(folder: &Path) -> Result<()> {
    let Contract { package, digest } = Contract::read(folder)?;
    let path = folder.join(LOCK);
    let doing = || format!("reading {}", path.display());
    let text = fs::read_to_string(&path).with_context(doing)?;
    let locked: BTreeMap<String, String> = toml::from_str(&text).with_context(doing)?;
    match locked.get(&package) {
        Some(known) if *known == digest => Ok(()),
        Some(known) => bail!(
            "{} has changed, and its version has not: {package} is locked as\n  {known}\nand is now\n  \
             {digest}\nA published contract is frozen, since components are built against it. Take the \
             change back, or give the package a new version in every .wit file and add that one to \
             {}.",
            folder.display(),
            path.display(),
        ),
        None => bail!(
            "{} doesn't know {package}. If the version is meant, add this line to it:\n\
             \"{package}\" = \"{digest}\"",
            path.display(),
        ),
    }
}
