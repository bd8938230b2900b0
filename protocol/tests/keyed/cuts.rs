//! Work and answers cut by keys, and joined again.

use overspill_protocol::keyed::{Partials, ShipmentAnswer};
use overspill_protocol::{Request, Response};
use rand::RngExt as _;

use crate::common::rng;
use crate::random;
use crate::random::rows;

#[test]
fn a_part_of_a_shipment_has_its_keys_with_all_that_is_theirs() {
    for seed in 0..1_000 {
        let mut rng = rng(seed);
        let whole = random::shipment(&mut rng);
        let begin = rng.random_range(0..=whole.len());
        let end = rng.random_range(begin..=whole.len());
        let part = whole.slice(begin..end);
        assert_eq!((part.scope(), part.len()), (whole.scope(), end - begin));
        let mut records = 0;
        for key in 0..part.len() {
            let old = begin + key;
            assert_eq!(part.keys().value(key), whole.keys().value(old), "seed {seed}");
            assert_eq!(part.tokens()[key], whole.tokens()[old]);
            assert_eq!(part.states().get(key), whole.states().get(old));
            assert_eq!(part.is_held(key), whole.is_held(old));
            assert!(part.timers().get(key).eq(whole.timers().get(old)));
            for step in 0..whole.steps().len() {
                let (mine, theirs) =
                    (part.records_of(step, key as u32), whole.records_of(step, old as u32));
                let rows = |found: Option<(_, Option<&[u8]>)>| {
                    found.map(|(records, inputs)| (rows(&records), inputs.map(<[u8]>::to_vec)))
                };
                records += mine.as_ref().map_or(0, |(records, _)| records.len());
                assert_eq!(rows(mine), rows(theirs), "seed {seed}, step {step}");
            }
        }
        assert_eq!(part.records(), records);
        for (mine, theirs) in part.steps().iter().zip(whole.steps()) {
            assert_eq!(mine.watermark, theirs.watermark);
            assert_eq!(mine.then_watermark, theirs.then_watermark);
            assert_eq!(mine.processing_time, theirs.processing_time);
        }
        // It is as sound as if it had been made anew.
        assert_eq!(overspill_protocol::keyed::Shipment::new(part.parts().clone()), Ok(part));
    }
}

#[test]
fn an_answer_cut_by_keys_and_joined_is_the_same_answer() {
    for seed in 0..1_000 {
        let mut rng = rng(seed);
        let asked = random::shipment(&mut rng);
        let whole = random::answer(&mut rng, &asked);
        whole.check(&asked).unwrap();
        let cut = rng.random_range(0..=asked.len());
        let again = rng.random_range(cut..=asked.len());
        let runs = [0..cut, cut..again, again..asked.len()];
        let parts: Vec<_> = runs.iter().map(|run| whole.slice(run.clone())).collect();
        for (part, run) in parts.iter().zip(&runs) {
            part.check(&asked.slice(run.clone())).unwrap();
            assert_eq!(ShipmentAnswer::new(part.parts().clone()).as_ref(), Ok(part));
        }
        assert_eq!(parts[0], whole.first(cut));
        let joined = ShipmentAnswer::concat(parts, asked.keys()).unwrap();
        let (joined, whole) = (joined.into_parts(), whole.into_parts());
        assert_eq!(rows(&joined.records), rows(&whole.records), "seed {seed}");
        // Records that aren't there have neither columns nor outlets.
        if !whole.records.is_empty() {
            assert_eq!(joined, whole, "seed {seed}");
        }
    }
}

#[test]
fn parts_of_which_some_set_keys_are_joined_with_the_keys_of_the_others_filled_in() {
    for seed in 0..500 {
        let mut rng = rng(seed);
        let asked = random::shipment(&mut rng);
        let cut = rng.random_range(0..=asked.len());
        let runs = [0..cut, cut..asked.len()];
        let parts = runs.clone().map(|run| random::answer(&mut rng, &asked.slice(run)));
        let mut expected = Vec::new();
        for (part, run) in parts.iter().zip(&runs) {
            let keys = asked.keys().slice(run.clone());
            let rows = rows(&part.records_with_keys(&keys).unwrap());
            let mut begin = 0;
            for chunk in part.chunks() {
                let place = (chunk.step, chunk.key + run.start as u32);
                for (value, key, _) in &rows[begin..chunk.end as usize] {
                    expected.push((place, value.clone(), key.clone()));
                }
                begin = chunk.end as usize;
            }
        }
        expected.sort_by_key(|(place, ..)| *place);
        let joined = ShipmentAnswer::concat(parts.to_vec(), asked.keys()).unwrap();
        joined.check(&asked).unwrap();
        let found = rows(&joined.records_with_keys(asked.keys()).unwrap());
        let found = found.into_iter().map(|(value, key, _)| (value, key));
        assert!(found.eq(expected.into_iter().map(|(_, value, key)| (value, key))), "seed {seed}");
    }
}

#[test]
fn partials_cut_by_groups_and_joined_are_the_same_partials() {
    for seed in 0..500 {
        let mut rng = rng(seed);
        let asked = random::keyed_records(&mut rng);
        let whole = random::partials(&mut rng, &asked);
        whole.check(&asked).unwrap();
        let cut = rng.random_range(0..=asked.len());
        let first = whole.first(cut, &asked);
        first.check(&asked.slice(0..cut)).unwrap();
        // The rest, numbered as if it had been asked for alone.
        let rest = asked.slice(cut..asked.len());
        let begin = (asked.records().len() - rest.records().len()) as u32;
        let rejected = whole.rejected()[first.rejected().len()..].iter().cloned();
        let rejected = rejected.map(|mut rejection| {
            rejection.index -= begin;
            rejection
        });
        let values = whole.values().slice(cut..asked.len());
        let second = Partials::new(values, rejected.collect()).unwrap();
        second.check(&rest).unwrap();
        let joined = Partials::concat(vec![first, second], &asked).unwrap();
        assert_eq!(joined, whole, "seed {seed}");
    }
}

#[test]
fn units_of_work_and_of_answers_are_counted_alike() {
    for seed in 0..200 {
        let mut rng = rng(seed);
        let (request, response) = random::work(&mut rng);
        assert_eq!(request.len(), response.len());
        response.check(&request).unwrap();
        if request.is_empty() {
            continue;
        }
        let fewer = request.slice(0..request.len() - 1);
        assert!(response.check(&fewer).is_err(), "seed {seed}: it answers for more than was asked");
        let first = response.first(request.len() - 1, &request);
        assert_eq!(first.len(), fewer.len());
        first.check(&fewer).unwrap();
        assert!(fewer.bytes() <= request.bytes() && first.bytes() <= response.bytes());
        let other = match request {
            Request::Keyed(_) => Response::Accumulate(
                Partials::new(overspill_protocol::Column::empty(), Vec::new()).unwrap(),
            ),
            _ => Response::Keyed(ShipmentAnswer::empty()),
        };
        assert!(other.check(&request).is_err(), "an answer of another kind");
    }
}
