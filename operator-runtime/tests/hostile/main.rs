//! One test file for each hostile guest: whatever a component does, the host goes on.

#[path = "../common/mod.rs"]
mod common;

mod endless_key;
mod endless_loop;
mod endless_recursion;
mod entropy;
mod grudge;
mod huge_output;
mod huge_state;
mod lying_describe;
mod lying_offsets;
mod lying_outcome;
mod lying_partials;
mod memory_grab;
mod migrating;
mod panic_in_describe;
mod picky_configure;
mod timer_loop;
mod trap_on_key;
mod trap_on_record;
mod ungiven_import;
mod wrong_version;
mod wrong_world;

use std::path::Path;

use overspill_operator_runtime::{Call, Limits, Run, RunReport};
use overspill_protocol::Cause;

/// Runs these values through a fresh pool of the guest.
fn run(guest: &str, limits: Limits, values: &[&str]) -> Run {
    let pool = common::pool(guest, limits);
    let mut instance = pool.take().expect("an instance");
    instance.run(&common::batch(values), &Call::default()).expect("a run")
}

/// Checks that of these values just the one at `bad` was rejected for `cause`, and the others
/// were passed on. Gives the reason.
fn only_one_is_rejected(run: &Run, values: &[&str], bad: usize, cause: Cause) -> String {
    let mut others = values.to_vec();
    others.remove(bad);
    assert_eq!(common::outputs(&run.emission), others);
    assert_eq!(common::rejected(&run.emission), [(bad as u32, cause)]);
    let RunReport { guest_calls, traps, .. } = run.report;
    assert!(traps >= 1 && guest_calls > traps, "{guest_calls} calls, {traps} traps");
    run.emission.rejected()[0].reason.clone()
}

#[test]
fn each_hostile_guest_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guests = std::fs::read_dir(root.join("../guest-operators/hostile")).expect("the guests");
    let mut count = 0;
    for entry in guests {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        if name == "support" {
            continue;
        }
        let file = root.join("tests/hostile").join(format!("{}.rs", name.replace('-', "_")));
        let test = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("hostile guest `{name}`: {}: {error}", file.display()));
        assert!(test.contains("#[test]"), "{} has no test", file.display());
        assert!(test.contains(&format!("\"hostile-{name}\"")), "{} doesn't use it", file.display());
        // A file that no `mod` names isn't compiled.
        let module = format!("mod {};", name.replace('-', "_"));
        assert!(include_str!("main.rs").contains(&module), "`{module}` is missing");
        count += 1;
    }
    assert!(count >= 21, "only {count} hostile guests");
}
