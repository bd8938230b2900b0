//! States of an older layout, brought to the one that the operator describes.

use overspill_protocol::Column;

use crate::calls::{Calls, Effort, Failed, deserves_another};
use crate::pool::Instance;
use crate::{Call, Kind, RunError};

impl Instance {
    /// Brings states of the layout `from` to the one that the operator describes, one to one.
    ///
    /// # Errors
    /// [`RunError::Migration`] when the operator has no `migrate-state`, or says that it can't be
    /// done. Otherwise when the operator isn't a keyed one, no instance can be made, or the
    /// component fails on a state.
    pub fn migrate_state(&mut self, from: u32, states: &Column) -> Result<Column, RunError> {
        self.expect_kind(Kind::Keyed)?;
        let description = self.pool.operator().description();
        let (operator, to) = (description.name.clone(), description.state_schema);
        let refused =
            |reason: String| RunError::Migration { operator: operator.clone(), from, to, reason };
        let call = Call::default();
        let mut calls = Calls::new(self, &call);
        let mut migrated = Vec::new();
        let mut pending = Vec::new();
        pending.push(0..states.len());
        while let Some(range) = pending.pop() {
            if range.is_empty() {
                continue;
            }
            let alone = range.len() == 1;
            let part = states.slice(range.clone());
            // Its pace says nothing of that of records.
            let outcome = calls.attempt(
                0,
                Effort { alone, searching: false },
                |guest, operator, deadline| guest.migrate_state(operator, from, &part, deadline),
                |_| 0,
            );
            match outcome {
                Ok(Some(Ok(states))) => migrated.push(states),
                Ok(Some(Err(reason))) => return Err(refused(reason)),
                Ok(None) => {
                    return Err(refused("it doesn't export `migrate-state`".to_owned()));
                }
                Err(Failed::Instance(error)) => return Err(error.into()),
                // Without a budget, time is never up.
                Err(Failed::TimeIsUp) => return Err(refused("time was up".to_owned())),
                Err(Failed::Fault { fault, fresh }) if alone => {
                    if !deserves_another(&fault, fresh) {
                        let doing = format!("migrating state {}", range.start);
                        return Err(RunError::Fault { doing, fault });
                    }
                    pending.push(range);
                }
                Err(Failed::Fault { .. }) => {
                    let middle = range.start + range.len() / 2;
                    pending.extend([middle..range.end, range.start..middle]);
                }
            }
        }
        let parts: Vec<&Column> = migrated.iter().collect();
        Column::concat(&parts).map_err(|error| RunError::Input { reason: error.to_string() })
    }
}
