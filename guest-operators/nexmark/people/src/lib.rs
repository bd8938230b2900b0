//! The people of a stream of Nexmark events, for the operator that follows: only what it needs, in
//! a form that is quick to read, with the person's number as the key. Other events are dropped.

use nexmark_event::{Key, person, stream};
use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, SettingError, Settings,
};

/// The people of a stream.
#[derive(Debug)]
pub struct People;

impl FlatMap for People {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let Some(person) = person(&record)? else { return Ok(()) };
        stream::write(&person.row(), Key::of(person.id).as_bytes(), out.value_writer());
        Ok(())
    }
}

overspill_operator::export!(People);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::stream::PersonRow;
    use nexmark_event::testing::{bid, person};
    use overspill_operator::testing;

    #[test]
    fn a_person_goes_on_with_the_number_as_the_key() {
        let people = testing::configure::<People>(&[]).unwrap();
        let events = [bid(|_| ()), person(12, "Ann", "OR")];
        let records = testing::run(&people, &events).records;
        assert_eq!(records.values.len(), 1);
        assert_eq!(records.keys.unwrap().get(0), b"12");
        let row: PersonRow<&str> = stream::read(records.values.get(0)).unwrap();
        assert_eq!(row, PersonRow { id: 12, name: "Ann", city: "Portland", state: "OR" });
    }
}
