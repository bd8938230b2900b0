//! The laws of keyed operators. A small host keeps the states and timers between shipments.

use std::collections::{BTreeMap, BTreeSet};

use overspill_operator_runtime::{Call, Instance, RunError};
use overspill_protocol::keyed::{
    Shipment, ShipmentAnswer, ShipmentBuilder, StateChange, StateEntry, StepBuilder, TimeDomain,
    Timer,
};

use super::sample::{Shape, batch, key_text, records};
use super::{Case, Difference, Element, Law, Record, Subject, Verdict, lines};

const SHAPE: Shape = Shape { cuts: (1, 4), watermarks: true, keys: true };
/// The clock of the host, for all calls.
const CLOCK: i64 = 1_000_000;

pub(super) const LAWS: [Law; 3] = [
    Law {
        name: "records",
        law: "records r1 and then r2 of a key give what r1 ++ r2 give together",
        shape: SHAPE,
        check: cut_records,
    },
    Law {
        name: "keys",
        law: "groups don't see each other: keys give alone what they give together",
        shape: SHAPE,
        check: keys_alone,
    },
    Law {
        name: "place",
        law: "the state is all that is kept: another instance goes on where one stopped",
        shape: SHAPE,
        check: elsewhere,
    },
];

/// How many records are rejected.
pub(super) fn rejected(subject: &Subject, case: &Case) -> u64 {
    let lines = together(subject, case).unwrap_or_default();
    lines.iter().filter(|line| line.contains("rejected record")).count() as u64
}

fn together(subject: &Subject, case: &Case) -> Result<Vec<String>, RunError> {
    let mut host = Host::default();
    host.run(&mut subject.pool.take()?, &[&case.elements])?;
    Ok(host.shown())
}

fn cut_records(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    let mut host = Host::default();
    host.run(&mut subject.pool.take()?, &case.parts().collect::<Vec<_>>())?;
    let (whole, cut) = (together(subject, case)?, host.shown());
    Ok(Difference::between(("together", whole), ("cut", cut)).into())
}

fn keys_alone(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    let keys: BTreeSet<u8> = case.records().map(|record| record.key).collect();
    let mut instance = subject.pool.take()?;
    let mut lines = Vec::new();
    for &alone in &keys {
        let is_other =
            |element: &Element| matches!(element, Element::Record(record) if record.key != alone);
        let elements: Vec<Element> =
            case.elements.iter().filter(|element| !is_other(element)).cloned().collect();
        let mut host = Host::default();
        host.run(&mut instance, &[&elements])?;
        lines.extend(host.shown());
    }
    let whole = together(subject, case)?;
    Ok(Difference::between(("together", whole), ("each key alone", lines)).into())
}

fn elsewhere(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    let mut instances = [subject.pool.take()?, subject.pool.take()?];
    let mut moving = Host::default();
    for (number, part) in case.parts().enumerate() {
        moving.run(&mut instances[number % 2], &[part])?;
    }
    let mut staying = Host::default();
    for part in case.parts() {
        staying.run(&mut instances[0], &[part])?;
    }
    let (staying, moving) = (staying.shown(), moving.shown());
    let difference =
        Difference::between(("in one instance", staying), ("in two instances, by turns", moving));
    Ok(difference.into())
}

/// What a host keeps of keys, and what it was given.
#[derive(Default)]
struct Host {
    keys: BTreeMap<u8, Kept>,
    watermark: Option<i64>,
}

#[derive(Default)]
struct Kept {
    state: Option<Vec<u8>>,
    timers: BTreeSet<Timer>,
    /// How many records it has had.
    records: u32,
    shown: Vec<String>,
}

impl Host {
    fn watermark(&self) -> i64 {
        self.watermark.unwrap_or(i64::MIN)
    }

    /// Runs parts of a stream, in one shipment: each part is cut into steps by its watermarks, and
    /// between two parts there is another cut.
    fn run(&mut self, instance: &mut Instance, parts: &[&[Element]]) -> Result<(), RunError> {
        let all = || parts.iter().flat_map(|part| part.iter());
        let with_records = all().filter_map(|element| match element {
            Element::Record(record) => Some(record.key),
            Element::Watermark(_) => None,
        });
        for key in with_records {
            self.keys.entry(key).or_default();
        }
        let last = all().filter_map(|element| match element {
            Element::Watermark(time) => Some(*time),
            Element::Record(_) => None,
        });
        let last = last.max().unwrap_or(i64::MIN).max(self.watermark());
        let (shipment, groups) = self.shipment(parts, last);
        let answer = instance.run_keyed(&shipment, &Call::default())?.answer;
        self.commit(&answer, &shipment, &groups);
        self.watermark = (last > i64::MIN).then_some(last);
        Ok(())
    }

