//! Ctrl-C: the first stops the source and lets the pipeline drain, the second quits.

use std::thread;

use overspill::pipeline::run_clock::StopSignal;
use tokio::signal::unix::{SignalKind, signal};

/// What shells report for a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Gives `stop` at the first SIGINT or SIGTERM, and ends the process at the second.
pub(super) fn watch(stop: StopSignal) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    // Signals are caught from here on, not only once the thread runs.
    let guard = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    drop(guard);
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            for already_stopping in [false, true] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if already_stopping {
                    eprintln!("stopped at once: what was under way is lost");
                    std::process::exit(INTERRUPTED);
                }
                tracing::warn!(
                    "stopping: the source is closed, what was read runs through; Ctrl-C again quits"
                );
                stop.stop();
            }
        });
    })?;
    Ok(())
}
