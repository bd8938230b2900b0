//! The leverage: what an event costs this host when it is processed here, against what it costs
//! when it is sent away and its answer merged. Below 1, bursting would make things worse.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::harness::{self, Report};
use crate::program;
use crate::text;

struct Case {
    pipeline: PathBuf,
    records: f64,
    remote: bool,
}

/// Measures it for operators that cost little, and much.
///
/// # Errors
/// When a run fails.
pub(crate) fn run(repeats: usize) -> Result<Report> {
    // Rounds of `spin` for 10 microseconds of work: 1,000 take about 2.
    let operators = [
        ("pass-through", "identity", None, 200_000, 15),
        ("tokenizer", "tokenizer", None, 200_000, 15),
        ("spin, about 10 µs", "spin", Some(5_000), 100_000, 2),
    ];
    let mut cases = Vec::new();
    for (_, guest, rounds, lines, repeat) in operators {
        let file = text::lines(lines)?;
        for (offload, remote) in [("never", false), ("always", true)] {
            let settings = rounds.map_or_else(String::new, |rounds| {
                format!("settings = {{ iterations-per-record = {rounds} }}\n")
            });
            let text = format!(
                "[source]\nkind = \"lines\"\npath = {:?}\nrepeat = {repeat}\n\
                 [[operator]]\nname = \"operator\"\ncomponent = {:?}\n{settings}\
                 [operator.burst]\ntargets = [\"here\"]\noffload = \"{offload}\"\n\
                 [[target]]\nname = \"here\"\nkind = \"process\"\nmax_runners = 1\n\
                 [sink]\nkind = \"count\"\n",
                file.path,
                program::guest(guest)?
            );
            let pipeline = program::pipeline(&format!("leverage-{guest}-{offload}"), &text)?;
            cases.push(Case { pipeline, records: (lines * repeat) as f64, remote });
        }
    }
    let results = harness::interleaved(&cases, repeats, |case| {
        let summary = program::run(&case.pipeline)?;
        let offloaded = program::number(&summary, "/offloaded_records")?;
        let wanted = if case.remote { case.records } else { 0.0 };
        // The local lane may take what the target can't; more than a little would blur the figure.
        ensure!(
            (offloaded - wanted).abs() <= case.records * 0.02,
            "{offloaded} of {} records were offloaded: {summary}",
            case.records
        );
        Ok(program::number(&summary, "/cpu_seconds")? * 1e9 / case.records)
    })?;

    let mut report = Report::new(
        "leverage",
        format!(
            "lines of {} bytes; processor time of the host's process alone, source and sink \
             included; remote: one runner process on this machine",
            text::LINE
        ),
    );
    let medians: Vec<(f64, f64)> = operators
        .iter()
        .zip(results.chunks(2))
        .map(|((name, ..), pair)| {
            let local = report.figure(format!("{name}: processed here"), "ns", &pair[0]);
            let remote = report.figure(format!("{name}: sent away"), "ns", &pair[1]);
            (local, remote)
        })
        .collect();
    // What a pass-through operator costs here is nearly all source and sink.
    let floor = medians[0].0;
    for ((name, ..), (local, remote)) in operators.iter().zip(&medians).skip(1) {
        report.ratio(
            format!("{name}: here over away, source and sink included"),
            local / remote,
            None,
        );
        report.ratio(
            format!("{name}: leverage, less a local pass-through"),
            (local - floor) / (remote - floor),
            None,
        );
    }
    Ok(report)
}
