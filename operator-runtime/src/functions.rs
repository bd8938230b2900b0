//! The functions of each kind of operator, and what a call of one of them gives.

use std::time::Duration;

use overspill_protocol::{Batch, Column, Emission, Rejection};

use crate::convert::{
    AccumulateFunc, Borrowed, BorrowedColumn, BorrowedGroups, BorrowedKeyed, FinishFunc,
    FlatMapFunc, MergeFunc, MigrateFunc, ProcessFunc,
};
use crate::instance::Guest;
use crate::load::Inner;
use crate::shipment::{self, Groups, Outcome, OutcomeError, Rules};
use crate::{Fault, Kind};

/// The functions that an instance is called by.
#[derive(Clone, Copy)]
pub(crate) enum Functions {
    Flatmap(FlatMapFunc),
    Keyed { process: ProcessFunc, migrate: Option<MigrateFunc> },
    Aggregate { accumulate: AccumulateFunc, merge: MergeFunc, finish: FinishFunc },
}

impl Functions {
    /// Looks them up.
    pub(crate) fn of(guest: &mut Guest, operator: &Inner) -> wasmtime::Result<Self> {
        Ok(match operator.world.kind {
            Kind::Flatmap => Self::Flatmap(guest.typed(operator, "flatmap", "flat-map")?),
            Kind::Keyed => Self::Keyed {
                process: guest.typed(operator, "keyed", "process")?,
                migrate: match operator.world.migrates {
                    true => Some(guest.typed(operator, "migrate-state", "migrate-state")?),
                    false => None,
                },
            },
            Kind::Aggregate => Self::Aggregate {
                accumulate: guest.typed(operator, "aggregate", "accumulate")?,
                merge: guest.typed(operator, "aggregate", "merge")?,
                finish: guest.typed(operator, "aggregate", "finish")?,
            },
        })
    }
}

/// Callers look at the kind before they make calls.
const OTHER_KIND: &str = "the calls are those of the operator's kind";

impl Guest {
    /// `flat-map`.
    pub(crate) fn flat_map(
        &mut self,
        operator: &Inner,
        batch: &Batch,
        processing_time: i64,
        deadline: Duration,
    ) -> Result<Emission, Fault> {
        let Functions::Flatmap(func) = self.functions() else { unreachable!("{OTHER_KIND}") };
        let borrowed = Borrowed::new(batch);
        let (emission,) = self.call(
            operator,
            deadline,
            |wasi| wasi.begin_call(vec![batch.clone()], processing_time),
            |store| func.call(store, (borrowed.raw(),)),
        )?;
        emission.check(batch.len()).map_err(|error| self.contract_fault(&error))
    }

    /// `process`.
    pub(crate) fn process(
        &mut self,
        operator: &Inner,
        groups: &Groups,
        rules: Rules,
        deadline: Duration,
    ) -> Result<Outcome, Fault> {
        let Functions::Keyed { process, .. } = self.functions() else {
            unreachable!("{OTHER_KIND}")
        };
        let borrowed = BorrowedKeyed::new(groups);
        let (outcome,) = self.call(
            operator,
            deadline,
            |wasi| wasi.begin_call(groups.seeds(), groups.processing_time),
            |store| process.call(store, (borrowed.raw(),)),
        )?;
        let checked = outcome
            .columns()
            .map_err(OutcomeError::from)
            .and_then(|outcome| outcome.check(groups, rules));
        checked.map_err(|error| self.outcome_fault(&error))
    }

    /// `migrate-state`: the states in the operator's own layout, or why it can't be done. None:
    /// it has no such function.
    pub(crate) fn migrate_state(
        &mut self,
        operator: &Inner,
        from: u32,
        states: &Column,
        deadline: Duration,
    ) -> Result<Option<Result<Column, String>>, Fault> {
        let Functions::Keyed { migrate, .. } = self.functions() else {
            unreachable!("{OTHER_KIND}")
        };
        let Some(migrate) = migrate else { return Ok(None) };
        let borrowed = BorrowedColumn::new(states);
        let (migrated,) = self.call(
            operator,
            deadline,
            |wasi| wasi.begin_call(vec![Batch::from_values(states.clone())], 0),
            |store| migrate.call(store, (from, borrowed.raw())),
        )?;
        match migrated {
            Ok(migrated) => {
                let migrated = self.column(migrated.check("states"), states.len())?;
                Ok(Some(Ok(migrated)))
            }
            Err(reason) => Ok(Some(Err(reason))),
        }
    }

