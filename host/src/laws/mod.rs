//! Tests of the laws that an operator must keep, for its author: what bursting relies on.
//!
//! ```text
//! records (a file's, or made from a seed) -> cases: records, watermarks, cuts
//!    case -> run in one way, run in another -> the same? ... the law holds
//!                                           -> not? -> made as small as it can be (shrink)
//! ```
//!
//! A law is broken by a counterexample, and never proved: what is said of one that held is how
//! many cases it held for. The same seed gives the same cases.

mod aggregate;
mod flatmap;
mod keyed;
mod lines;
mod sample;
mod shrink;

use std::sync::Arc;

use overspill_operator_runtime::{ConfigureError, Kind, Limits, Operator, Pool, RunError};
use rand::SeedableRng as _;
use rand_chacha::ChaCha12Rng;

pub use self::sample::{Case, Element, Record};
use self::sample::{Sampler, Shape, Values};

/// How laws are tested.
#[derive(Clone, Debug)]
pub struct LawOptions {
    /// What the cases are made from.
    pub seed: u64,
    /// How many cases each law is tried with.
    pub cases: u32,
    /// The settings of the operator.
    pub settings: Vec<(String, String)>,
    /// What each call may use.
    pub limits: Limits,
    /// The values of records to draw from. None: they are made up, of several forms.
    pub values: Option<Arc<[Vec<u8>]>>,
    /// For an aggregate: the window that the records of a case share, from time 0 on, in
    /// milliseconds. The host gives an aggregate the records of one window at a time.
    pub window: i64,
}

impl Default for LawOptions {
    fn default() -> Self {
        let (settings, limits) = (Vec::new(), Limits::default());
        Self { seed: 1, cases: 1000, settings, limits, values: None, window: 1000 }
    }
}

/// What came of the tests.
#[derive(Clone, Debug)]
pub struct LawReport {
    /// The operator's name and version.
    pub operator: String,
    /// What it is.
    pub kind: Kind,
    /// What the cases were made from.
    pub seed: u64,
    /// How many records the operator was given, and how many of them it rejected.
    pub records: (u64, u64),
    /// The laws of its kind.
    pub laws: Vec<LawResult>,
}

impl LawReport {
    /// Whether no law was broken.
    pub fn holds(&self) -> bool {
        self.laws.iter().all(|law| law.broken.is_none())
    }
}

/// What came of one law.
#[derive(Clone, Debug)]
pub struct LawResult {
    /// Its short name.
    pub name: &'static str,
    /// The law, in one sentence.
    pub law: &'static str,
    /// For how many cases it held.
    pub held: u32,
    /// The smallest case found for which it doesn't.
    pub broken: Option<Counterexample>,
    /// In how many cases partials differed as bytes, though what they finish to did not.
    pub bytes_differ: u32,
}

/// A case for which a law doesn't hold.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// Which case it was, counted from 0, before it was made small.
    pub number: u32,
    /// The records, watermarks and cuts.
    pub case: Case,
    /// What was done with them in two ways, and what came of it.
    pub difference: Difference,
}

/// Two results that should be the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What was done, and what it gave, a line each.
    pub one: (String, Vec<String>),
    /// What was done else, and what that gave.
    pub other: (String, Vec<String>),
}

impl Difference {
    /// The difference, if there is one.
    fn between(one: (&str, Vec<String>), other: (&str, Vec<String>)) -> Option<Self> {
        (one.1 != other.1)
            .then(|| Self { one: (one.0.to_owned(), one.1), other: (other.0.to_owned(), other.1) })
    }
}

