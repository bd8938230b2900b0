//! What the runner says of its own state.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the runner takes work. Shared by all who change or ask it.
#[derive(Clone, Debug, Default)]
pub struct Health {
    draining: Arc<AtomicBool>,
}

impl Health {
    /// From now on the runner takes no new work.
    pub fn start_draining(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Whether new work is welcome.
    pub fn is_ready(&self) -> bool {
        !self.draining.load(Ordering::Acquire)
    }
}
