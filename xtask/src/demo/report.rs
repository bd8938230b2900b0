//! What the two runs show, for people and for machines.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::Serialize;

use super::Point;
use super::chart::{self, Scale};
use super::run::Run;

/// Both runs, and what they are to show.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    /// Processor, cores.
    pub(super) machine: String,
    /// Everything the local lane could not take waited for it.
    pub(super) back_pressure: Run,
    /// What the local lane could not take went to runners.
    pub(super) bursting: Run,
    /// Back-pressure over bursting.
    pub(super) ratios: Ratios,
    /// What the demo says of bursting, and whether this run bears it out.
    pub(super) claims: Vec<Claim>,
    /// The spike, in seconds from the start.
    pub(super) spike_seconds: (f64, f64),
}

/// Back-pressure over bursting.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Ratios {
    pub(super) spike_latency_p50: f64,
    pub(super) spike_latency_p99: f64,
    pub(super) peak_queue: f64,
}

/// Something that a run bears out or not.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Claim {
    pub(super) claim: &'static str,
    pub(super) met: bool,
    pub(super) measured: String,
}

impl Report {
    pub(super) fn new(
        back_pressure: Run,
        bursting: Run,
        spike_seconds: (f64, f64),
    ) -> Result<Self> {
        let ratio = |place: &str| -> Result<f64> {
            Ok(back_pressure.figure(place)? / bursting.figure(place)?.max(1e-3))
        };
        let ratios = Ratios {
            spike_latency_p50: ratio("/spike_latency_ms/p50")?,
            spike_latency_p99: ratio("/spike_latency_ms/p99")?,
            peak_queue: ratio("/peak_queue_records")?,
        };
        let claims = claims(&back_pressure, &bursting, &ratios)?;
        let machine = machine();
        Ok(Self { machine, back_pressure, bursting, ratios, claims, spike_seconds })
    }

    /// The rows of the table: what, and its value in each run.
    pub(super) fn rows(&self) -> Result<Vec<(&'static str, String, String)>> {
        type Row = (&'static str, &'static str, fn(f64) -> String);
        let rows: [Row; 14] = [
            ("latency p50, events of the spike", "/spike_latency_ms/p50", milliseconds),
            ("latency p99, events of the spike", "/spike_latency_ms/p99", milliseconds),
            ("latency p50, all events", "/latency_ms/p50", milliseconds),
            ("latency p99, all events", "/latency_ms/p99", milliseconds),
            ("longest latency", "/latency_ms/max", milliseconds),
            ("most events waiting at once", "/peak_queue_records", count),
            ("events per second, on the whole", "/records_per_second", count),
            ("time to the last event", "/wall_seconds", seconds),
            ("events in", "/records_in", count),
            ("events lost", "/lost", count),
            ("events done by runners", "/offloaded_records", count),
            ("duplicate answers dropped", "/duplicates_dropped", count),
            ("first event sent away, after the onset", "/burst/first_offload_ms", milliseconds),
            ("first result back, after the onset", "/burst/first_remote_result_ms", milliseconds),
        ];
        rows.into_iter()
            .map(|(name, place, write)| {
                let cell = |run: &Run| -> Result<String> {
                    let value = match place {
                        "/burst/first_offload_ms" | "/burst/first_remote_result_ms" => {
                            after_onset(run, place)?
                        }
                        _ => run.number(place)?,
                    };
                    Ok(value.map_or_else(|| "-".to_owned(), write))
                };
                Ok((name, cell(&self.back_pressure)?, cell(&self.bursting)?))
            })
            .collect()
    }

