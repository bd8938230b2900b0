//! The committed results: rows where they are few, digests where they are many, and what made
//! them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::install::Flink;
use super::query::Engine;
use super::{Run, digest};

/// Rows of so many bytes are committed as they are.
const MOST: usize = 300_000;

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It was committed with the same rows already.
    Same,
    /// It is new, or has other rows.
    Changed,
    /// It isn't the committed one, and was not to be written.
    Differs,
}

impl Written {
    pub(super) fn said(self) -> &'static str {
        match self {
            Self::Same => "as committed",
            Self::Changed => "written",
            Self::Differs => "NOT as committed",
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Committed {
    query: String,
    data: String,
    /// The columns by which a row replaces another; none: each row stands for itself.
    key: Vec<String>,
    columns: Vec<(String, String)>,
    rows: usize,
    /// Of the sorted rows.
    sha256: String,
    made: Made,
}

/// What made a result.
#[derive(Serialize, Deserialize)]
struct Made {
    by: String,
    /// Names an entry of `provenance.json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    flink: Option<String>,
    java: Option<String>,
    date: String,
    data_sha256: String,
    query_sha256: String,
    sources_sha256: BTreeMap<String, String>,
    /// How many changes of each kind the result was reduced from.
    changes: serde_json::Map<String, Value>,
}

fn path(name: &str, extension: &str) -> PathBuf {
    super::folder().join("results").join(format!("{name}.{extension}"))
}

fn committed(name: &str) -> Option<Committed> {
    serde_json::from_str(&fs::read_to_string(path(name, "json")).ok()?).ok()
}

/// Compares a result with the committed one.
pub(super) fn check(run: &Run<'_>) -> Result<Written> {
    let committed = committed(&run.query.name)
        .with_context(|| format!("there is no result of {} yet", run.query.name))?;
    let same = committed.sha256 == digest::rows(&run.rows) && committed.data_sha256_is(&run.data);
    Ok(if same { Written::Same } else { Written::Differs })
}

impl Committed {
    fn data_sha256_is(&self, sha256: &str) -> bool {
        self.made.data_sha256 == sha256
    }
}

/// Writes a result with its provenance.
pub(super) fn write(run: &Run<'_>, flink: &Flink) -> Result<Written> {
    let query = run.query;
    let sha256 = digest::rows(&run.rows);
    let same = committed(&query.name).is_some_and(|committed| committed.sha256 == sha256);
    fs::create_dir_all(super::folder().join("results"))?;
    let by_flink = query.engine == Engine::Flink;
    let result = Committed {
        query: query.name.clone(),
        data: query.data.clone(),
        key: query.key.clone(),
        columns: run.columns.clone(),
        rows: run.rows.len(),
        sha256,
        made: Made {
            by: run.engine.clone(),
            flink: by_flink.then(|| flink.digest()),
            java: by_flink.then(|| flink.java.clone()),
            date: date()?,
            data_sha256: run.data.clone(),
            query_sha256: hex::encode(Sha256::digest(&query.text)),
            sources_sha256: if by_flink { Flink::sources()? } else { BTreeMap::new() },
            changes: run.changes.clone(),
        },
    };
    let text = format!("{}\n", serde_json::to_string_pretty(&result)?);
    fs::write(path(&query.name, "json"), text)?;
    // The two forms exclude each other: a result that has outgrown the one leaves it.
    let (lines, extension, other) = match run.rows.iter().map(|row| row.len() + 1).sum::<usize>() {
        0..=MOST => (run.rows.clone(), "rows", "buckets"),
        _ => (digest::buckets(&run.rows), "buckets", "rows"),
    };
    fs::write(path(&query.name, extension), lines.join("\n") + "\n")?;
    // Mostly there is none.
    let _ = fs::remove_file(path(&query.name, other));
    if by_flink {
        note_provenance(flink)?;
    }
    Ok(if same { Written::Same } else { Written::Changed })
}

/// Adds this Flink's jars to those that have made results.
fn note_provenance(flink: &Flink) -> Result<()> {
    let path = path("provenance", "json");
    let mut known: BTreeMap<String, Value> = match fs::read_to_string(&path) {
        Ok(text) => {
            serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))?
        }
        Err(_) => BTreeMap::new(),
    };
    let entry = serde_json::json!({ "flink": flink.name(), "jars": flink.digests });
    known.insert(flink.digest(), entry);
    fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&known)?))?;
    Ok(())
}

/// Today, in UTC.
fn date() -> Result<String> {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
