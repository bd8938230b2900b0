//! The live view of a run, and the lines that stand for it where there is no terminal.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::progress::{
    LatencyWindow, OperatorProgress, Progress, SinkProgress, SourceProgress, StateProgress,
    TargetProgress,
};
use super::source::time_text;
use super::summary::{grouped, size};

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
            let style = ProgressStyle::with_template("{wide_msg}").expect("the template is sound");
            self.lines.push(self.area.add(ProgressBar::no_length().with_style(style)));
        }
        // Lines that are left over are of a state that is gone.
        let texts = texts.into_iter().chain(std::iter::repeat(String::new()));
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

/// The lines of the view: sources, operators with their state and targets, sinks.
pub fn render(before: &Progress, now: &Progress) -> Vec<String> {
    let span = now.at.since(before.at);
    let view = View { width: name_width(now), span };
    let mut lines = Vec::new();
    let (source, operator) = (SourceProgress::default(), OperatorProgress::default());
    for (index, now) in now.sources.iter().enumerate() {
        lines.push(view.source(before.sources.get(index).unwrap_or(&source), now));
    }
    for (index, now) in now.operators.iter().enumerate() {
        lines.extend(view.operator(before.operators.get(index).unwrap_or(&operator), now));
    }
    for (index, now) in now.sinks.iter().enumerate() {
        let before = before.sinks.get(index).map_or(0, |sink| sink.records);
        lines.push(view.sink(before, now));
    }
    lines.push(view.latency(&now.latency));
    let at = format!("{:>7.1} s", now.at.0 as f64 / 1e6);
    for (index, line) in lines.iter_mut().enumerate() {
        let margin = if index == 0 { at.as_str() } else { "" };
        *line = format!("{margin:>9}  {line}");
    }
    lines
}

/// The widest name of a stage, within reason.
fn name_width(now: &Progress) -> usize {
    let sources = now.sources.iter().map(|source| source.name.len());
    let operators = now.operators.iter().map(|operator| operator.name.len());
    let sinks = now.sinks.iter().map(|sink| sink.name.len());
    sources.chain(operators).chain(sinks).max().unwrap_or_default().clamp(12, 24)
}

/// How the lines of a view are drawn.
struct View {
    /// The width of names.
    width: usize,
    /// The time over which rates are taken.
    span: Duration,
}

impl View {
    fn rate(&self, before: u64, now: u64) -> String {
        format!("{:>10}/s", grouped(rate(before, now, self.span)))
    }

    fn source(&self, before: &SourceProgress, now: &SourceProgress) -> String {
        let state = match (now.finished, now.idle) {
            (true, _) => "   (at its end)",
            (false, true) => "   (idle)",
            (false, false) => "",
        };
        format!(
            "{:<width$} {}   waiting at its door {:>10}{state}",
            now.name,
            self.rate(before.records, now.records),
            grouped(now.backlog_records),
            width = self.width
        )
    }

    fn operator(&self, before: &OperatorProgress, now: &OperatorProgress) -> Vec<String> {
        let input = now.records_in.saturating_sub(before.records_in);
        let offloaded = now.offloaded_records.saturating_sub(before.offloaded_records);
        let share = match input {
            0 => 0.0,
            input => (offloaded as f64 / input as f64).min(1.0),
        };
        let mut lines = vec![format!(
            "{:<width$} {}   queue {} {:>10}   {} lane{} {:>3.0}% busy   offloaded {:>3.0}%{}",
            now.name,
            self.rate(before.records_in, now.records_in),
            bar(now.queue_records, now.queue_capacity_records),
            grouped(now.queue_records),
            now.lanes,
            if now.lanes == 1 { "" } else { "s" },
            now.busy_share * 100.0,
            share * 100.0,
            if now.bottleneck.is_some() { "   <- bottleneck" } else { "" },
            width = self.width
        )];
        if let Some(why) = &now.bottleneck {
            // The line above says which.
            let named = format!("{} is the bottleneck: ", now.name);
            lines.push(format!("  {}", why.replacen(&named, "", 1)));
        }
        lines.extend(now.state.map(|state| self.state(now, state)));
        lines.extend(now.targets.iter().map(|target| self.target(target)));
        lines
    }

