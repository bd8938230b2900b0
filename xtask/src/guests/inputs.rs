//! What a guest is made of, as one digest.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// Changes when the way in which guests are built changes: then all are built again.
const RECIPE: &str = "1";

/// The digest of what a guest is made of.
pub(super) struct Inputs {
    digest: String,
}

impl Inputs {
    /// Files and whole folders (paths from the repository's folder), and words such as the
    /// versions of tools.
    pub(super) fn new(paths: &[&str], words: &[&str]) -> Result<Self> {
        let mut hasher = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(RECIPE.as_bytes());
        for word in words {
            add(word.as_bytes());
        }
        for path in paths {
            let path = crate::root().join(path);
            visit(&path, &mut |file| {
                add(file.to_string_lossy().as_bytes());
                add(&fs::read(file).with_context(|| format!("reading {}", file.display()))?);
                Ok(())
            })?;
        }
        Ok(Self { digest: hex::encode(hasher.finalize()) })
    }

    pub(super) fn digest(&self) -> &str {
        &self.digest
    }
}

/// Calls `each` for every file of a folder, in the order of their names; or for the one file.
fn visit(path: &Path, each: &mut impl FnMut(&Path) -> Result<()>) -> Result<()> {
    if !path.is_dir() {
        return each(path);
    }
    let entries = fs::read_dir(path).with_context(|| format!("reading {}", path.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // What building leaves behind is no input.
        if !["target", "node_modules", "__pycache__"].contains(&&*name) {
            visit(&path, each)?;
        }
    }
    Ok(())
}
