//! The summary for people.

use std::fmt::{self, Write as _};

use super::{LatencySummary, Summary};

/// For people.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.stopped { " (stopped early)" } else { "" };
        writeln!(f, "{}{end}", self.pipeline)?;
        writeln!(
            f,
            "  records     {} in, {} out, {} rejected, {} lost",
            grouped(self.records_in),
            grouped(self.records_out),
            grouped(self.rejected),
            grouped(self.lost)
        )?;
        if self.duplicates + self.order_violations > 0 {
            writeln!(
                f,
                "  FAULTS      {} records twice, {} batches out of order",
                grouped(self.duplicates),
                grouped(self.order_violations)
            )?;
        }
        writeln!(
            f,
            "  time        {:.2} s, {:.2} s of processor time, {} records/s",
            self.wall_seconds,
            self.cpu_seconds,
            grouped(self.records_per_second as u64)
        )?;
        writeln!(f, "  latency     {}", self.latency_ms)?;
        if let Some(spike) = &self.spike_latency_ms {
            writeln!(f, "  in spikes   {spike}")?;
        }
        writeln!(f, "  queue       {} records at most", grouped(self.peak_queue_records))?;
        writeln!(
            f,
            "  offloaded   {} records, {:.1}%; {} duplicate answers dropped",
            grouped(self.offloaded_records),
            self.offloaded_share * 100.0,
            grouped(self.duplicates_dropped)
        )?;
        if let Some(text) = self.burst_text() {
            writeln!(f, "  burst       {text}")?;
        }
        self.fmt_stages(f)?;
        for target in &self.targets {
            writeln!(
                f,
                "  target      {} for {}: {} calls, {} records, p50 {:.1} ms, p99 {:.1} ms, {} cold, {} throttled, {} failed, ${:.4}",
                target.name,
                target.operator,
                grouped(target.calls),
                grouped(target.records),
                target.latency_p50_ms,
                target.latency_p99_ms,
                target.cold_starts,
                target.throttles,
                target.errors,
                target.cost_usd
            )?;
        }
        Ok(())
    }
}

impl Summary {
    /// What there is to say of single stages.
    fn fmt_stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sources.len() > 1 {
            for source in &self.sources {
                let (records, rejected) = (grouped(source.records), grouped(source.rejected));
                writeln!(f, "  source      {}: {records} in, {rejected} rejected", source.name)?;
            }
        }
        for operator in &self.operators {
            let Some(state) = &operator.state else { continue };
            write!(
                f,
                "  state       {}: {} keys, {}, {} timers",
                operator.name,
                grouped(state.keys),
                size(state.bytes),
                grouped(state.timers)
            )?;
            if state.spilled_bytes > 0 {
                write!(f, ", {} on disk", size(state.spilled_bytes))?;
            }
            if state.state_bytes_sent > 0 {
                let (sent, touched) = (state.state_bytes_sent, state.state_bytes_touched);
                write!(f, "; sent {} for {} worked on elsewhere", size(sent), size(touched))?;
            }
            writeln!(f)?;
        }
        for operator in self.operators.iter().filter(|operator| operator.late_records > 0) {
            let late = grouped(operator.late_records);
            writeln!(f, "  late        {}: {late} records", operator.name)?;
        }
        if self.sinks.len() > 1 {
            for sink in &self.sinks {
                let (records, bytes) = (grouped(sink.records), size(sink.bytes));
                writeln!(f, "  sink        {}: {records} out, {bytes}", sink.name)?;
            }
        }
        for operator in &self.operators {
            if let Some(why) = &operator.bottleneck {
                let named = format!("{} is the bottleneck: ", operator.name);
                let why = why.replacen(&named, "", 1);
                writeln!(f, "  bottleneck  {}: {why}", operator.name)?;
            }
        }
        Ok(())
    }

    /// When what happened, told from the onset where there is one.
    fn burst_text(&self) -> Option<String> {
        let first = self.burst.first_offload_ms?;
        // What was sent away before the onset (a slow start, say) has no delay after it.
        let onset = self.burst.onset_ms.filter(|onset| *onset <= first);
        let since = |time: f64| time - onset.unwrap_or(0.0);
        let mut text = match onset {
            Some(onset) => format!("from {:.1} s on: first offload after", onset / 1e3),
            None => "first offload at".to_owned(),
        };
        let _ = write!(text, " {:.0} ms", since(first));
        if let Some(result) = self.burst.first_remote_result_ms {
            let _ = write!(text, ", first remote result {:.0} ms", since(result));
        }
        if let Some(last) = self.burst.last_offload_ms {
            let _ = write!(text, ", last offload at {:.1} s", last / 1e3);
        }
        Some(text)
    }
}

impl fmt::Display for LatencySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { p50, p99, p999, max, .. } = self;
        write!(f, "p50 {p50:.1} ms, p99 {p99:.1} ms, p99.9 {p999:.1} ms, max {max:.1} ms")
    }
}

/// A number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes with the unit that gives it one to four digits.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut shown = bytes as f64;
    let mut unit = 0;
    while shown >= 1024.0 && unit + 1 < UNITS.len() {
        shown /= 1024.0;
        unit += 1;
    }
    let digits = if shown.fract() == 0.0 || shown >= 100.0 { 0 } else { 1 };
    format!("{shown:.digits$} {}", UNITS[unit])
}
