//! The laws of aggregates. Partials are compared by what they finish to, and then as bytes.

use std::collections::BTreeMap;

use overspill_operator_runtime::{Call, Instance, RunError};
use overspill_protocol::Column;
use overspill_protocol::keyed::KeyedRecords;

use super::sample::{Shape, batch, records};
use super::{Case, Difference, Element, Law, Record, Subject, Verdict, lines};

const fn one_key(cuts: usize) -> Shape {
    Shape { cuts: (cuts, cuts), watermarks: false, keys: false }
}

pub(super) const LAWS: [Law; 6] = [
    Law {
        name: "accumulate",
        law: "accumulating a ++ b is accumulating a and b, and merging the partials",
        shape: one_key(1),
        check: accumulate_distributes,
    },
    Law {
        name: "associative",
        law: "merge(merge(a, b), c) is merge(a, merge(b, c)), and merge(a, b, c)",
        shape: one_key(2),
        check: merge_is_associative,
    },
    Law {
        name: "commutative",
        law: "merge(a, b) is merge(b, a)",
        shape: one_key(1),
        check: merge_is_commutative,
    },
    Law {
        name: "one",
        law: "merging a single partial gives that partial",
        shape: Shape { cuts: (0, 0), watermarks: false, keys: false },
        check: merge_of_one,
    },
    Law {
        name: "keys",
        law: "groups don't see each other: keys give alone what they give together",
        shape: Shape { cuts: (0, 0), watermarks: false, keys: true },
        check: keys_alone,
    },
    Law {
        name: "place",
        law: "the same records give the same partial in an instance that has seen others",
        shape: one_key(1),
        check: elsewhere,
    },
];

/// How many records are rejected.
pub(super) fn rejected(subject: &Subject, case: &Case) -> u64 {
    let call = Call::default();
    let groups = groups(case.records());
    let run = subject.pool.take().ok().and_then(|mut i| i.accumulate(&groups, &call).ok());
    run.map_or(0, |run| run.partials.rejected().len() as u64)
}

fn accumulate_distributes(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    with(subject, |one| {
        let parts = one.parts(case)?;
        let whole = one.accumulate(&case.elements)?;
        let merged = one.merge(&parts)?;
        one.compare(("accumulated together", &whole), ("accumulated apart and merged", &merged))
    })
}

fn merge_is_associative(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    with(subject, |one| {
        let parts = one.parts(case)?;
        // A case that was made small may have fewer cuts than the law is about.
        let [a, b, c] = &parts[..] else { return Ok(Verdict::Holds) };
        let ab = one.merge(&[a.clone(), b.clone()])?;
        let left = one.merge(&[ab, c.clone()])?;
        let bc = one.merge(&[b.clone(), c.clone()])?;
        let right = one.merge(&[a.clone(), bc])?;
        let verdict =
            one.compare(("merge(merge(a, b), c)", &left), ("merge(a, merge(b, c))", &right))?;
        match verdict {
            Verdict::Holds => {}
            other => return Ok(other),
        }
        let all = one.merge(&parts)?;
        one.compare(("merge(merge(a, b), c)", &left), ("merge(a, b, c)", &all))
    })
}

fn merge_is_commutative(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    with(subject, |one| {
        let parts = one.parts(case)?;
        let [a, b] = &parts[..] else { return Ok(Verdict::Holds) };
        let ab = one.merge(&[a.clone(), b.clone()])?;
        let ba = one.merge(&[b.clone(), a.clone()])?;
        one.compare(("merge(a, b)", &ab), ("merge(b, a)", &ba))
    })
}

fn merge_of_one(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    with(subject, |one| {
        let partial = one.accumulate(&case.elements)?;
        let merged = one.merge(std::slice::from_ref(&partial))?;
        one.compare(("the partial", &partial), ("merge(the partial)", &merged))
    })
}

