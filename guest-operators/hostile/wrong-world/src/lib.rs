//! A keyed operator, honest but of the wrong world where a flatmap is needed.

wit_bindgen::generate!({ path: "../../../wit", world: "keyed-operator" });

use exports::overspill::operator::configure::SettingError;
use exports::overspill::operator::describe::{Description, Kind};
use exports::overspill::operator::keyed::{Groups, OptionalColumn, Outcome, StateChange, Timers};
use overspill::operator::types::{Batch, Column};

struct Guest;

hostile_support::describe!("wrong-world", Kind::Keyed, "0.1.0", Vec::new());
hostile_support::configure!();

impl exports::overspill::operator::keyed::Guest for Guest {
    fn process(input: Groups) -> Outcome {
        let groups = input.record_ends.len();
        let no_strings = || Column { ends: Vec::new(), data: Vec::new() };
        let no_timers = || Timers { times: Vec::new(), domains: Vec::new(), ends: vec![0; groups] };
        let OptionalColumn { .. } = input.states;
        Outcome {
            records: Batch { values: no_strings(), keys: None, timestamps: None },
            ends: vec![0; groups],
            outlets: None,
            changes: vec![StateChange::Unchanged; groups],
            states: Column { ends: vec![0; groups], data: Vec::new() },
            set: no_timers(),
            cancelled: no_timers(),
            rejected: Vec::new(),
        }
    }
}

export!(Guest);
