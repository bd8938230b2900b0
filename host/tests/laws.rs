//! Laws are tested: operators that keep them pass, and each way to break one is found.

#[path = "common/guests.rs"]
mod guests;

use std::process::Command;

use overspill::laws::{Element, LawOptions, LawReport, test};
use overspill_operator_runtime::{Runtime, RuntimeOptions};

use self::guests::guest;

fn report(name: &str, settings: &[(&str, &str)], cases: u32) -> LawReport {
    let path = guest(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}: run `cargo xtask guests` first", path.display())
    });
    let options = RuntimeOptions { cache_dir: None, ..RuntimeOptions::default() };
    let runtime = Runtime::new(options).expect("a runtime");
    let operator = runtime.load(&bytes).expect("an operator");
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let settings = settings.iter().map(owned).collect();
    let options = LawOptions { cases, settings, ..LawOptions::default() };
    test(&operator, &options).expect("a report")
}

#[test]
fn operators_that_keep_the_laws_pass() {
    for name in [
        "tokenizer",
        "identity",
        "counter",
        "windowed-count",
        "count-aggregate",
        "lawless-flatmap",
        "lawless-keyed",
        "lawless-aggregate",
    ] {
        let report = report(name, &[], 300);
        assert!(report.holds(), "{name}: {:#?}", report.laws);
        for law in &report.laws {
            assert_eq!((law.held, law.bytes_differ), (300, 0), "{name}: {}", law.name);
        }
    }
}

#[test]
fn each_broken_law_is_found() {
    for (kind, laws) in [
        ("flatmap", &["cut", "again"][..]),
        ("keyed", &["records", "keys", "place"]),
        ("aggregate", &["accumulate", "associative", "commutative", "one", "keys", "place"]),
    ] {
        let name = format!("lawless-{kind}");
        for law in laws {
            let report = report(&name, &[("breaks", law)], 300);
            let found = report.laws.iter().find(|result| result.name == *law).expect("the law");
            let broken = found.broken.as_ref();
            let broken = broken.unwrap_or_else(|| panic!("{name} breaks `{law}` unseen"));
            assert_ne!(broken.difference.one.1, broken.difference.other.1, "{name} {law}");
        }
    }
}

#[test]
fn output_that_leaves_its_times_to_the_call_depends_on_the_cut() {
    let report = report("lawless-keyed", &[("breaks", "times")], 300);
    let records = &report.laws[0];
    assert_eq!(records.name, "records");
    let broken = records.broken.as_ref().expect("a broken law");
    assert!(broken.difference.one.1.iter().any(|line| line.contains("time=")), "{broken:?}");
}

#[test]
fn a_counterexample_is_made_small() {
    let report = report("lawless-flatmap", &[("breaks", "cut")], 300);
    let broken = report.laws[0].broken.as_ref().expect("a broken law");
    // It takes three records in one batch, one of which has two bytes.
    assert_eq!((broken.case.elements.len(), broken.case.cuts.len()), (3, 1));
    let bytes = broken.case.elements.iter().map(|element| match element {
        Element::Record(record) => record.value.len(),
        Element::Watermark(_) => 0,
    });
    assert_eq!(bytes.sum::<usize>(), 2, "{}", broken.case);
}

#[test]
fn the_same_seed_gives_the_same_counterexample() {
    let broken = || {
        let report = report("lawless-aggregate", &[("breaks", "associative")], 300);
        report.laws[1].broken.clone().expect("a broken law")
    };
    let (one, other) = (broken(), broken());
    assert_eq!((one.number, one.case), (other.number, other.case));
}

fn command(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_overspill"))
        .arg("test-laws")
        .args(args)
        .output()
        .expect("the program");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

#[test]
fn the_command_shows_the_law_the_seed_and_the_case() {
    let aggregate = guest("lawless-aggregate");
    let aggregate = aggregate.to_str().expect("a plain path");
    let args = [aggregate, "--settings", "breaks=commutative", "--cases", "200", "--seed", "5"];
    let (code, out, _) = command(&args);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("BROKEN  commutative  merge(a, b) is merge(b, a)"), "{out}");
    assert!(out.contains("held    one "), "{out}");
    // It takes all the forms of records that are made up.
    assert!(!out.contains("note:"), "{out}");
    assert!(out.contains("of seed 5, made small:") && out.contains("-- cut --"), "{out}");

    let (code, out, _) = command(&[&args[..], &["--json"]].concat());
    assert_eq!(code, 1);
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(value["holds"], false);
    assert_eq!(value["laws"][2]["name"], "commutative");
    assert!(value["laws"][2]["counterexample"]["elements"].is_array(), "{out}");
}

#[test]
fn the_command_takes_records_from_a_file_and_says_when_they_are_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lines");
    // One that it takes among many that it doesn't is enough.
    std::fs::write(&file, format!("12\n-7\n{}", "no number\n".repeat(50))).expect("a file");
    let (aggregate, file) = (guest("count-aggregate"), file.to_str().expect("a plain path"));
    let aggregate = aggregate.to_str().expect("a plain path");
    let (code, out, _) = command(&[aggregate, "--records", file, "--cases", "100"]);
    assert_eq!((code, out.contains("note:")), (0, false), "{out}");
    std::fs::write(file, "no number\n").expect("a file");
    let (code, out, _) = command(&[aggregate, "--records", file, "--cases", "100"]);
    assert_eq!((code, out.contains("note: it rejects")), (0, true), "{out}");
}

#[test]
fn a_wrong_command_says_what_is_wrong() {
    let (code, _, error) = command(&["nowhere.wasm"]);
    assert_eq!(code, 2);
    assert!(error.contains("can't read component nowhere.wasm"), "{error}");
    let counter = guest("counter");
    let counter = counter.to_str().expect("a plain path");
    let (code, _, error) = command(&[counter, "--settings", "paddd=3"]);
    assert_eq!(code, 2);
    assert!(error.contains("has no setting `paddd`"), "{error}");
}
