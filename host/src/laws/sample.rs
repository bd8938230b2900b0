//! Cases: records, watermarks, and where they are cut.

use std::fmt;
use std::sync::Arc;

use overspill_protocol::{Batch, Column};
use rand::RngExt as _;
use rand_chacha::ChaCha12Rng;

/// What laws are tried with: a stream, and places where it is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Records and watermarks, in order.
    pub elements: Vec<Element>,
    /// Where it is cut: in front of which elements, rising, none at either end.
    pub cuts: Vec<usize>,
}

/// A part of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// A record.
    Record(Record),
    /// The watermark moves to this time.
    Watermark(i64),
}

/// A record of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which key: its text is `key-N`.
    pub key: u8,
    /// The payload.
    pub value: Vec<u8>,
    /// The event time, in milliseconds since 1970-01-01T00:00:00 UTC.
    pub time: i64,
    /// The number of the input that it comes by.
    pub input: u8,
}

impl Record {
    pub(super) fn key_text(&self) -> String {
        key_text(self.key)
    }
}

pub(super) fn key_text(key: u8) -> String {
    format!("key-{key}")
}

impl Case {
    /// Its records, in order.
    pub fn records(&self) -> impl Iterator<Item = &Record> + Clone {
        records(&self.elements)
    }

    /// The parts between the cuts, in order.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[Element]> {
        let begins = std::iter::once(0).chain(self.cuts.iter().copied());
        let ends = self.cuts.iter().copied().chain([self.elements.len()]);
        begins.zip(ends).map(|(begin, end)| &self.elements[begin..end])
    }
}

/// The records among some elements.
pub(super) fn records(elements: &[Element]) -> impl Iterator<Item = &Record> + Clone {
    elements.iter().filter_map(|element| match element {
        Element::Record(record) => Some(record),
        Element::Watermark(_) => None,
    })
}

/// A batch of records; `with_keys`: with a key column.
pub(super) fn batch<'a>(
    records: impl Iterator<Item = &'a Record> + Clone,
    with_keys: bool,
) -> Batch {
    let values = Column::from_values(records.clone().map(|record| &record.value));
    let keys = with_keys.then(|| Column::from_values(records.clone().map(Record::key_text)));
    let times: Vec<i64> = records.map(|record| record.time).collect();
    Batch::new(values, keys, Some(times.into())).expect("columns of the same records")
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, element) in self.elements.iter().enumerate() {
            if self.cuts.contains(&index) {
                writeln!(f, "-- cut --")?;
            }
            match element {
                Element::Record(Record { key, value, time, input }) => {
                    let value = value.escape_ascii();
                    write!(f, "record {} time={time}", key_text(*key))?;
                    if *input != 0 {
                        write!(f, " input={input}")?;
                    }
                    writeln!(f, " \"{value}\"")?;
                }
                Element::Watermark(time) => writeln!(f, "watermark {time}")?,
            }
        }
        Ok(())
    }
}

/// Which cases a law wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// How many cuts there are at least and at most.
    pub(super) cuts: (usize, usize),
    /// Whether watermarks move.
    pub(super) watermarks: bool,
    /// Whether there are several keys.
    pub(super) keys: bool,
}

/// Values to draw from.
#[derive(Clone, Debug)]
pub(super) struct Values {
    /// Those that the operator takes.
    pub(super) taken: Arc<[Vec<u8>]>,
    /// Those that it rejects.
    pub(super) rejected: Arc<[Vec<u8>]>,
}

/// Makes cases.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    values: Option<Values>,
    /// The forms of made-up values that are in use.
    forms: Vec<u32>,
    inputs: usize,
    shape: Shape,
    /// The window that all records of a case lie in, from 0 on, in milliseconds. None: none.
    window: Option<i64>,
}

impl Sampler {
    pub(super) fn new(values: Option<Values>, inputs: usize, shape: Shape) -> Self {
        Self { values, forms: (0..FORMS).collect(), inputs, shape, window: None }
    }

    /// The same with all records of a case in one window, of so many milliseconds.
    pub(super) fn in_window(self, window: Option<i64>) -> Self {
        Self { window, ..self }
    }

    /// The same with only these forms of made-up values. None of them: all.
    pub(super) fn with_forms(mut self, forms: &[u32]) -> Self {
        if !forms.is_empty() {
            self.forms = forms.to_vec();
        }
        self
    }

    /// The next case.
    pub(super) fn case(&self, random: &mut ChaCha12Rng) -> Case {
        let fewest = self.shape.cuts.0 + 1;
        let count = fewest + random.random_range(0..12);
        let keys = if self.shape.keys { random.random_range(1..5) } else { 1 };
        // One form a case: an operator that takes it at all takes several at once.
        let form = self.forms[random.random_range(0..self.forms.len())];
        let (mut clock, mut watermark) = (0, i64::MIN);
        let mut elements = Vec::with_capacity(count + 1);
        for _ in 0..count {
            clock += random.random_range(0..400);
            if self.shape.watermarks && random.random_bool(0.2) {
                watermark = watermark.max(clock - random.random_range(0..300));
                elements.push(Element::Watermark(watermark));
                continue;
            }
            elements.push(Element::Record(Record {
                key: random.random_range(0..keys),
                value: self.value(random, form),
                time: match self.window {
                    Some(window) => random.random_range(0..window.max(1)),
                    None => clock - random.random_range(0..200),
                },
                input: random.random_range(0..self.inputs) as u8,
            }));
        }
        if self.shape.watermarks {
            elements.push(Element::Watermark(clock + random.random_range(0..20_000)));
        }
        let (least, most) = self.shape.cuts;
        let most = most.min(elements.len() - 1);
        let mut cuts: Vec<usize> = (0..random.random_range(least.min(most)..=most))
            .map(|_| random.random_range(1..elements.len()))
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut free = 1;
        while cuts.len() < least.min(most) {
            if let Err(place) = cuts.binary_search(&free) {
                cuts.insert(place, free);
            }
            free += 1;
        }
        Case { elements, cuts }
    }

    fn value(&self, random: &mut ChaCha12Rng, form: u32) -> Vec<u8> {
        if let Some(Values { taken, rejected }) = &self.values {
            // Mostly what it takes, whatever the file has most of.
            let of_taken = rejected.is_empty() || (!taken.is_empty() && random.random_bool(0.85));
            let values = if of_taken { taken } else { rejected };
            return match values.len() {
                0 => Vec::new(),
                len => values[random.random_range(0..len)].clone(),
            };
        }
        let word = |random: &mut ChaCha12Rng| {
            ["to", "be", "or", "not", "The", "Quick", "fox"][random.random_range(0..7)]
        };
        match form {
            0 => random.random_range(-20..1000_i64).to_string().into_bytes(),
            1 => {
                let words = random.random_range(0..5);
                let words: Vec<&str> = (0..words).map(|_| word(random)).collect();
                words.join([" ", ", "][random.random_range(0..2)]).into_bytes()
            }
            2 => {
                let (id, name) = (random.random_range(0..9), word(random));
                let price = random.random_range(0..1000);
                format!("{{\"id\":{id},\"name\":\"{name}\",\"price\":{price}}}").into_bytes()
            }
            _ => {
                let len = random.random_range(0..9);
                (0..len).map(|_| random.random()).collect()
            }
        }
    }
}

/// How many forms of made-up values there are: numbers, words, JSON, and any bytes.
pub(super) const FORMS: u32 = 4;
