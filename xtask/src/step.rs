//! Steps: named pieces of work that say when they start, how long they took, and, when they fail,
//! how to repeat them.

use std::io::IsTerminal;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Runs a named piece of work.
///
/// # Errors
/// The work's own, with the name of the step before it.
pub fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("{}", bold(&format!("==> {name}")));
    let start = Instant::now();
    let result = work().with_context(|| format!("step \"{name}\" failed"));
    let took = duration(start.elapsed());
    match result {
        Ok(_) => eprintln!("    {name}: done in {took}"),
        Err(_) => eprintln!("    {name}: FAILED after {took}"),
    }
    result
}

/// Runs a command to its end; its output goes where ours goes.
///
/// # Errors
/// When it can't be started or fails: with the line that repeats it.
pub fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    eprintln!("    $ {line}");
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("can't start `{line}`; is it installed?"))?;
    if !status.success() {
        bail!("it ended with {status}; to run it again: {line}");
    }
    Ok(())
}

/// Cargo, in the repository's folder.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::root());
    // What the outer cargo set for this program is not meant for the inner one: some build scripts
    // (ring's) run again when they see it, and take minutes.
    for (variable, _) in std::env::vars_os() {
        if is_of_this_package(&variable.to_string_lossy()) {
            command.env_remove(variable);
        }
    }
    command
}

fn is_of_this_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
        .iter()
        .any(|prefix| variable.starts_with(prefix))
}

/// A command as one would type it.
#[must_use]
pub fn shown(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let program = if program.ends_with("/cargo") { "cargo".into() } else { program };
    let arguments = command.get_args().map(|argument| {
        let argument = argument.to_string_lossy();
        if argument.contains([' ', '"', '$', '*']) {
            format!("'{argument}'")
        } else {
            argument.into_owned()
        }
    });
    std::iter::once(program.into_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// `850 ms`, `12.3 s`, `4 min 05 s`.
#[must_use]
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1000.0)
    } else if seconds < 100.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{} min {:02} s", span.as_secs() / 60, span.as_secs() % 60)
    }
}

/// Bold where the terminal can show it.
#[must_use]
pub fn bold(text: &str) -> String {
    if std::io::stderr().is_terminal() { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_says_how_to_repeat_it() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).expect_err("it fails");
        let text = error.to_string();
        assert!(text.contains("exit status: 3") && text.ends_with("sh -c 'exit 3'"), "{text}");
    }

    #[test]
    fn a_failed_step_names_itself() {
        let error = step("the thing", || -> Result<()> { bail!("why") }).expect_err("it fails");
        assert_eq!(format!("{error:#}"), "step \"the thing\" failed: why");
    }

    #[test]
    fn the_inner_cargo_sees_nothing_of_this_package() {
        // Cargo sets it for this test, as it does for `cargo xtask`.
        assert!(std::env::var_os("CARGO_PKG_VERSION").is_some());
        let removed =
            |name: &str| cargo().get_envs().any(|(key, value)| key == name && value.is_none());
        assert!(removed("CARGO_PKG_VERSION") && removed("CARGO_MANIFEST_DIR"));
        assert!(!is_of_this_package("CARGO_TARGET_DIR") && !is_of_this_package("CARGO_HOME"));
    }

    #[test]
    fn durations_are_short_to_read() {
        assert_eq!(duration(Duration::from_millis(850)), "850 ms");
        assert_eq!(duration(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(duration(Duration::from_secs(245)), "4 min 05 s");
    }
}
