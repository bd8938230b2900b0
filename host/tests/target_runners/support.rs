//! What the tests of targets share: components, calls, and the runner's executable.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use overspill::burst::AttemptId;
use overspill::target::{Call, Module, Target, TargetEvent};
use overspill_protocol::{Batch, CallLimits, Column, Invocation};

/// The runner's executable, as cargo builds it beside the tests.
pub(crate) fn runner() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let path = program.parent().unwrap().parent().unwrap().join("overspill-runner");
    assert!(path.is_file(), "run `cargo build --release -p overspill-runner` first");
    path
}

/// The component `name`.
pub(crate) fn guest(name: &str) -> Module {
    let folder = match std::env::var_os("OVERSPILL_GUESTS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guests"),
    };
    let path = folder.join(format!("{name}.wasm"));
    let bytes = std::fs::read(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; run `cargo xtask guests` first", path.display()));
    Module::new(bytes)
}

/// A call of `module` with these lines, which gives up after 20 s.
pub(crate) fn call(module: &Module, lines: &[&str]) -> Call {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let time = Duration::from_secs(20);
    Call {
        attempt: AttemptId(id),
        invocation: Invocation {
            id,
            module: module.digest,
            settings: vec![],
            processing_time: 0,
            deadline: time,
            max_reply: 1 << 20,
            limits: CallLimits::default(),
            work: Batch::from_values(Column::from_values(lines)).into(),
        },
        prefer: None,
        with_states: None,
        with_module: false,
        deadline: Instant::now() + time,
    }
}

/// A call that keeps a runner busy for about 2 µs a thousand rounds.
pub(crate) fn spin(module: &Module, rounds: u64) -> Call {
    let mut call = call(module, &["x"]);
    call.invocation.settings = vec![("iterations-per-record".into(), rounds.to_string())];
    call
}

/// All events of a target, as they come.
pub(crate) fn record_events(target: &dyn Target) -> &'static Mutex<Vec<TargetEvent>> {
    let events: &'static Mutex<Vec<TargetEvent>> = Box::leak(Box::default());
    target.observe(Box::new(|event| events.lock().unwrap().push(event)));
    events
}

/// Waits until `condition` holds, and fails if it never does.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < until, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
