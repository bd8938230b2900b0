//! What all benchmarks share: interleaved repeats, medians, the machine, and one form of report.

use std::fmt;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

/// What one benchmark found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// Its name.
    pub(crate) benchmark: &'static str,
    /// What it was measured on.
    pub(crate) machine: Machine,
    /// How what was measured was set up, in a sentence.
    pub(crate) setting: String,
    /// What was measured.
    pub(crate) figures: Vec<Figure>,
    /// What follows from it.
    pub(crate) ratios: Vec<Ratio>,
}

/// The machine that a benchmark ran on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    /// The processor's model.
    pub(crate) processor: String,
    /// How many of its cores are ours.
    pub(crate) cores: usize,
    /// Tasks that wanted to run, as a mean over the last minute, before the benchmark began.
    pub(crate) load: f64,
}

/// The middle of some repeats, and how far they spread.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    /// What was measured.
    pub(crate) name: String,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// The median.
    pub(crate) median: f64,
    /// The lowest.
    pub(crate) lowest: f64,
    /// The highest.
    pub(crate) highest: f64,
    /// How often it was measured.
    pub(crate) repeats: usize,
}

/// One figure over another.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ratio {
    /// What over what.
    pub(crate) name: String,
    /// The ratio.
    pub(crate) value: f64,
    /// What it should be at least; absent where there is no such goal.
    pub(crate) at_least: Option<f64>,
}

impl Report {
    /// An empty report of the machine as it is now.
    pub(crate) fn new(benchmark: &'static str, setting: impl Into<String>) -> Self {
        let (machine, setting) = (Machine::here(), setting.into());
        Self { benchmark, machine, setting, figures: Vec::new(), ratios: Vec::new() }
    }

    /// Adds the median of some repeats, and returns it.
    pub(crate) fn figure(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        repeats: &[f64],
    ) -> f64 {
        let mut sorted = repeats.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = median(&sorted);
        let (lowest, highest) = (sorted[0], sorted[sorted.len() - 1]);
        let repeats = sorted.len();
        self.figures.push(Figure { name: name.into(), unit, median, lowest, highest, repeats });
        median
    }

    /// Adds a ratio, with what it should be at least.
    pub(crate) fn ratio(&mut self, name: impl Into<String>, value: f64, at_least: Option<f64>) {
        self.ratios.push(Ratio { name: name.into(), value, at_least });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { processor, cores, load } = &self.machine;
        writeln!(f, "{}: {}", self.benchmark, self.setting)?;
        writeln!(f, "  on {processor}, {cores} cores, load {load:.1} before it began")?;
        for Figure { name, unit, median, lowest, highest, repeats } in &self.figures {
            writeln!(
                f,
                "  {name:58} {median:>10.1} {unit}  ({lowest:.1} to {highest:.1}, {repeats} repeats)"
            )?;
        }
        for Ratio { name, value, at_least } in &self.ratios {
            let goal = at_least.map_or_else(String::new, |goal| {
                let word = if *value >= goal { "met" } else { "NOT met" };
                format!("goal: at least {goal}, {word}")
            });
            writeln!(f, "  {name:58} {value:>10.2}      {goal}")?;
        }
        Ok(())
    }
}

impl Machine {
    /// This one.
    fn here() -> Self {
        let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = |line: &str| {
            line.strip_prefix("model name")?.split_once(": ").map(|(_, model)| model.to_owned())
        };
        let processor = information.lines().find_map(model);
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            processor: processor.unwrap_or_else(|| "unknown processor".to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN),
        }
    }
}

/// Measures each case once, then each again, and so on, so that what changes on the machine over
/// time meets all cases alike. The first round warms caches and doesn't count. Returns the repeats
/// of each case.
///
/// # Errors
/// The first that a case meets.
pub(crate) fn interleaved<C, M>(
    cases: &[C],
    repeats: usize,
    mut measure: impl FnMut(&C) -> Result<M>,
) -> Result<Vec<Vec<M>>> {
    let mut results: Vec<Vec<M>> = cases.iter().map(|_| Vec::new()).collect();
    for round in 0..=repeats {
        for (case, results) in cases.iter().zip(&mut results) {
            let measured = measure(case)?;
            if round > 0 {
                results.push(measured);
            }
        }
        eprint!("\r  round {round} of {repeats} ");
    }
    eprintln!();
    Ok(results)
}

/// The processor time of all children that have ended, and of theirs, in seconds: to 10 ms.
///
/// # Errors
/// When the system doesn't tell.
pub(crate) fn children_cpu_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("can't read the processor time")?;
    // Behind the program's name, which may hold anything but ends with the last parenthesis.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let field =
        |number: usize| -> Option<f64> { fields.split_whitespace().nth(number)?.parse().ok() };
    let (user, system) = field(13).zip(field(14)).context("/proc/self/stat lacks fields")?;
    // The unit is fixed at a hundredth of a second for everything that reads /proc.
    Ok((user + system) / 100.0)
}

/// How long this thread has been on a processor.
pub(crate) fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_take_turns_and_the_first_round_does_not_count() {
        let mut order = Vec::new();
        let results = interleaved(&["a", "b"], 2, |case| {
            order.push(*case);
            Ok(order.len())
        })
        .expect("nothing fails");
        assert_eq!(order, ["a", "b", "a", "b", "a", "b"]);
        assert_eq!(results, [[3, 5], [4, 6]]);
    }

    #[test]
    fn a_figure_is_the_median() {
        let mut report = Report::new("b", "s");
        assert_eq!(report.figure("odd", "ns", &[9.0, 1.0, 5.0]), 5.0);
        assert_eq!(report.figure("even", "ns", &[9.0, 1.0, 5.0, 6.0]), 5.5);
        assert_eq!((report.figures[0].lowest, report.figures[0].highest), (1.0, 9.0));
    }

    #[test]
    fn a_goal_that_is_missed_is_said_so() {
        let mut report = Report::new("b", "s");
        report.ratio("speed", 4.9, Some(5.0));
        assert!(report.to_string().contains("goal: at least 5, NOT met"), "{report}");
    }

    #[test]
    fn the_processor_time_of_children_grows() {
        let before = children_cpu_seconds().expect("it is told");
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let status = std::process::Command::new("sh").args(["-c", busy]).status();
        assert!(status.expect("sh is there").success());
        assert!(children_cpu_seconds().expect("it is told") > before);
    }
}