    /// The shipment, and for each step how many records each key had before it.
    fn shipment(&self, parts: &[&[Element]], last: i64) -> (Shipment, Vec<BTreeMap<u8, u32>>) {
        let mut builder = ShipmentBuilder::new(1, self.keys.len());
        for (key, kept) in &self.keys {
            let state = kept.state.as_deref().map_or(StateEntry::Missing, StateEntry::Present);
            let due = kept.timers.iter().copied().filter(|timer| match timer.domain {
                TimeDomain::EventTime => timer.time <= last,
                TimeDomain::ProcessingTime => timer.time <= CLOCK,
            });
            builder.key(key_text(*key).as_bytes(), 1, state, due);
        }
        let mut watermark = self.watermark();
        let mut had: BTreeMap<u8, u32> =
            self.keys.iter().map(|(k, kept)| (*k, kept.records)).collect();
        let mut before = Vec::new();
        for part in parts {
            for step in part.split_inclusive(|e| matches!(e, Element::Watermark(_))) {
                let then = match step.last() {
                    Some(Element::Watermark(time)) => watermark.max(*time),
                    _ => watermark,
                };
                before.push(had.clone());
                let mut made = StepBuilder::new(watermark, then, CLOCK);
                for (number, key) in self.keys.keys().enumerate() {
                    let own: Vec<&Record> = records(step).filter(|r| r.key == *key).collect();
                    let source = made.source(&batch(own.iter().copied(), false));
                    for (index, record) in own.iter().enumerate() {
                        made.push(number as u32, source, index..index + 1, record.input);
                    }
                    *had.entry(*key).or_default() += own.len() as u32;
                }
                builder.step(made.finish().expect("few records"));
                watermark = then;
            }
        }
        let fire = !before.is_empty();
        (builder.finish(fire).expect("keys and steps that fit"), before)
    }

    fn commit(
        &mut self,
        answer: &ShipmentAnswer,
        shipment: &Shipment,
        before: &[BTreeMap<u8, u32>],
    ) {
        let records = answer.records_with_keys(shipment.keys()).expect("few records");
        let names: Vec<u8> = self.keys.keys().copied().collect();
        let mut begin = 0;
        for chunk in answer.chunks() {
            for index in std::mem::replace(&mut begin, chunk.end) as usize..chunk.end as usize {
                let outlet = answer.outlets().map_or(0, |outlets| outlets[index]);
                let line = lines::output(&records, index, outlet);
                self.note(names[chunk.key as usize], line);
            }
        }
        for rejected in answer.rejected() {
            let key = names[rejected.key as usize];
            let number = before[rejected.step as usize][&key] + rejected.index;
            let what = format!("record {number}");
            self.note(key, lines::rejected(what, rejected.cause, &rejected.reason));
        }
        for rejected in answer.rejected_timers() {
            let what = format!("timer {:?}", rejected.timer);
            let line = lines::rejected(what, rejected.cause, &rejected.reason);
            self.note(names[rejected.key as usize], line);
        }
        for (number, kept) in self.keys.values_mut().enumerate() {
            match answer.state(number) {
                (StateChange::Unchanged, _) => {}
                (StateChange::Replaced, state) => kept.state = Some(state.to_vec()),
                (StateChange::Cleared, _) => kept.state = None,
            }
            for timer in answer.cancelled().get(number).chain(answer.fired().get(number)) {
                kept.timers.remove(&timer);
            }
            kept.timers.extend(answer.set().get(number));
        }
        for step in 0..shipment.steps().len() {
            for (number, kept) in self.keys.values_mut().enumerate() {
                let records = shipment.records_of(step, number as u32);
                kept.records += records.map_or(0, |(batch, _)| batch.len() as u32);
            }
        }
    }

    fn note(&mut self, key: u8, line: String) {
        self.keys.entry(key).or_default().shown.push(line);
    }

    /// By key: the output in order, then what was rejected, the state and the timers.
    fn shown(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (key, kept) in &self.keys {
            let key = key_text(*key);
            let (rejected, output): (Vec<_>, Vec<_>) =
                kept.shown.iter().partition(|line| line.starts_with("rejected"));
            lines.extend(output.iter().chain(&rejected).map(|line| format!("{key}: {line}")));
            match &kept.state {
                None => lines.push(format!("{key}: no state")),
                Some(state) => lines.push(format!("{key}: state \"{}\"", state.escape_ascii())),
            }
            for Timer { time, domain } in &kept.timers {
                let clock = match domain {
                    TimeDomain::EventTime => "event",
                    TimeDomain::ProcessingTime => "processing",
                };
                lines.push(format!("{key}: timer for {clock} time {time}"));
            }
        }
        lines
    }
}