    /// Tables and charts for a terminal of `width` columns.
    pub(super) fn text(&self, width: usize) -> Result<String> {
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("writing to a string doesn't fail");
        };
        line(format_args!("{}\n", self.machine));
        line(format_args!("{:40}{:>20}{:>14}", "", "back-pressure alone", "bursting"));
        for (name, without, with) in self.rows()? {
            line(format_args!("{name:40}{without:>20}{with:>14}"));
        }
        let seconds = self.seconds();
        type Chart<'a> = (&'a str, fn(&Run) -> Vec<Point>, fn(f64) -> String, bool);
        let charts: [Chart<'_>; 2] = [
            ("events waiting", Run::waiting, count, false),
            ("latency p99 (logarithmic)", Run::latency, milliseconds, true),
        ];
        let width = width.clamp(40, 100) - 10;
        for (title, series, label, log) in charts {
            let (without, with) = (series(&self.back_pressure), series(&self.bursting));
            let values = || without.iter().chain(&with).map(|point| point.value);
            let top = values().fold(1.0, f64::max);
            let bottom = if log { values().fold(top, f64::min).clamp(0.1, top / 2.0) } else { 0.0 };
            let scale = Scale { bottom, top, log, seconds };
            for (run, points) in [("back-pressure alone", &without), ("bursting", &with)] {
                line(format_args!("\n{title}, {run}"));
                let height = 5;
                for (row, blocks) in chart::lines(points, scale, width, height).iter().enumerate() {
                    let label = match row {
                        0 => label(top),
                        row if row + 1 == height => label(bottom),
                        _ => String::new(),
                    };
                    let row = format!("{label:>9} {blocks}");
                    line(format_args!("{}", row.trim_end()));
                }
            }
            let spike = |at: f64| ((at / seconds * width as f64) as usize).min(width);
            let (from, to) = (spike(self.spike_seconds.0), spike(self.spike_seconds.1));
            let under = format!("{}{}", " ".repeat(from), "^".repeat((to - from).max(1)));
            line(format_args!("          {under} the spike; {seconds:.0} s in all"));
        }
        line(format_args!(""));
        for Claim { claim, met, measured } in &self.claims {
            line(format_args!("{} {claim}: {measured}", if *met { "yes" } else { "NO " }));
        }
        Ok(text)
    }

    /// How long the longer run took.
    pub(super) fn seconds(&self) -> f64 {
        [&self.back_pressure, &self.bursting]
            .into_iter()
            .flat_map(|run| run.samples.last())
            .map(|sample| sample.seconds)
            .fold(1.0, f64::max)
    }
}

fn claims(without: &Run, with: &Run, ratios: &Ratios) -> Result<Vec<Claim>> {
    let sent = after_onset(with, "/burst/first_offload_ms")?;
    let back = after_onset(with, "/burst/first_remote_result_ms")?;
    let write = |value: Option<f64>| value.map_or_else(|| "never".to_owned(), milliseconds);
    let ratio = ratios.spike_latency_p99;
    let (lost, of) = (
        without.figure("/lost")? + with.figure("/lost")?,
        without.figure("/records_in")? + with.figure("/records_in")?,
    );
    Ok(vec![
        Claim {
            claim: "p99 latency of the spike's events at least 10 times lower with bursting",
            met: ratio >= 10.0,
            measured: format!("{} times", count(ratio)),
        },
        Claim {
            claim: "first event sent away within 100 ms of the onset",
            met: sent.is_some_and(|sent| sent <= 100.0),
            measured: write(sent),
        },
        Claim {
            claim: "first result from a runner within 500 ms of the onset, its start included",
            met: back.is_some_and(|back| back <= 500.0),
            measured: write(back),
        },
        Claim {
            claim: "no event lost in either run",
            met: lost == 0.0 && of > 0.0,
            measured: format!("{} of {} lost", count(lost), count(of)),
        },
    ])
}

/// A time of the burst, counted from the onset of the spike, in milliseconds.
fn after_onset(run: &Run, place: &str) -> Result<Option<f64>> {
    let onset = run.number("/burst/onset_ms")?;
    Ok(run.number(place)?.zip(onset).map(|(at, onset)| at - onset))
}

