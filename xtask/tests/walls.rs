//! The walls of the architecture stand.

use std::path::Path;

#[test]
fn no_room_uses_what_it_never_uses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository's folder");
    let breaches = xtask::walls::check(root).expect("the repository can be read");
    let text = breaches.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(breaches.is_empty(), "\n{text}\n");
}