    /// `accumulate`: a partial for each group, and the rejected records. A group may be empty.
    pub(crate) fn accumulate(
        &mut self,
        operator: &Inner,
        groups: (&Column, &Batch, &[u32]),
        processing_time: i64,
        most_state: usize,
        deadline: Duration,
    ) -> Result<(Column, Vec<Rejection>), Fault> {
        let Functions::Aggregate { accumulate, .. } = self.functions() else {
            unreachable!("{OTHER_KIND}")
        };
        let (keys, records, ends) = groups;
        let borrowed = BorrowedGroups::new(keys, records, ends);
        let (partials,) = self.call(
            operator,
            deadline,
            |wasi| {
                let seeds = vec![Batch::from_values(keys.clone()), records.clone()];
                wasi.begin_call(seeds, processing_time);
            },
            |store| accumulate.call(store, (borrowed.raw(),)),
        )?;
        let (values, rejected) = partials.columns().map_err(|error| self.contract_fault(&error))?;
        let values = self.partials(values, keys.len(), most_state)?;
        shipment::rejections(&rejected, records.len())
            .map_err(|error| self.contract_fault(&error))?;
        Ok((values, rejected))
    }

    /// `merge`: one partial for each of the groups that `ends` divide `partials` into.
    pub(crate) fn merge(
        &mut self,
        operator: &Inner,
        partials: &Column,
        ends: &[u32],
        most_state: usize,
        deadline: Duration,
    ) -> Result<Column, Fault> {
        let Functions::Aggregate { merge, .. } = self.functions() else {
            unreachable!("{OTHER_KIND}")
        };
        let borrowed = BorrowedColumn::new(partials);
        let (merged,) = self.call(
            operator,
            deadline,
            |wasi| wasi.begin_call(vec![Batch::from_values(partials.clone())], 0),
            |store| merge.call(store, (borrowed.raw(), ends)),
        )?;
        let merged = merged.check("partials").map_err(|error| self.contract_fault(&error))?;
        self.partials(merged, ends.len(), most_state)
    }

    /// `finish`: the output records, and where those of each partial end.
    pub(crate) fn finish(
        &mut self,
        operator: &Inner,
        keys: &Column,
        partials: &Column,
        time: i64,
        deadline: Duration,
    ) -> Result<(Batch, Vec<u32>), Fault> {
        let Functions::Aggregate { finish, .. } = self.functions() else {
            unreachable!("{OTHER_KIND}")
        };
        let (borrowed_keys, borrowed) = (BorrowedColumn::new(keys), BorrowedColumn::new(partials));
        let (results,) = self.call(
            operator,
            deadline,
            |wasi| {
                let seeds = [keys, partials].map(|column| Batch::from_values(column.clone()));
                wasi.begin_call(seeds.into(), time);
            },
            |store| finish.call(store, (borrowed_keys.raw(), borrowed.raw(), time)),
        )?;
        let (records, ends) = results.columns().map_err(|error| self.contract_fault(&error))?;
        shipment::ends("ends", &ends, keys.len(), records.len())
            .map_err(|error| self.contract_fault(&error))?;
        Ok((records, ends))
    }

    /// Partials, if there is one for each of `groups` groups and none is too large.
    fn partials(
        &mut self,
        partials: Column,
        groups: usize,
        most_state: usize,
    ) -> Result<Column, Fault> {
        let (list, found) = ("partials", partials.len());
        if found != groups {
            return Err(self.contract_fault(&OutcomeError::Entries { list, found, groups }));
        }
        let too_large = partials.iter().map(<[u8]>::len).find(|&len| len > most_state);
        match too_large {
            None => Ok(partials),
            Some(len) => Err(self.state_fault(shipment::too_large(most_state, len))),
        }
    }

    /// A column, if it is sound and has an entry for each of `groups` others.
    fn column(
        &mut self,
        column: Result<Column, overspill_protocol::BatchError>,
        groups: usize,
    ) -> Result<Column, Fault> {
        let column = column.map_err(|error| self.contract_fault(&error))?;
        let (list, found) = ("states", column.len());
        match found == groups {
            true => Ok(column),
            false => Err(self.contract_fault(&OutcomeError::Entries { list, found, groups })),
        }
    }

    fn outcome_fault(&mut self, error: &OutcomeError) -> Fault {
        match error {
            OutcomeError::State(limit) => self.state_fault(*limit),
            error => self.contract_fault(error),
        }
    }
}
