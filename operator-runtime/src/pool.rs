//! Instances of one operator with one set of settings.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::calls::Pace;
use crate::instance::Guest;
use crate::{InstanceError, Kind, Limits, Operator, RunError};

/// Instances of an operator with its settings. A clone is the same pool.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    operator: Operator,
    settings: Vec<(String, String)>,
    limits: Limits,
    /// Instances that nobody uses, the one used last at the end: it is the warmest.
    idle: Mutex<Vec<Guest>>,
    /// How fast the operator has been, for all instances.
    pace: Pace,
}

impl Pool {
    pub(crate) fn new(
        operator: Operator,
        settings: Vec<(String, String)>,
        limits: Limits,
    ) -> Result<Self, InstanceError> {
        let pool = Self(Arc::new(Shared {
            operator,
            settings,
            limits,
            idle: Mutex::default(),
            pace: Pace::default(),
        }));
        let first = pool.make()?;
        pool.idle().push(first);
        Ok(pool)
    }

    /// An instance for one thread: an idle one, or a new one when there is none. It comes back
    /// when it is dropped.
    ///
    /// # Errors
    /// When a new instance is needed and can't be made.
    pub fn take(&self) -> Result<Instance, InstanceError> {
        let idle = self.idle().pop();
        let guest = match idle {
            Some(guest) => guest,
            None => self.make()?,
        };
        Ok(Instance { guest: Some(guest), pool: self.clone() })
    }

    /// The operator whose instances these are.
    pub fn operator(&self) -> &Operator {
        &self.0.operator
    }

    /// What each call may use.
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// How many instances are idle.
    pub fn idle_instances(&self) -> usize {
        self.idle().len()
    }

    /// The linear memory of the idle instances, in bytes.
    pub fn idle_memory(&self) -> usize {
        self.idle().iter().map(Guest::memory).sum()
    }

    pub(crate) fn make(&self) -> Result<Guest, InstanceError> {
        Guest::configured(&self.0.operator.0, &self.0.settings, self.0.limits)
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.0.pace
    }

    /// Keeps an instance for later, unless it is due or there are enough.
    pub(crate) fn give_back(&self, guest: Guest) {
        let options = &self.0.operator.0.shared.options;
        if guest.is_due(options.recycle_calls) {
            return;
        }
        let mut idle = self.idle();
        if idle.len() < options.idle_instances {
            idle.push(guest);
        }
    }

    /// The idle instances. A thread that panicked while it held the lock left them sound: they
    /// are pushed and popped whole.
    fn idle(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("operator", &self.0.operator.digest())
            .field("settings", &self.0.settings)
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}

/// An instance that one thread uses. It goes back to its pool when it is dropped, unless its
/// last call failed or it is due for recycling.
pub struct Instance {
    /// Absent after a fault, until the next call needs one.
    pub(crate) guest: Option<Guest>,
    pub(crate) pool: Pool,
}

impl Instance {
    /// Its linear memory, in bytes; 0 when its last call failed.
    pub fn memory(&self) -> usize {
        self.guest.as_ref().map_or(0, Guest::memory)
    }

    /// The pool that it goes back to.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Checks that the operator is of the kind that a call is for.
    pub(crate) fn expect_kind(&self, expected: Kind) -> Result<(), RunError> {
        let description = self.pool.operator().description();
        match description.kind == expected {
            true => Ok(()),
            false => Err(RunError::Kind {
                operator: description.name.clone(),
                found: description.kind,
                expected,
            }),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(guest) = self.guest.take() {
            self.pool.give_back(guest);
        }
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field("pool", &self.pool)
            .field("memory", &self.memory())
            .finish_non_exhaustive()
    }
}