fn keys_alone(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    let mut one = One::new(subject)?;
    let groups = groups(case.records());
    let together = one.instance.accumulate(&groups, &Call::default())?.partials;
    let (mut lines, mut alone_lines, mut differ) = (Vec::new(), Vec::new(), false);
    for group in 0..groups.len() {
        let alone = groups.slice(group..group + 1);
        let alone = one.instance.accumulate(&alone, &Call::default())?.partials;
        let (a, b) = (together.values().value(group), alone.values().value(0));
        differ |= a != b;
        let key = groups.keys().value(group);
        lines.extend(one.finish(key, a)?);
        alone_lines.extend(one.finish(key, b)?);
    }
    Ok(match Difference::between(("together", lines), ("each key alone", alone_lines)) {
        Some(difference) => Verdict::Broken(difference),
        None if differ => Verdict::BytesDiffer,
        None => Verdict::Holds,
    })
}

fn elsewhere(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    let mut used = One::new(subject)?;
    let mut other = One::new(subject)?;
    for part in case.parts() {
        used.accumulate(part)?;
    }
    let a = used.accumulate(&case.elements)?;
    let b = other.accumulate(&case.elements)?;
    used.compare(("in an instance that was used before", &a), ("in another", &b))
}

/// Groups by key, in the order of the keys.
fn groups<'a>(records: impl Iterator<Item = &'a Record>) -> KeyedRecords {
    let mut by_key: BTreeMap<u8, Vec<&Record>> = BTreeMap::new();
    for record in records {
        by_key.entry(record.key).or_default().push(record);
    }
    let all = || by_key.values().flatten().copied();
    let mut end = 0;
    let ends = by_key.values().map(|group| {
        end += group.len() as u32;
        end
    });
    let ends: Vec<u32> = ends.collect();
    let keys = Column::from_values(by_key.keys().map(|&key| super::sample::key_text(key)));
    KeyedRecords::new(keys, batch(all(), false), ends).expect("groups of some records")
}

fn with(
    subject: &Subject,
    law: impl FnOnce(&mut One) -> Result<Verdict, RunError>,
) -> Result<Verdict, RunError> {
    law(&mut One::new(subject)?)
}

/// Partials of one key, in one instance.
struct One {
    instance: Instance,
    window: i64,
}

impl One {
    fn new(subject: &Subject) -> Result<Self, RunError> {
        Ok(Self { instance: subject.pool.take()?, window: subject.window })
    }

    /// The partial of all records, whatever their key.
    fn accumulate(&mut self, elements: &[Element]) -> Result<Vec<u8>, RunError> {
        let records: Vec<Record> =
            records(elements).map(|record| Record { key: 0, ..record.clone() }).collect();
        let partials = self.instance.accumulate(&groups(records.iter()), &Call::default())?;
        Ok(partials.partials.values().iter().next().unwrap_or_default().to_vec())
    }

    /// The partial of each part.
    fn parts(&mut self, case: &Case) -> Result<Vec<Vec<u8>>, RunError> {
        case.parts().map(|part| self.accumulate(part)).collect()
    }

    fn merge(&mut self, partials: &[Vec<u8>]) -> Result<Vec<u8>, RunError> {
        let count = partials.len() as u32;
        let column = Column::from_values(partials);
        let merged = self.instance.merge(&column, &[count], &Call::default())?;
        Ok(merged.value(0).to_vec())
    }

    /// What a partial finishes to.
    fn finish(&mut self, key: &[u8], partial: &[u8]) -> Result<Vec<String>, RunError> {
        let (keys, partials) = (Column::from_values([key]), Column::from_values([partial]));
        let finished = self.instance.finish(&keys, &partials, self.window, &Call::default())?;
        let records = &finished.records;
        let mut shown: Vec<String> =
            (0..records.len()).map(|index| lines::output(records, index, 0)).collect();
        shown.extend(
            finished.rejected.iter().map(|r| lines::rejected("partial", r.cause, &r.reason)),
        );
        Ok(shown)
    }

    fn compare(
        &mut self,
        (one_name, one): (&str, &[u8]),
        (other_name, other): (&str, &[u8]),
    ) -> Result<Verdict, RunError> {
        let lines = (self.finish(b"key-0", one)?, self.finish(b"key-0", other)?);
        Ok(match Difference::between((one_name, lines.0), (other_name, lines.1)) {
            Some(difference) => Verdict::Broken(difference),
            None if one != other => Verdict::BytesDiffer,
            None => Verdict::Holds,
        })
    }
}
