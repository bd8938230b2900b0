//! `overspill test-laws`: holds an operator to the laws of its kind.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use overspill::laws::{Counterexample, Element, LawOptions, LawReport, LawResult, test};
use overspill_operator_runtime::{Runtime, RuntimeOptions};
use serde_json::{Value, json};

use super::{FAILED, USAGE, key_value};

pub(super) const AFTER_HELP: &str = "\
Examples:
  overspill test-laws target/guests/counter.wasm
  overspill test-laws words.wasm --records lines.ndjson --settings language=en
  overspill test-laws totals.wasm --seed 7 --cases 20000 --json

Exit codes:
  0  every law held in every case
  1  a law is broken: the smallest case found is shown
  2  the command, the component or its settings are wrong; nothing was tested";

/// The arguments of `overspill test-laws`.
#[derive(Args, Debug)]
pub(super) struct TestLawsArgs {
    /// The component.
    #[arg(value_name = "COMPONENT.wasm")]
    component: PathBuf,
    /// What the cases are made from: the same seed gives the same cases.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// How many cases each law is tried with.
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    cases: u32,
    /// Draw the values of records from the lines of this file. Without it they are made up:
    /// numbers, words, JSON objects, and any bytes.
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// For an aggregate: how long the window is that the records of a case share, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000,
          value_parser = clap::value_parser!(i64).range(1..))]
    window: i64,
    /// A setting of the operator; may be given again.
    #[arg(long, value_name = "NAME=VALUE", value_parser = key_value)]
    settings: Vec<(String, String)>,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Does what the arguments say.
pub(super) fn run(args: &TestLawsArgs) -> ExitCode {
    let report = match report(args) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::from(USAGE);
        }
    };
    match args.json {
        true => println!("{}", as_json(&report)),
        false => print(&report),
    }
    match report.holds() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(FAILED),
    }
}

fn report(args: &TestLawsArgs) -> anyhow::Result<LawReport> {
    let path = args.component.display();
    let bytes =
        std::fs::read(&args.component).with_context(|| format!("can't read component {path}"))?;
    let runtime = Runtime::new(RuntimeOptions::default())?;
    let operator = runtime.load(&bytes).with_context(|| format!("can't load {path}"))?;
    let values: Option<Arc<[Vec<u8>]>> = match &args.records {
        None => None,
        Some(file) => {
            let text = std::fs::read(file)
                .with_context(|| format!("can't read records from {}", file.display()))?;
            let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            let lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
            anyhow::ensure!(!lines.is_empty(), "{} has no lines", file.display());
            Some(lines.into())
        }
    };
    let options = LawOptions {
        seed: args.seed,
        cases: args.cases,
        settings: args.settings.clone(),
        values,
        window: args.window,
        ..LawOptions::default()
    };
    Ok(test(&operator, &options)?)
}

fn print(report: &LawReport) {
    println!("{} ({}), seed {}", report.operator, report.kind, report.seed);
    for law in &report.laws {
        match &law.broken {
            None => println!("  held    {:<12} {} ({} cases)", law.name, law.law, law.held),
            Some(example) => {
                println!("  BROKEN  {:<12} {}", law.name, law.law);
                print_example(report, example);
            }
        }
        if law.bytes_differ > 0 {
            println!(
                "          in {} cases the partials differ as bytes, though not in what they \
                 finish to: they can't be compared or cached as bytes",
                law.bytes_differ
            );
        }
    }
    let (records, rejected) = report.records;
    if rejected * 2 > records {
        println!(
            "  note: it rejects {rejected} of {records} records, so this says little: give it \
             records that it takes, with --records FILE"
        );
    }
}

fn print_example(report: &LawReport, example: &Counterexample) {
    println!("    case {} of seed {}, made small:", example.number, report.seed);
    for line in example.case.to_string().lines() {
        println!("      {line}");
    }
    let difference = &example.difference;
    for (what, lines) in [&difference.one, &difference.other] {
        println!("    {what}:");
        match lines.is_empty() {
            true => println!("      nothing"),
            false => lines.iter().for_each(|line| println!("      {line}")),
        }
    }
}

fn as_json(report: &LawReport) -> Value {
    json!({
        "operator": report.operator,
        "kind": report.kind.to_string(),
        "seed": report.seed,
        "holds": report.holds(),
        "sampled_records": report.records.0,
        "rejected_records": report.records.1,
        "laws": report.laws.iter().map(law_json).collect::<Vec<_>>(),
    })
}

fn law_json(law: &LawResult) -> Value {
    json!({
        "name": law.name,
        "law": law.law,
        "held_cases": law.held,
        "bytes_differ_cases": law.bytes_differ,
        "counterexample": law.broken.as_ref().map(|example| json!({
            "case": example.number,
            "elements": example.case.elements.iter().map(element_json).collect::<Vec<_>>(),
            "cuts": example.case.cuts,
            "one": example_side(&example.difference.one),
            "other": example_side(&example.difference.other),
        })),
    })
}

fn element_json(element: &Element) -> Value {
    match element {
        Element::Watermark(time) => json!({ "watermark": time }),
        Element::Record(record) => json!({
            "key": record.key,
            "time": record.time,
            "input": record.input,
            // Bytes that are no text would else be lost.
            "value": record.value.escape_ascii().to_string(),
        }),
    }
}

fn example_side((what, lines): &(String, Vec<String>)) -> Value {
    json!({ "what": what, "lines": lines })
}
