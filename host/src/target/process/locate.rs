//! Finds the runner's executable.

use std::path::{Path, PathBuf};

/// Names the executable, for a runner that isn't beside this program.
const VARIABLE: &str = "OVERSPILL_RUNNER";
const NAME: &str = "overspill-runner";

/// The runner's executable, or the places where it was looked for. A place that was named is not
/// passed over in silence for another.
pub(super) fn runner(given: Option<&Path>) -> Result<PathBuf, String> {
    let candidates = match (given, std::env::var_os(VARIABLE)) {
        (Some(path), _) => vec![path.to_owned()],
        (None, Some(path)) => vec![path.into()],
        (None, None) => beside_this_program(),
    };
    match candidates.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => {
            let looked: Vec<_> = candidates.iter().map(|p| format!("`{}`", p.display())).collect();
            Err(looked.join(" or "))
        }
    }
}

fn beside_this_program() -> Vec<PathBuf> {
    let Ok(program) = std::env::current_exe() else { return vec![NAME.into()] };
    // Cargo puts test programs one folder deeper than the programs they belong to.
    program.ancestors().skip(1).take(2).map(|folder| folder.join(NAME)).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use super::*;

    #[test]
    fn a_named_place_is_not_passed_over() {
        let looked = runner(Some(Path::new("no/such/runner"))).unwrap_err();
        assert_eq!(looked, "`no/such/runner`");
    }
}
