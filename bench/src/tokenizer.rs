//! What WebAssembly costs the tokenizer: the same source, natively and as a component.
//!
//! ```text
//! native rows      a value allocated for each line and each token, as a row engine has them
//! native columns   the operator's own code on columns, compiled natively by the SDK's runner
//! Wasm columns     the component in the runtime, with every limit on
//! crossing         a component that emits each record as it is: copying in and out, checks
//! ```
//!
//! What counts is the time that the thread was on a processor. The four are measured in turn, many
//! times over, and figures and ratios are medians: whatever else the machine does then falls on
//! all of them alike.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use overspill_operator::{Runner, Settings, run_native};
use overspill_operator_runtime::{Call, Instance, Limits, Operator, Runtime, RuntimeOptions};
use overspill_protocol::{Batch, Column};
use serde::Serialize;
use tokenizer::Tokenizer;

use crate::harness::processor_time;

/// Records in a batch.
const RECORDS: usize = 1024;
/// How often each way is measured.
const REPEATS: usize = 61;
/// How long one measurement takes at least.
const SPAN: Duration = Duration::from_millis(4);

/// What was measured, in nanoseconds a line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measured {
    /// The shape of the lines.
    pub(crate) lines: &'static str,
    /// Bytes a line.
    pub(crate) bytes: f64,
    /// Tokens a line.
    pub(crate) tokens: f64,
    /// The tokenizer on rows, natively.
    pub(crate) native_rows_ns: f64,
    /// The operator on columns, natively.
    pub(crate) native_columns_ns: f64,
    /// The component, with limits.
    pub(crate) wasm_ns: f64,
    /// The crossing: a component that emits each line as it is.
    pub(crate) crossing_ns: f64,
    /// The speed of the component as a part of that of the native columns.
    pub(crate) ratio_to_columns: f64,
    /// The speed of the component as a part of that of the native rows.
    pub(crate) ratio_to_rows: f64,
}

/// Measures, prints the figures, and returns them. With `json`, prints them as one JSON array.
///
/// # Errors
/// When the components aren't built, or two ways disagree on the output.
pub(crate) fn run(json: bool) -> Result<Vec<Measured>> {
    let runtime = Runtime::new(RuntimeOptions::default())?;
    let tokenizer = load(&runtime, "tokenizer")?;
    let identity = load(&runtime, "identity")?;
    let shapes = [("10 tokens of about 5 bytes", 10, 58), ("100 bytes, 19.5 words", 20, 100)];
    let mut all = Vec::new();
    for (name, tokens, bytes) in shapes {
        all.push(measure(name, &lines(tokens, bytes), &tokenizer, &identity)?);
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        print(&all);
    }
    Ok(all)
}

fn load(runtime: &Runtime, name: &str) -> Result<Operator> {
    let folder = std::env::var_os("OVERSPILL_GUESTS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/guests"),
        PathBuf::from,
    );
    let path = folder.join(format!("{name}.wasm"));
    let bytes = std::fs::read(&path)
        .with_context(|| format!("no {}: run `cargo xtask guests` first", path.display()))?;
    Ok(runtime.load(&bytes)?)
}

/// Lines of about `bytes` bytes in `tokens` words, by a fixed seed.
fn lines(tokens: usize, bytes: usize) -> Vec<String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    (0..RECORDS)
        .map(|_| {
            // Half of the lines of 20 words have 19: 19.5 words on average, as real text has.
            let words = if tokens == 20 { 19 + random(2) } else { tokens };
            let letters = bytes + 1 - words;
            let mut lengths = vec![letters / words; words];
            for length in lengths.iter_mut().take(letters % words) {
                *length += 1;
            }
            for _ in 0..words {
                let (from, to) = (random(words), random(words));
                if lengths[from] > 1 && from != to {
                    lengths[from] -= 1;
                    lengths[to] += 1;
                }
            }
            let word = |length: usize, random: &mut dyn FnMut(usize) -> usize| -> String {
                let letter = |at: usize, random: &mut dyn FnMut(usize) -> usize| {
                    let base = if at == 0 && random(4) == 0 { b'A' } else { b'a' };
                    char::from(base + random(26) as u8)
                };
                (0..length).map(|at| letter(at, random)).collect()
            };
            let line: Vec<String> =
                lengths.iter().map(|&length| word(length, &mut random)).collect();
            line.join(" ")
        })
        .collect()
}

