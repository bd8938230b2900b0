//! The live view of a run, and the lines that stand for it where there is no terminal.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::progress::{OperatorProgress, Progress};
use super::summary::grouped;

/// Draws the state of a run on the terminal, over and over in the same place.
#[derive(Clone, Debug)]
pub struct LiveView {
    area: MultiProgress,
    lines: Vec<ProgressBar>,
}

impl Default for LiveView {
    fn default() -> Self {
        Self::new()
    }
}

impl LiveView {
    /// A view on standard error. Where that is no terminal, nothing is drawn.
    pub fn new() -> Self {
        Self { area: MultiProgress::new(), lines: Vec::new() }
    }

    /// Draws what happened between two moments of a run.
    pub fn draw(&mut self, before: &Progress, now: &Progress) {
        let texts = render(before, now);
        while self.lines.len() < texts.len() {
            let style = ProgressStyle::with_template("{msg}").expect("the template is sound");
            self.lines.push(self.area.add(ProgressBar::no_length().with_style(style)));
        }
        for (line, text) in self.lines.iter().zip(texts) {
            line.set_message(text);
            line.tick();
        }
    }

    /// Takes the view off the terminal.
    pub fn clear(&mut self) {
        for line in self.lines.drain(..) {
            line.finish_and_clear();
        }
    }

    /// A writer to standard error whose lines appear above the view, and don't tear it.
    pub fn log_writer(&self) -> LogWriter {
        LogWriter { area: self.area.clone() }
    }
}

/// Writes to standard error past a view.
#[derive(Clone, Debug)]
pub struct LogWriter {
    area: MultiProgress,
}

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.area.suspend(|| io::stderr().write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// A count per second between two moments.
fn rate(before: u64, now: u64, span: Duration) -> u64 {
    match span.as_secs_f64() {
        0.0 => 0,
        seconds => (now.saturating_sub(before) as f64 / seconds) as u64,
    }
}

/// The lines of the view.
pub fn render(before: &Progress, now: &Progress) -> Vec<String> {
    let span = now.at.since(before.at);
    let mut lines = vec![format!(
        "{:>7.1} s  {:<12} {:>10}/s   waiting at its door {:>10}{}",
        now.at.0 as f64 / 1e6,
        now.source.name,
        grouped(rate(before.source.records, now.source.records, span)),
        grouped(now.source.backlog_records),
        if now.source.finished { "   (at its end)" } else { "" },
    )];
    let new = OperatorProgress::default();
    for (index, operator) in now.operators.iter().enumerate() {
        let before = before.operators.get(index).unwrap_or(&new);
        lines.extend(operator_lines(before, operator, span));
    }
    let latency = &now.sink.latency;
    lines.push(format!(
        "{:>9}  {:<12} {:>10}/s   latency p50 {:.1} ms, p99 {:.1} ms",
        "",
        now.sink.name,
        grouped(rate(before.sink.records, now.sink.records, span)),
        latency.p50.as_secs_f64() * 1e3,
        latency.p99.as_secs_f64() * 1e3,
    ));
    lines
}

fn operator_lines(
    before: &OperatorProgress,
    now: &OperatorProgress,
    span: Duration,
) -> Vec<String> {
    let input = now.records_in.saturating_sub(before.records_in);
    let offloaded = now.offloaded_records.saturating_sub(before.offloaded_records);
    let share = match input {
        0 => 0.0,
        input => (offloaded as f64 / input as f64).min(1.0),
    };
    let mut lines = vec![format!(
        "{:>9}  {:<12} {:>10}/s   queue {} {:>10}   {} lane{} {:>3.0}% busy   offloaded {:>3.0}%",
        "",
        now.name,
        grouped(rate(before.records_in, now.records_in, span)),
        bar(now.queue_records, now.queue_capacity_records),
        grouped(now.queue_records),
        now.lanes,
        if now.lanes == 1 { "" } else { "s" },
        now.busy_share * 100.0,
        share * 100.0,
    )];
    lines.extend(now.targets.iter().map(|target| {
        format!(
            "{:>9}    {:<10} {}   runners {}/{}   calls {}/{}   p99 {:.1} ms   {} failed   ${:.4}",
            "",
            target.name,
            target.state,
            target.runners_up,
            target.runners_wanted,
            target.in_flight,
            target.limit,
            target.latency_p99.as_secs_f64() * 1e3,
            target.errors,
            target.cost_usd,
        )
    }));
    lines
}

/// How full a queue is, in ten steps.
fn bar(filled: u64, capacity: u64) -> String {
    // Anything that waits shows.
    let steps = match capacity {
        0 => 0,
        capacity => (filled.min(capacity) * 10).div_ceil(capacity) as usize,
    };
    format!("[{}{}]", "#".repeat(steps), "-".repeat(10 - steps))
}

/// Writes the state of a run as a line of the log.
pub fn log(before: &Progress, now: &Progress) {
    let span = now.at.since(before.at);
    tracing::info!(
        at_s = format!("{:.1}", now.at.0 as f64 / 1e6),
        input_per_s = rate(before.source.records, now.source.records, span),
        output_per_s = rate(before.sink.records, now.sink.records, span),
        waiting = now.waiting_records(),
        offloaded = now.offloaded_records(),
        p99_ms = format!("{:.1}", now.sink.latency.p99.as_secs_f64() * 1e3),
        "running"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::Time;
    use crate::pipeline::progress::TargetProgress;

    #[test]
    fn the_view_shows_rates_queue_lanes_share_and_targets() {
        let mut now = Progress { at: Time(2_500_000), ..Default::default() };
        now.source.records = 60_000;
        now.operators.push(OperatorProgress {
            name: "tokenizer".into(),
            records_in: 50_000,
            offloaded_records: 10_000,
            queue_records: 300_000,
            queue_capacity_records: 1_000_000,
            lanes: 2,
            busy_share: 0.97,
            targets: vec![TargetProgress { name: "here".into(), ..Default::default() }],
            ..Default::default()
        });
        let before = Progress { at: Time(2_000_000), ..Default::default() };
        let text = render(&before, &now).join("\n");
        for part in
            ["120,000/s", "100,000/s", "[###-------]", "300,000", "2 lanes  97%", "20%", "here"]
        {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
    }

    #[test]
    fn a_bar_shows_anything_that_waits_and_never_overflows() {
        assert_eq!(bar(0, 100), "[----------]");
        assert_eq!(bar(1, 100), "[#---------]");
        assert_eq!(bar(500, 100), "[##########]");
        assert_eq!(bar(5, 0), "[----------]");
    }
}
