//! What the README shows is what happens.

use std::env;

#[test]
fn the_readme_shows_what_happens() {
    let root = xtask::root();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let guests = env::var_os("OVERSPILL_GUESTS")
        .map_or_else(|| root.join("target/guests"), |folder| root.join(folder));
    assert!(guests.is_dir(), "{} is missing: run `cargo xtask guests` first", guests.display());
    std::os::unix::fs::symlink(&guests, scratch.path().join("guests")).expect("a link");
    let binaries = xtask::binaries();
    assert!(
        binaries.join("overspill").is_file() && binaries.join("overspill-runner").is_file(),
        "{} lacks the programs: run `cargo build --release --workspace` first",
        binaries.display(),
    );
    let path = format!("{}:{}", binaries.display(), env::var("PATH").unwrap_or_default());
    let page = root.join("README.md");
    let checked = xtask::readme::check(&page, &root, scratch.path(), &path)
        .unwrap_or_else(|error| panic!("{error:#}"));
    assert!(checked.commands > 0 && checked.excerpts > 0, "nothing was checked: {checked:?}");
}