fn measure(
    name: &'static str,
    lines: &[String],
    tokenizer: &Operator,
    identity: &Operator,
) -> Result<Measured> {
    let batch = Batch::from_values(Column::from_values(lines));
    let columns = overspill_operator::testing::batch(lines);
    let settings = Settings::new(&<Tokenizer as overspill_operator::FlatMap>::DESCRIPTION, [])?;
    let native = Runner::new(<Tokenizer as overspill_operator::FlatMap>::new(&settings)?);
    let mut wasm = instance(tokenizer)?;
    let mut crossing = instance(identity)?;

    // The three agree before they are compared.
    let expected = run_native(&native, &columns).records.values;
    let found = wasm.run(&batch, &Call::default())?.emission;
    ensure!(found.records().values().iter().eq(expected.iter()), "the component disagrees");
    ensure!(found.ends().len() == lines.len(), "the component has not done every line");
    ensure!(rows(lines).iter().flatten().map(Vec::as_slice).eq(expected.iter()), "rows disagree");

    let mut figures = [const { Vec::new() }; 4];
    for _ in 0..REPEATS {
        figures[0].push(time(|| drop(black_box(rows(black_box(lines))))));
        figures[1].push(time(|| drop(black_box(run_native(&native, black_box(&columns))))));
        figures[2].push(time(|| drop(black_box(wasm.run(black_box(&batch), &Call::default())))));
        figures[3]
            .push(time(|| drop(black_box(crossing.run(black_box(&batch), &Call::default())))));
    }
    let ratio = |part: &[f64], whole: &[f64]| {
        median(part.iter().zip(whole).map(|(part, whole)| part / whole).collect())
    };
    let ratio_to_rows = ratio(&figures[0], &figures[2]);
    let ratio_to_columns = ratio(&figures[1], &figures[2]);
    let [native_rows_ns, native_columns_ns, wasm_ns, crossing_ns] = figures.map(median);
    let count = lines.len() as f64;
    Ok(Measured {
        lines: name,
        bytes: columns.values.data.len() as f64 / count,
        tokens: expected.len() as f64 / count,
        native_rows_ns,
        native_columns_ns,
        wasm_ns,
        crossing_ns,
        ratio_to_columns,
        ratio_to_rows,
    })
}

fn instance(operator: &Operator) -> Result<Instance> {
    Ok(operator.pool(&[], Limits::default())?.take()?)
}

/// The tokenizer as a row engine would have it: a value of its own for every token.
fn rows(lines: &[String]) -> Vec<Vec<Vec<u8>>> {
    let tokens = |line: &String| {
        line.split_whitespace().map(|token| token.to_lowercase().into_bytes()).collect()
    };
    lines.iter().map(tokens).collect()
}

/// Nanoseconds of a processor a line that the work takes for one batch.
fn time(mut work: impl FnMut()) -> f64 {
    let start = processor_time();
    let mut rounds = 0;
    loop {
        work();
        rounds += 1;
        let span = processor_time() - start;
        if span >= SPAN {
            return span.as_nanos() as f64 / f64::from(rounds) / RECORDS as f64;
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn print(all: &[Measured]) {
    println!("The tokenizer, {RECORDS} lines a batch, medians of {REPEATS} interleaved repeats,");
    println!("nanoseconds of a processor a line, on {}", machine());
    for m in all {
        println!("\nlines of {} ({:.1} bytes, {:.1} tokens)", m.lines, m.bytes, m.tokens);
        println!("  native rows     {:7.1}", m.native_rows_ns);
        println!("  native columns  {:7.1}", m.native_columns_ns);
        println!("  Wasm columns    {:7.1}  with deadline, memory and output limits", m.wasm_ns);
        println!(
            "    crossing      {:7.1}  an operator that does nothing, checks included",
            m.crossing_ns
        );
        println!(
            "    guest         {:7.1}  its own code and its epoch checks",
            m.wasm_ns - m.crossing_ns
        );
        println!(
            "  Wasm has {:.2} of the speed of native columns, {:.2} of that of native rows",
            m.ratio_to_columns, m.ratio_to_rows
        );
    }
}

/// The processor and how many of it there are.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    let count = std::thread::available_parallelism().map_or(0, |count| count.get());
    format!("{} x {}", count, model.unwrap_or("an unknown processor"))
}