    fn state(&self, operator: &OperatorProgress, state: StateProgress) -> String {
        let mut line = format!(
            "  {:<width$} {:>10} keys   {:>9}   {:>8} timers",
            "state",
            grouped(state.keys),
            size(state.bytes),
            grouped(state.timers),
            width = self.width - 2
        );
        if state.spilled_bytes > 0 {
            line.push_str(&format!("   {} on disk", size(state.spilled_bytes)));
        }
        if let Some(watermark) = operator.watermark {
            line.push_str(&format!("   event time {}", event_time(watermark)));
        }
        if operator.late_records > 0 {
            line.push_str(&format!("   {} late", grouped(operator.late_records)));
        }
        line
    }

    fn target(&self, target: &TargetProgress) -> String {
        format!(
            "  {:<width$} {}   runners {}/{}   calls {}/{}   p99 {:.1} ms   {} failed   ${:.4}",
            target.name,
            target.state,
            target.runners_up,
            target.runners_wanted,
            target.in_flight,
            target.limit,
            target.latency_p99.as_secs_f64() * 1e3,
            target.errors,
            target.cost_usd,
            width = self.width - 2
        )
    }

    fn sink(&self, before: u64, now: &SinkProgress) -> String {
        let rate = self.rate(before, now.records);
        format!("{:<width$} {rate}", now.name, width = self.width)
    }

    fn latency(&self, latency: &LatencyWindow) -> String {
        format!(
            "{:<width$} p50 {:.1} ms, p99 {:.1} ms",
            "latency",
            latency.p50.as_secs_f64() * 1e3,
            latency.p99.as_secs_f64() * 1e3,
            width = self.width
        )
    }
}

/// A watermark as a time of day, or the word for the one that ends all.
fn event_time(watermark: i64) -> String {
    match watermark {
        i64::MAX => "at its end".to_owned(),
        // Not a time that anybody reads as one.
        time if !(0..253_402_300_800_000).contains(&time) => format!("{time} ms"),
        time => {
            let mut text = Vec::new();
            time_text::write(time, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
    }
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
        input_per_s = rate(before.source_records(), now.source_records(), span),
        output_per_s = rate(before.sink_records(), now.sink_records(), span),
        waiting = now.waiting_records(),
        offloaded = now.offloaded_records(),
        p99_ms = format!("{:.1}", now.latency.p99.as_secs_f64() * 1e3),
        bottleneck = now.bottleneck().map(|(operator, _)| operator),
        "running"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::Time;

    #[test]
    fn the_view_shows_rates_queue_lanes_share_and_targets() {
        let mut now = Progress { at: Time(2_500_000), ..Default::default() };
        now.sources.push(SourceProgress {
            name: "bids".into(),
            records: 60_000,
            ..Default::default()
        });
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
    fn the_view_of_a_graph_has_all_its_ends_the_state_and_the_bottleneck() {
        let mut now = Progress { at: Time(1_000_000), ..Default::default() };
        for (name, idle) in [("people", true), ("auctions", false)] {
            let source = SourceProgress { name: name.into(), idle, ..Default::default() };
            now.sources.push(source);
        }
        let (keys, bytes, timers) = (1_234, 5 << 20, 9);
        now.operators.push(OperatorProgress {
            name: "sellers-by-state".into(),
            state: Some(StateProgress { keys, bytes, timers, ..Default::default() }),
            watermark: Some(1_436_918_400_000),
            late_records: 7,
            bottleneck: Some("sellers-by-state is the bottleneck: 9 records wait".into()),
            ..Default::default()
        });
        for name in ["sold", "late"] {
            now.sinks.push(SinkProgress { name: name.into(), ..Default::default() });
        }
        let lines = render(&Progress::default(), &now);
        let text = lines.join("\n");
        for part in [
            "people                    0/s   waiting at its door          0   (idle)",
            "<- bottleneck",
            "  9 records wait",
            "1,234 keys       5 MiB          9 timers   event time 2015-07-15 00:00:00.000   7 late",
            "sold",
            "late",
        ] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
        assert_eq!(lines.len(), 2 + 3 + 2 + 1, "{text}");
        assert_eq!(text.matches("is the bottleneck").count(), 0, "{text}");
    }

    #[test]
    fn an_event_time_is_one_that_people_read_or_a_number() {
        assert_eq!(event_time(0), "1970-01-01 00:00:00.000");
        assert_eq!(event_time(i64::MAX), "at its end");
        assert_eq!(event_time(i64::MIN), "-9223372036854775808 ms");
    }

    #[test]
    fn a_bar_shows_anything_that_waits_and_never_overflows() {
        assert_eq!(bar(0, 100), "[----------]");
        assert_eq!(bar(1, 100), "[#---------]");
        assert_eq!(bar(500, 100), "[##########]");
        assert_eq!(bar(5, 0), "[----------]");
    }
}
