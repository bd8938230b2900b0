//! How the runner ends.
//!
//! ```text
//! SIGTERM -> health: not ready -> the listener closes -> what runs may finish (grace) -> exit 0
//! ```

use std::sync::{Mutex, PoisonError};

use tokio::signal::unix::{SignalKind, signal};

/// The folder of the private socket, kept here so that it is removed on every way out.
static SOCKET_FOLDER: Mutex<Option<tempfile::TempDir>> = Mutex::new(None);

/// Removes `folder` when the process ends by its own will.
pub(crate) fn remove_at_exit(folder: tempfile::TempDir) {
    *SOCKET_FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// Removes what the runner has made for itself.
pub(crate) fn clean_up() {
    // Nothing can be done about a folder that can't be removed.
    drop(SOCKET_FOLDER.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Ends the process, whatever runs.
pub(crate) fn exit_now(code: i32) -> ! {
    clean_up();
    std::process::exit(code)
}

/// Waits for a signal that asks the runner to stop.
///
/// # Errors
/// When the signals can't be watched.
pub(crate) fn stop_signal() -> std::io::Result<impl Future<Output = &'static str>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}