/// `0.8 ms`, `12 ms`, `34.1 s`.
pub(super) fn milliseconds(value: f64) -> String {
    match value {
        value if value >= 1000.0 => format!("{:.1} s", value / 1000.0),
        value if value >= 10.0 => format!("{value:.0} ms"),
        value => format!("{value:.1} ms"),
    }
}

/// `34.1 s`.
fn seconds(value: f64) -> String {
    milliseconds(value * 1000.0)
}

/// `950`, `12,345`, `4,900,000`.
pub(super) fn count(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The processor and how many of its cores there are.
fn machine() -> String {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{model}, {cores} cores")
}

/// How wide the terminal is, as far as it says so.
pub(super) fn terminal_width() -> usize {
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(96)
}

/// The object that `--json` prints.
pub(super) fn json(report: &Report) -> Result<String> {
    serde_json::to_string(report).context("the report is not JSON")
}

#[cfg(test)]
mod tests {
    use super::super::run::Sample;
    use super::*;
    use serde_json::json;

    fn run(p99: f64, first: Option<f64>) -> Run {
        let sample = |seconds: f64| Sample {
            seconds,
            waiting_records: seconds * 1000.0,
            latency_ms: Some(p99),
            due: 60_000.0,
            done: 60_000.0,
            offloaded: 0.0,
        };
        Run {
            summary: json!({
                "latency_ms": {"p50": 1.0, "p99": p99, "max": p99},
                "spike_latency_ms": {"p50": p99 / 2.0, "p99": p99},
                "peak_queue_records": p99 * 100.0, "records_per_second": 60_000.0,
                "wall_seconds": 30.0, "records_in": 1000, "lost": 0, "offloaded_records": 5,
                "duplicates_dropped": 0,
                "burst": {"onset_ms": 5000.0, "first_offload_ms": first.map(|t| t + 5000.0),
                          "first_remote_result_ms": first.map(|t| t + 5090.0)},
            }),
            samples: (0..30).map(|i| sample(f64::from(i))).collect(),
        }
    }

    fn met(with: Run) -> Vec<bool> {
        let report = Report::new(run(30_000.0, None), with, (5.0, 25.0)).expect("it is whole");
        report.claims.iter().map(|claim| claim.met).collect()
    }

    #[test]
    fn claims_are_measured_not_assumed() {
        assert_eq!(met(run(30.0, Some(4.0))), [true; 4]);
        assert_eq!(met(run(3_001.0, Some(4.0))), [false, true, true, true]);
        assert_eq!(met(run(30.0, Some(101.0))), [true, false, true, true]);
        assert_eq!(met(run(30.0, Some(450.0))), [true, false, false, true]);
        assert_eq!(met(run(30.0, None)), [true, false, false, true]);
        let mut lossy = run(30.0, Some(4.0));
        lossy.summary["lost"] = json!(1);
        assert_eq!(met(lossy), [true, true, true, false]);
    }

    #[test]
    fn a_summary_that_lacks_a_figure_is_an_error() {
        let mut broken = run(30.0, None);
        broken.summary.as_object_mut().expect("an object").remove("lost");
        let error = Report::new(run(1.0, None), broken, (5.0, 25.0)).expect_err("it lacks one");
        assert!(error.to_string().contains("/lost"), "{error}");
    }

    #[test]
    fn the_text_shows_both_runs_side_by_side() {
        let report = Report::new(run(30_000.0, None), run(30.0, Some(4.0)), (5.0, 25.0))
            .expect("it is whole");
        let text = report.text(96).expect("it can be shown");
        assert!(text.contains("30.0 s         30 ms"), "{text}");
        assert!(text.contains("1,000 times"), "{text}");
    }

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(count(4_900_000.4), "4,900,000");
        assert_eq!(count(12.0), "12");
        assert_eq!(milliseconds(34_120.0), "34.1 s");
        assert_eq!(milliseconds(0.84), "0.8 ms");
    }
}
