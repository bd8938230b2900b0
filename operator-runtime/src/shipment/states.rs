//! The states of a shipment's keys while its steps run.
//!
//! A call gives the new states back as one column, and that column is what the next call gets, or
//! what the answer has, whenever the same keys are in it in the same order. Only where that is not
//! so, states are picked out of the columns that they are in.

use std::sync::Arc;

use overspill_protocol::Column;
use overspill_protocol::keyed::{OptionalColumn, OptionalColumnBuilder, StateChange};

use super::outcome::Outcome;
use super::pick::{Picked, pick};

/// The states of keys that are numbered from 0.
#[derive(Debug)]
pub(super) struct States {
    shipped: OptionalColumn,
    /// Where each key's state is now.
    places: Vec<Place>,
    /// Columns of new states, each with the number of places that are in it.
    columns: Vec<(Column, usize)>,
    /// Set while the states of all keys are one column.
    whole: Option<Whole>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Shipped,
    Missing,
    In { column: u32, entry: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Shipped,
    Column(usize),
}

impl States {
    pub(super) fn new(shipped: OptionalColumn) -> Self {
        Self {
            places: vec![Place::Shipped; shipped.len()],
            shipped,
            columns: Vec::new(),
            whole: Some(Whole::Shipped),
        }
    }

    /// The states of these keys.
    ///
    /// # Errors
    /// When together they are longer than offsets can address.
    pub(super) fn of(&self, keys: &[u32]) -> Result<OptionalColumn, super::TooLong> {
        if let (Some(whole), Some(range)) = (self.whole, super::pick::run(keys)) {
            let slice = |column: &Column| match range.len() == column.len() {
                true => column.clone(),
                false => column.slice(range.clone()),
            };
            return Ok(match whole {
                Whole::Shipped if range.len() == self.shipped.len() => self.shipped.clone(),
                Whole::Shipped => self.shipped.slice(range),
                Whole::Column(column) => OptionalColumn::full(slice(&self.columns[column].0)),
            });
        }
        let bytes = keys.iter().map(|&key| self.get(key).map_or(0, <[u8]>::len)).sum();
        super::pick::addressable(bytes)?;
        let mut builder = OptionalColumnBuilder::with_capacity(keys.len(), bytes);
        for &key in keys {
            builder.push(self.get(key));
        }
        Ok(builder.finish())
    }

    /// The state of a key, if it has one.
    fn get(&self, key: u32) -> Option<&[u8]> {
        match self.places[key as usize] {
            Place::Shipped => self.shipped.get(key as usize),
            Place::Missing => None,
            Place::In { column, entry } => {
                Some(self.columns[column as usize].0.value(entry as usize))
            }
        }
    }

    /// Takes over what a call did to the states of these keys.
    pub(super) fn apply(&mut self, keys: &[u32], outcome: &Outcome) {
        let replaced = outcome.changes.iter().filter(|c| **c == StateChange::Replaced).count();
        let column = self.columns.len();
        if replaced > 0 {
            self.columns.push((outcome.states.clone(), replaced));
        }
        for (entry, (&key, change)) in keys.iter().zip(&outcome.changes).enumerate() {
            let place = match change {
                StateChange::Unchanged => continue,
                StateChange::Replaced => Place::In { column: column as u32, entry: entry as u32 },
                StateChange::Cleared => Place::Missing,
            };
            let before = std::mem::replace(&mut self.places[key as usize], place);
            if let Place::In { column, .. } = before {
                let (states, places) = &mut self.columns[column as usize];
                *places -= 1;
                // Many steps would else keep as many versions of each state.
                if *places == 0 {
                    *states = Column::empty();
                }
            }
            self.whole = None;
        }
        if replaced == self.places.len() && replaced == keys.len() {
            self.whole = Some(Whole::Column(column));
        }
    }

    /// What became of each key's state, and the new ones.
    ///
    /// # Errors
    /// When together they are longer than offsets can address.
    pub(super) fn finish(self) -> Result<(Arc<[StateChange]>, Column), super::TooLong> {
        let keys = self.places.len();
        match self.whole {
            Some(Whole::Shipped) => {
                let changes = vec![StateChange::Unchanged; keys].into();
                return Ok((changes, Column::of_empty_strings(keys)));
            }
            Some(Whole::Column(column)) => {
                let changes = vec![StateChange::Replaced; keys].into();
                return Ok((changes, self.columns[column].0.clone()));
            }
            None => {}
        }
        let change = |(key, place): (usize, &Place)| match place {
            Place::In { .. } => StateChange::Replaced,
            Place::Missing if self.shipped.is_present(key) => StateChange::Cleared,
            Place::Missing | Place::Shipped => StateChange::Unchanged,
        };
        let changes = self.places.iter().enumerate().map(change).collect();
        let new = |&place: &Place| match place {
            Place::In { column, entry } => {
                Picked::From(&self.columns[column as usize].0, entry as usize)
            }
            Place::Missing | Place::Shipped => Picked::Empty,
        };
        Ok((changes, pick(self.places.iter().map(new))?))
    }
}
