//! `cargo xtask fuzz`: feeds the decoders of `protocol/` what nobody would send.
//!
//! The fuzz targets are built by the compiler in use, with its coverage instrumentation, and run
//! by libFuzzer: neither a nightly compiler nor cargo-fuzz is needed, but a C++ compiler is. What
//! the fuzzer learns is kept in `target/fuzz/corpus/` for the next time.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::MetadataCommand;

use crate::step;

/// How long to fuzz.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// For how many seconds, for each fuzz target.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
    /// Only the fuzz target of this name.
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Where the random numbers start; absent: somewhere new each time.
    #[arg(long)]
    pub seed: Option<u32>,
}

const FOLDER: &str = "protocol/fuzz";

/// Instruments our crates and their dependencies, as cargo-fuzz would.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// A short run from a fixed seed, for CI.
///
/// # Errors
/// See [`run`].
pub fn smoke(each: Duration) -> Result<()> {
    run(&Options { seconds: each.as_secs(), only: None, seed: Some(1) })
}

/// Builds the fuzz targets and runs one after another.
///
/// # Errors
/// When one finds something: names the input and how to repeat it.
pub fn run(options: &Options) -> Result<()> {
    let mut targets = targets()?;
    if let Some(only) = &options.only {
        ensure!(targets.contains(only), "no fuzz target is called `{only}`; there are {targets:?}");
        targets.retain(|target| target == only);
    }
    let folder = crate::root().join("target/fuzz");
    let host = host()?;
    build(&folder, &host)?;
    for target in targets {
        let (corpus, found) = (folder.join("corpus").join(&target), folder.join("found"));
        for folder in [&corpus, &found] {
            fs::create_dir_all(folder)
                .with_context(|| format!("can't make {}", folder.display()))?;
        }
        let mut fuzzer = Command::new(folder.join(&host).join("release").join(&target));
        fuzzer
            .arg(format!("-max_total_time={}", options.seconds))
            .arg(format!("-artifact_prefix={}/{target}-", found.display()))
            .args(["-print_final_stats=1", "-verbosity=0", "-rss_limit_mb=2048", "-timeout=10"])
            .args(options.seed.map(|seed| format!("-seed={seed}")))
            .arg(&corpus);
        let seeds = crate::root().join(FOLDER).join("seeds").join(&target);
        if seeds.is_dir() {
            fuzzer.arg(seeds);
        }
        step::step(&format!("fuzz {target} for {} s", options.seconds), || {
            step::run(&mut fuzzer).with_context(|| {
                format!("the fuzzer found something: see {}/{target}-*", found.display())
            })
        })?;
    }
    Ok(())
}

fn build(folder: &PathBuf, host: &str) -> Result<()> {
    need_compiler()?;
    let mut command = step::cargo();
    command
        .args(["build", "--release", "--bins", "--target", host])
        .args(["--manifest-path", &format!("{FOLDER}/Cargo.toml")])
        .arg("--target-dir")
        .arg(folder)
        // Not RUSTFLAGS: no variable of the caller's may leave the instrumentation out.
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    step::run(&mut command)
}

/// The fuzz targets, by name.
fn targets() -> Result<Vec<String>> {
    let metadata = MetadataCommand::new()
        .manifest_path(crate::root().join(FOLDER).join("Cargo.toml"))
        .no_deps()
        .exec()
        .with_context(|| format!("reading {FOLDER}"))?;
    let targets = metadata.packages.iter().flat_map(|package| &package.targets);
    let names: Vec<_> =
        targets.filter(|target| target.is_bin()).map(|target| target.name.clone()).collect();
    ensure!(!names.is_empty(), "{FOLDER} has no fuzz target");
    Ok(names)
}

/// The platform we are on. Naming it keeps the instrumentation away from build scripts.
fn host() -> Result<String> {
    let output = Command::new("rustc").args(["--print", "host-tuple"]).output();
    let output = output.context("can't start rustc")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// libFuzzer is C++.
fn need_compiler() -> Result<()> {
    let there = || {
        let mut probe = Command::new("c++");
        probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    };
    if there() {
        return Ok(());
    }
    eprintln!("    libFuzzer needs a C++ compiler: installing the Debian package g++");
    let _ = step::run(Command::new("apt-get").args(["install", "--yes", "g++"]));
    if !there() {
        bail!("no C++ compiler: install one (on Debian: apt-get install g++)");
    }
    Ok(())
}
