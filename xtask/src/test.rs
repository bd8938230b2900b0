//! `cargo xtask test`: everything that CI checks.
//!
//! ```text
//! format -> build -> guests -> tests of the workspace (walls, README, WIT lock among them)
//!        -> tests of the guests -> lints -> fuzzing, a little
//! ```

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::{fuzz, guests, step};

/// How thorough to be.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Leave out the lints and the fuzzing.
    #[arg(long)]
    pub fast: bool,
}

/// Checks everything.
///
/// # Errors
/// The first step that fails, and how to repeat it.
pub fn run(options: &Options) -> Result<()> {
    let manifest = "guest-operators/Cargo.toml";
    step::step("format", || {
        if !has_component("rustfmt", &["fmt", "--version"]) {
            return Ok(());
        }
        step::run(step::cargo().args(["fmt", "--all", "--check"]))?;
        step::run(step::cargo().args(["fmt", "--all", "--check", "--manifest-path", manifest]))
    })?;
    step::step("build the programs (minutes at first, seconds later)", || {
        step::run(step::cargo().args(["build", "--release", "--workspace"]))
    })?;
    step::step("build the guests", || guests::run(&guests::Options::default()))?;
    let mut passed = step::step("tests", || {
        tests(step::cargo().args(["test", "--release", "--workspace"]), std::io::stdout())
    })?;
    passed += step::step("tests of the guests", || {
        let mut command = step::cargo();
        command.args(["test", "--release", "--workspace", "--manifest-path", manifest]);
        tests(command.arg("--target-dir").arg("target/guests/build"), std::io::stdout())
    })?;
    if !options.fast {
        step::step("lints", || {
            if !has_component("clippy", &["clippy", "--version"]) {
                return Ok(());
            }
            step::run(step::cargo().args([
                "clippy",
                "--release",
                "--workspace",
                "--all-targets",
                "--",
                "--deny",
                "warnings",
            ]))
        })?;
        step::step("fuzzing, a little", || fuzz::smoke(Duration::from_secs(10)))?;
    }
    println!("\n{passed} passed, 0 failed");
    Ok(())
}

/// Runs tests, shows what they print, and returns how many passed.
fn tests(command: &mut Command, mut shown: impl Write) -> Result<u64> {
    let line = step::shown(command);
    eprintln!("    $ {line}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("can't start `{line}`"))?;
    let output = child.stdout.take().context("the output is piped")?;
    let mut passed = 0;
    for text in BufReader::new(output).lines() {
        let text = text.context("reading what the tests print")?;
        passed += passed_in(&text).unwrap_or(0);
        writeln!(shown, "{text}")?;
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("it ended with {status}; to run it again: {line}");
    }
    ensure!(passed > 0, "`{line}` ran no test at all");
    Ok(passed)
}

/// `test result: ok. 12 passed; 0 failed; ...`
fn passed_in(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("test result: ok. ")?;
    rest.split_once(" passed;")?.0.parse().ok()
}

/// Whether a part of the Rust toolchain is there, installed if it can be.
fn has_component(component: &str, probe: &[&str]) -> bool {
    let works = || {
        let mut command = step::cargo();
        command.args(probe).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if works() {
        return true;
    }
    let installed = step::run(Command::new("rustup").args(["component", "add", component]));
    if installed.is_ok() && works() {
        return true;
    }
    eprintln!("    skipped: {component} is not installed (rustup component add {component})");
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_tests_are_counted() {
        let line = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(passed_in(line), Some(12));
        assert_eq!(passed_in("test a ... ok"), None);
    }

    #[test]
    fn a_run_without_tests_is_no_success() {
        let script = |text: &str| tests(Command::new("sh").args(["-c", text]), std::io::sink());
        assert_eq!(script("echo 'test result: ok. 2 passed; 0 failed'").ok(), Some(2));
        assert!(script("echo 'test result: ok. 0 passed; 0 failed'").is_err());
        assert!(script("true").is_err());
        assert!(script("echo 'test result: ok. 2 passed; 0 failed'; exit 101").is_err());
    }
}
