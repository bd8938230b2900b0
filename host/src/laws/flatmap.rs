//! The laws of flatmap operators.

use overspill_operator_runtime::{Call, RunError};
use overspill_protocol::{Batch, Emission};

use super::sample::{Shape, batch, records};
use super::{Case, Difference, Law, Subject, Verdict, lines};

const SHAPE: Shape = Shape { cuts: (1, 4), watermarks: false, keys: true };

pub(super) const LAWS: [Law; 2] = [
    Law {
        name: "cut",
        law: "a batch that is cut gives the parts of the emission",
        shape: SHAPE,
        check: cut,
    },
    Law {
        name: "again",
        law: "the same batch gives the same emission in an instance that has seen others",
        shape: SHAPE,
        check: again,
    },
];

/// How many records are rejected.
pub(super) fn rejected(subject: &Subject, case: &Case) -> u64 {
    let lines = run(subject, &[batch(case.records(), true)]).unwrap_or_default();
    lines.iter().filter(|line| line.starts_with("rejected")).count() as u64
}

fn cut(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    let whole = run(subject, &[batch(case.records(), true)])?;
    let parts: Vec<Batch> = case.parts().map(|part| batch(records(part), true)).collect();
    let parts = run(subject, &parts)?;
    Ok(Difference::between(("in one batch", whole), ("cut", parts)).into())
}

fn again(subject: &Subject, case: &Case) -> Result<Verdict, RunError> {
    let all = batch(case.records(), true);
    // Two at once: the second is another instance than the one used before.
    let mut used = subject.pool.take()?;
    let mut fresh = subject.pool.take()?;
    for part in case.parts() {
        used.run(&batch(records(part), true), &Call::default())?;
    }
    let call = Call::default();
    let one = shown(&used.run(&all, &call)?.emission, &all, 0);
    let other = shown(&fresh.run(&all, &call)?.emission, &all, 0);
    let difference =
        Difference::between(("in an instance that was used before", one), ("in another", other));
    Ok(difference.into())
}

/// What comes of batches, one after the other.
fn run(subject: &Subject, batches: &[Batch]) -> Result<Vec<String>, RunError> {
    let mut instance = subject.pool.take()?;
    let (mut lines, mut first) = (Vec::new(), 0);
    for batch in batches {
        let emission = instance.run(batch, &Call::default())?.emission;
        lines.extend(shown(&emission, batch, first));
        first += batch.len();
    }
    Ok(lines)
}

/// What an emission has for each record, of which the first is number `first`.
fn shown(emission: &Emission, input: &Batch, first: usize) -> Vec<String> {
    let resolved = match emission.clone().resolve(input) {
        Ok(resolved) => resolved,
        Err(error) => return vec![format!("no emission: {error}")],
    };
    let mut lines = Vec::new();
    for record in 0..resolved.inputs() {
        for index in resolved.outputs_of(record) {
            let output = lines::output(resolved.records(), index, 0);
            lines.push(format!("record {}: {output}", first + record));
        }
        for rejection in resolved.rejected().iter().filter(|r| r.index as usize == record) {
            let what = format!("record {}", first + record);
            lines.push(lines::rejected(what, rejection.cause, &rejection.reason));
        }
    }
    lines
}
