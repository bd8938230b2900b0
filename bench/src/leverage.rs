//! The leverage: what an event costs this host when it is processed here, against what it costs
//! when it is sent away and its answer merged. Below 1, bursting would make things worse.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::harness::{self, Report};
use crate::program;
use crate::text;

/// Lines of the run that is taken away from the long one: what is left has no start-up in it.
const SHORT: usize = 10_000;

/// Records that may wait. To fill a longer queue, the source takes memory from the system all
/// along, which costs more than processing.
const QUEUE: usize = 16_384;

/// What is measured.
struct Operator {
    name: &'static str,
    guest: &'static str,
    settings: &'static str,
    lines: usize,
    repeat: usize,
}

/// From one that costs nothing to one that costs much.
const OPERATORS: [Operator; 3] = [
    Operator { name: "pass-through", guest: "identity", settings: "", lines: 200_000, repeat: 15 },
    Operator { name: "tokenizer", guest: "tokenizer", settings: "", lines: 200_000, repeat: 15 },
    Operator {
        name: "spin, about 10 µs",
        guest: "spin",
        // 1,000 rounds take about 2 µs.
        settings: "settings = { iterations-per-record = 5_000 }\n",
        lines: 100_000,
        repeat: 2,
    },
];

/// Where the events are processed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nowhere: there is no operator.
    Nowhere,
    Here,
    Away,
}

/// A pipeline, once with many lines and once with few.
struct Case {
    long: Run,
    short: Run,
}

struct Run {
    pipeline: PathBuf,
    records: f64,
    place: Place,
}

impl Case {
    fn new(operator: &Operator, place: Place) -> Result<Self> {
        let long = Run::new(operator, place, "long", operator.lines, operator.repeat)?;
        Ok(Self { long, short: Run::new(operator, place, "short", SHORT, 1)? })
    }

    /// The processor time of this host's process a record, start-up not counted, in nanoseconds.
    fn cost(&self) -> Result<f64> {
        let seconds = self.long.cpu_seconds()? - self.short.cpu_seconds()?;
        Ok(seconds * 1e9 / (self.long.records - self.short.records))
    }
}

impl Run {
    fn new(
        operator: &Operator,
        place: Place,
        length: &str,
        lines: usize,
        repeat: usize,
    ) -> Result<Self> {
        let Operator { guest, settings, .. } = operator;
        let (name, stages) = match place {
            Place::Nowhere => ("none", String::new()),
            Place::Here | Place::Away => {
                let (name, offload) = match place {
                    Place::Away => ("away", "always"),
                    _ => ("here", "never"),
                };
                let stages = format!(
                    "[[operator]]\nname = \"operator\"\ncomponent = {:?}\n{settings}\
                     queue = {{ records = {QUEUE} }}\n\
                     [operator.burst]\ntargets = [\"runner\"]\noffload = \"{offload}\"\n\
                     [[target]]\nname = \"runner\"\nkind = \"process\"\nmax_runners = 1\n",
                    program::guest(guest)?
                );
                (name, stages)
            }
        };
        let text = format!(
            "[source]\nkind = \"lines\"\npath = {:?}\nrepeat = {repeat}\n{stages}\
             [sink]\nkind = \"count\"\n",
            text::lines(lines)?.path
        );
        let pipeline = program::pipeline(&format!("leverage-{guest}-{name}-{length}"), &text)?;
        Ok(Self { pipeline, records: (lines * repeat) as f64, place })
    }

    fn cpu_seconds(&self) -> Result<f64> {
        let summary = program::run(&self.pipeline)?;
        let offloaded = program::number(&summary, "/offloaded_records")?;
        let wanted = if self.place == Place::Away { self.records } else { 0.0 };
        // The local lane may take what the target can't; more than a little would blur the figure.
        ensure!(
            (offloaded - wanted).abs() <= self.records * 0.02,
            "{offloaded} of {} records were offloaded: {summary}",
            self.records
        );
        program::number(&summary, "/cpu_seconds")
    }
}

/// Measures it for operators that cost nothing, little, and much.
///
/// # Errors
/// When a run fails.
pub(crate) fn run(repeats: usize) -> Result<Report> {
    let mut cases = vec![Case::new(&OPERATORS[0], Place::Nowhere)?];
    for operator in &OPERATORS {
        cases.push(Case::new(operator, Place::Here)?);
        cases.push(Case::new(operator, Place::Away)?);
    }
    let results = harness::interleaved(&cases, repeats, Case::cost)?;

    let mut report = Report::new(
        "leverage",
        format!(
            "lines of {} bytes; processor time an event of the host's process alone, in all its \
             threads, start-up not counted; away: one runner process on this machine",
            text::LINE
        ),
    );
    let (floor, results) = results.split_first().expect("the first case has no operator");
    report.figure("source and sink alone", "ns", floor);
    for (operator, pair) in OPERATORS.iter().zip(results.chunks(2)) {
        // What the operator adds to source and sink, round by round.
        let added = |case: &[f64]| -> Vec<f64> {
            case.iter().zip(floor).map(|(cost, floor)| cost - floor).collect()
        };
        let name = operator.name;
        let here =
            report.figure(format!("{name}: added when processed here"), "ns", &added(&pair[0]));
        let away = report.figure(format!("{name}: added when sent away"), "ns", &added(&pair[1]));
        report.ratio(format!("{name}: leverage, here over away"), here / away, None);
    }
    Ok(report)
}
