//! Brings states of layout 1 to its own, layout 2, by doubling them. It refuses layout 0; of a
//! state `trap` it traps, and of layout 7 it returns one state too few.

wit_bindgen::generate!({ path: "../../../wit", world: "migrating-keyed-operator" });

use exports::overspill::operator::configure::SettingError;
use exports::overspill::operator::describe::{Description, Kind};
use exports::overspill::operator::keyed::{Groups, Outcome};
use overspill::operator::types::Column;

struct Guest;

hostile_support::configure!();
hostile_support::lists!();

impl exports::overspill::operator::describe::Guest for Guest {
    fn describe() -> Description {
        Description {
            name: "migrating".into(),
            version: "0.2.0".into(),
            kind: Kind::Keyed,
            contract: "0.1.0".into(),
            state_schema: 2,
            settings: Vec::new(),
            inputs: vec!["left".into(), "right".into()],
            side_outputs: vec!["late".into()],
        }
    }
}

impl exports::overspill::operator::keyed::Guest for Guest {
    fn process(_: Groups) -> Outcome {
        unimplemented!("it is for migrations alone")
    }
}

impl exports::overspill::operator::migrate_state::Guest for Guest {
    fn migrate_state(from: u32, states: Column) -> Result<Column, String> {
        if from == 0 {
            return Err("layout 0 kept no totals".into());
        }
        let mut states = strings(&states);
        assert!(!states.iter().any(|state| state == b"trap"), "a state that traps");
        if from == 7 {
            states.pop();
        }
        let _ = lists(Vec::new(), &[]);
        Ok(column(states.into_iter().map(|state| [&state[..], &state].concat())))
    }
}

export!(Guest);