/// The laws can't be tested.
#[derive(Debug, thiserror::Error)]
pub enum LawsError {
    /// The operator can't be set up.
    #[error(transparent)]
    Configure(#[from] ConfigureError),
    /// A case can't be run.
    #[error("case {case} of law `{law}` can't be run: {source}")]
    Run {
        /// Which law.
        law: &'static str,
        /// Which case.
        case: u32,
        /// Why not.
        source: Box<RunError>,
    },
}

/// What one case of a law gave.
enum Verdict {
    Holds,
    /// The output is the same, the bytes of partials are not.
    BytesDiffer,
    Broken(Difference),
}

impl From<Option<Difference>> for Verdict {
    fn from(difference: Option<Difference>) -> Self {
        difference.map_or(Self::Holds, Self::Broken)
    }
}

/// One law of a kind of operator.
struct Law {
    name: &'static str,
    law: &'static str,
    shape: Shape,
    check: fn(&Subject, &Case) -> Result<Verdict, RunError>,
}

/// The operator under test.
struct Subject {
    pool: Pool,
    inputs: usize,
    /// The end of the window that partials are finished for.
    window: i64,
}

/// Of how many values it is tried out whether the operator takes them.
const MOST_TRIED: usize = 300;

/// Tests all laws of the operator's kind.
///
/// # Errors
/// When the operator doesn't take the settings, or no instance of it can be made.
///
/// ```no_run
/// use overspill::laws::{LawOptions, test};
/// use overspill_operator_runtime::{Runtime, RuntimeOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = Runtime::new(RuntimeOptions::default())?;
/// let operator = runtime.load(&std::fs::read("target/guests/counter.wasm")?)?;
/// let report = test(&operator, &LawOptions { cases: 200, ..LawOptions::default() })?;
/// assert!(report.holds(), "{:?}", report.laws);
/// # Ok(())
/// # }
/// ```
pub fn test(operator: &Operator, options: &LawOptions) -> Result<LawReport, LawsError> {
    let description = operator.description();
    let subject = Subject {
        pool: operator.pool(&options.settings, options.limits)?,
        inputs: description.inputs.len().max(1),
        window: options.window,
    };
    let laws: &[Law] = match description.kind {
        Kind::Flatmap => &flatmap::LAWS,
        Kind::Keyed => &keyed::LAWS,
        Kind::Aggregate => &aggregate::LAWS,
    };
    let mut report = LawReport {
        operator: format!("{} {}", description.name, description.version),
        kind: description.kind,
        seed: options.seed,
        records: (0, 0),
        laws: Vec::with_capacity(laws.len()),
    };
    let values = options.values.as_deref().map(|all| sort_out(&subject, all, description.kind));
    let window = (description.kind == Kind::Aggregate).then_some(options.window);
    let sampler =
        |law: &Law| Sampler::new(values.clone(), subject.inputs, law.shape).in_window(window);
    // Of the made-up forms, those that the operator takes: laws hold for little when it rejects
    // everything.
    let mut forms = Vec::new();
    for form in (0..sample::FORMS).filter(|_| options.values.is_none()) {
        let sampler = sampler(&laws[0]).with_forms(&[form]);
        let (records, rejected) = tally(&subject, &sampler, options.seed, description.kind);
        if rejected * 2 <= records {
            forms.push(form);
        }
    }
    let sampler = |law: &Law| sampler(law).with_forms(&forms);
    report.records = tally(&subject, &sampler(&laws[0]), options.seed, description.kind);
    for (number, law) in laws.iter().enumerate() {
        // Each law has cases of its own, whatever the others are.
        let mut random = ChaCha12Rng::seed_from_u64(options.seed);
        random.set_stream(number as u64);
        let sampler = sampler(law);
        report.laws.push(test_law(law, &subject, options.cases, || sampler.case(&mut random))?);
    }
    Ok(report)
}

fn test_law(
    law: &Law,
    subject: &Subject,
    cases: u32,
    mut next: impl FnMut() -> Case,
) -> Result<LawResult, LawsError> {
    let (mut held, mut bytes_differ) = (0, 0);
    for number in 0..cases {
        let case = next();
        let verdict = (law.check)(subject, &case).map_err(|source| LawsError::Run {
            law: law.name,
            case: number,
            source: Box::new(source),
        })?;
        match verdict {
            Verdict::Holds => held += 1,
            Verdict::BytesDiffer => {
                held += 1;
                bytes_differ += 1;
            }
            Verdict::Broken(difference) => {
                let (case, difference) =
                    shrink::smallest(case, difference, |case| match (law.check)(subject, case) {
                        Ok(Verdict::Broken(difference)) => Some(difference),
                        _ => None,
                    });
                let broken = Some(Counterexample { number, case, difference });
                let (name, law) = (law.name, law.law);
                return Ok(LawResult { name, law, held, broken, bytes_differ });
            }
        }
    }
    Ok(LawResult { name: law.name, law: law.law, held, broken: None, bytes_differ })
}

/// How many records some cases have, and how many of them the operator rejects.
fn tally(subject: &Subject, sampler: &Sampler, seed: u64, kind: Kind) -> (u64, u64) {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    let (mut records, mut rejected) = (0, 0);
    for _ in 0..50 {
        let case = sampler.case(&mut random);
        records += case.records().count() as u64;
        rejected += rejected_of(subject, &case, kind);
    }
    (records, rejected)
}

/// How many records of a case the operator rejects.
fn rejected_of(subject: &Subject, case: &Case, kind: Kind) -> u64 {
    match kind {
        Kind::Flatmap => flatmap::rejected(subject, case),
        Kind::Keyed => keyed::rejected(subject, case),
        Kind::Aggregate => aggregate::rejected(subject, case),
    }
}

/// Values that the operator takes, by whichever input, and those that it rejects; of many, an even
/// choice.
fn sort_out(subject: &Subject, all: &[Vec<u8>], kind: Kind) -> Values {
    let takes = |value: &&Vec<u8>| {
        (0..subject.inputs).any(|input| {
            let record = Record { key: 0, value: (*value).clone(), time: 0, input: input as u8 };
            let case = Case { elements: vec![Element::Record(record)], cuts: Vec::new() };
            rejected_of(subject, &case, kind) == 0
        })
    };
    let some = all.iter().step_by(all.len().div_ceil(MOST_TRIED).max(1));
    let (taken, rejected): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) = some.partition(takes);
    let own = |values: Vec<&Vec<u8>>| values.into_iter().cloned().collect();
    Values { taken: own(taken), rejected: own(rejected) }
}
