//! The same batch gives the same bytes in another process.

use std::process::Command;

use overspill_operator_runtime::{Call, Limits};

use crate::common::{batch, outputs, pool};

/// Names the file that [`another_process`] writes to.
const OUTPUT: &str = "OVERSPILL_TEST_OUTPUT";

fn run() -> String {
    let pool = pool("hostile-entropy", Limits::default());
    let mut instance = pool.take().expect("an instance");
    let call = Call { processing_time: 1_234_567_890_123, ..Call::default() };
    let values: Vec<String> = (0..100).map(|index| format!("record {index}")).collect();
    outputs(&instance.run(&batch(&values), &call).expect("a run").emission).join("\n")
}

#[test]
fn two_processes_give_the_same_bytes_with_nans_random_and_clocks() {
    let folder = tempfile::tempdir().expect("a folder");
    let in_another_process = |name: &str| {
        let file = folder.path().join(name);
        let status = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "determinism::another_process", "--ignored"])
            .env(OUTPUT, &file)
            .status()
            .expect("another process");
        assert!(status.success(), "{status}");
        std::fs::read_to_string(file).expect("its output")
    };
    let (first, second) = (in_another_process("first"), in_another_process("second"));
    assert_eq!(first.lines().count(), 100);
    assert_eq!(first, second);
    assert_eq!(first, run());
    // The random bytes differ from record to record, so they were really drawn.
    let bytes = |line: &str| line.split(" [").nth(1).map(str::to_owned);
    assert_ne!(first.lines().next().and_then(bytes), first.lines().nth(1).and_then(bytes));
}

#[test]
#[ignore = "run by two_processes_give_the_same_bytes_with_nans_random_and_clocks"]
fn another_process() {
    let file = std::env::var_os(OUTPUT).expect("a file to write to");
    std::fs::write(file, run()).expect("written");
}
