//! `cargo xtask flink`: what Apache Flink makes of the benchmark's queries.
//!
//! ```text
//! data.json --(overspill's own source)--> target/nexmark/DATA.ndjson
//!                                              | SHA-256 checked
//! queries/QUERY.sql, tables.sql, NexmarkSql.java --(Flink, in one JVM)--> target/flink/results/
//! queries/QUERY.py --(Python)--------------------------------------------------+
//!                                              sorted rows, or their digest -> bench/nexmark/results/
//! ```
//!
//! Flink comes from PyPI, where a wheel has all of its jars, and goes below `target/tools/`.

mod data;
mod digest;
mod install;
mod measure;
mod query;
mod results;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use self::install::Flink;
use self::query::{Engine, Query};
use self::results::Written;
use crate::step;

/// Which queries to run, and what to do with their results.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Run only this query, `q5` for example; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub query: Vec<String>,
    /// Compare with the committed results and write none.
    #[arg(long)]
    pub check: bool,
    /// Measure Flink's processor time instead: each query over many events, rows thrown away.
    #[arg(long)]
    pub measure: bool,
    /// How often each is measured.
    #[arg(long, default_value_t = 1, requires = "measure")]
    pub repeats: usize,
    /// Print JSON, an object a query.
    #[arg(long)]
    pub json: bool,
}

/// The folder of the benchmark.
fn folder() -> PathBuf {
    crate::root().join("bench/nexmark")
}

/// Runs the queries, and writes or checks their results.
///
/// # Errors
/// When something can't be installed, a query fails, or a result isn't the committed one.
pub fn run(options: &Options) -> Result<()> {
    let queries = query::all(&folder().join("queries"), &options.query)?;
    let flink = step::step("set Flink up", install::flink)?;
    if options.measure {
        return measure::run(&flink, &queries, options.repeats.max(1), options.json);
    }
    let mut wrong = Vec::new();
    for query in &queries {
        let events = data::frozen(&query.data)?;
        let run = step::step(&query.name, || run_query(&flink, query, &events))?;
        let written = match options.check {
            true => results::check(&run)?,
            false => results::write(&run, &flink)?,
        };
        match options.json {
            true => println!("{}", serde_json::to_string(&run.summary(written))?),
            false => println!("{:16} {:>7} rows   {}", query.name, run.rows.len(), written.said()),
        }
        if written == Written::Differs {
            wrong.push(query.name.as_str());
        }
    }
    if !wrong.is_empty() {
        bail!(
            "not the committed result: {}; `git diff` after a run without --check",
            wrong.join(", ")
        );
    }
    Ok(())
}

/// A query's result.
struct Run<'q> {
    query: &'q Query,
    /// The sorted rows.
    rows: Vec<String>,
    /// The columns as names and types, where the engine tells.
    columns: Vec<(String, String)>,
    /// How many changes of each kind the engine made, where it tells.
    changes: serde_json::Map<String, serde_json::Value>,
    /// The SHA-256 of the events.
    data: String,
    /// What ran the query, with its version.
    engine: String,
}

impl Run<'_> {
    fn summary(&self, written: Written) -> serde_json::Value {
        serde_json::json!({
            "query": self.query.name, "rows": self.rows.len(), "sha256": digest::rows(&self.rows),
            "result": written.said(), "changes": self.changes, "engine": self.engine,
        })
    }
}

#[derive(serde::Deserialize, Default)]
struct Said {
    columns: Vec<(String, String)>,
    changes: serde_json::Map<String, serde_json::Value>,
}

fn run_query<'q>(flink: &Flink, query: &'q Query, events: &data::Frozen) -> Result<Run<'q>> {
    let folder = crate::root().join("target/flink/results");
    fs::create_dir_all(&folder)?;
    let rows = folder.join(format!("{}.rows", query.name));
    let (said, engine) = match query.engine {
        Engine::Flink => {
            let mut program =
                flink.program(&[events.path.as_ref(), query.path.as_ref(), rows.as_ref()]);
            if !query.key.is_empty() {
                program.arg(query.key.join(","));
            }
            let said = output_of(program)?;
            let line = said.lines().last().unwrap_or_default();
            (serde_json::from_str(line).context("what the program says")?, flink.name())
        }
        Engine::Python => {
            let mut command = Command::new("python3");
            command.arg(&query.path).arg(&events.path);
            fs::write(&rows, output_of(command)?)?;
            (Said::default(), "an independent program in Python".to_owned())
        }
    };
    let text = fs::read_to_string(&rows).with_context(|| format!("reading {}", rows.display()))?;
    let rows: Vec<String> = text.lines().map(str::to_owned).collect();
    ensure!(!rows.is_empty(), "the query made no rows: that would check nothing");
    ensure!(rows.is_sorted(), "{} is not sorted", query.name);
    let Said { columns, changes } = said;
    Ok(Run { query, rows, columns, changes, data: events.sha256.clone(), engine })
}

/// Runs a command to its end: what it wrote to standard output.
fn output_of(mut command: Command) -> Result<String> {
    let line = step::shown(&command);
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| format!("can't start `{line}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("it ended with {}:\n{said}\nto run it again: {line}", output.status);
    }
    String::from_utf8(output.stdout).context("the output is text")
}
