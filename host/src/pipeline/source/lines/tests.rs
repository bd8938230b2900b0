#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::burst::Time;
use crate::pipeline::definition::{BatchDefinition, SourceKind};
use crate::pipeline::source;
use crate::pipeline::source::rate::RateProfile;

struct Scratch {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn input(text: &[u8]) -> Scratch {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    std::fs::write(&path, text).unwrap();
    Scratch { _folder: folder, path }
}

fn definition(kind: SourceKind) -> SourceDefinition {
    SourceDefinition {
        batch: BatchDefinition { records: 3, linger: Duration::from_millis(20) },
        ..SourceDefinition::new("source", kind)
    }
}

fn lines(path: &Path, repeat: u64) -> SourceDefinition {
    definition(SourceKind::Lines { input: Input::File(path.to_owned()), repeat })
}

fn drain(definition: &SourceDefinition) -> Vec<Sourced> {
    let mut source = source::open(definition, RunClock::start()).unwrap();
    let stop = StopSignal::new();
    std::iter::from_fn(|| source.next(&stop).unwrap()).collect()
}

fn values(batches: &[Sourced]) -> Vec<Vec<u8>> {
    batches.iter().flat_map(|sourced| sourced.batch.values().iter().map(<[u8]>::to_vec)).collect()
}

#[test]
fn lines_are_cut_at_line_feeds_and_nowhere_else() {
    for (text, expected) in [
        (&b""[..], vec![]),
        (b"\n", vec![&b""[..]]),
        (b"a", vec![b"a"]),
        (b"a\n", vec![b"a"]),
        (b"a\n\nb", vec![b"a", b"", b"b"]),
        (b"a\r\nb\rc\r\n", vec![b"a\r", b"b\rc\r"]),
        (b"\xff\x00\n\xc3", vec![b"\xff\x00", b"\xc3"]),
        (b"1\n2\n3\n4\n5\n6\n", vec![b"1", b"2", b"3", b"4", b"5", b"6"]),
    ] {
        let input = input(text);
        assert_eq!(values(&drain(&lines(&input.path, 1))), expected, "{text:?}");
    }
}

#[test]
fn a_repeated_file_starts_each_time_on_a_line_of_its_own() {
    let file = input(b"a\nb");
    assert_eq!(values(&drain(&lines(&file.path, 3))), [b"a", b"b", b"a", b"b", b"a", b"b"]);
    let empty = input(b"");
    assert!(drain(&lines(&empty.path, 1_000_000)).is_empty());
}

#[test]
fn batches_are_full_and_large_files_come_through_whole() {
    let text: Vec<u8> = (0..200_000_u32)
        .flat_map(|i| format!("{i} {}\n", "x".repeat((i % 97) as usize)).into_bytes())
        .collect();
    let file = input(&text);
    let batches = drain(&lines(&file.path, 1));
    assert!(batches[..batches.len() - 1].iter().all(|sourced| sourced.batch.len() == 3));
    assert!(batches.iter().all(|sourced| sourced.due.len() == sourced.batch.len()));
    let again: Vec<u8> =
        values(&batches).into_iter().flat_map(|line| [&line[..], b"\n"].concat()).collect();
    assert!(again == text, "the lines differ from the file");
}

#[test]
fn a_line_that_is_longer_than_the_buffer_is_one_record() {
    let long = vec![b'x'; 3 << 20];
    let file = input(&[&long[..], b"\nshort\n"].concat());
    assert_eq!(values(&drain(&lines(&file.path, 1))), [&long[..], b"short"]);
}

#[test]
fn a_line_without_an_end_is_an_error_that_names_it() {
    let file = input(b"first\n");
    let sparse = std::fs::OpenOptions::new().append(true).open(&file.path).unwrap();
    sparse.set_len(65 << 20).unwrap();
    let mut source = source::open(&lines(&file.path, 1), RunClock::start()).unwrap();
    let stop = StopSignal::new();
    let error = loop {
        match source.next(&stop) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the line is too long"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("line 2") && error.contains("67108864 bytes"), "{error}");
}

#[test]
fn a_missing_file_is_an_error_that_names_it() {
    let error = source::open(&lines(Path::new("/no/such/file"), 1), RunClock::start());
    assert!(error.err().unwrap().to_string().contains("/no/such/file"));
}

#[test]
fn json_lines_are_checked_and_give_key_and_time() {
    let text = concat!(
        "{\"id\": \"a\", \"at\": 5}\n",
        "\n",
        "{\"id\": \"b\", \"at\"\n",
        "{\"id\": 7, \"at\": \"1970-01-01T00:00:01Z\"}\r\n",
        "{\"at\": 1}\n",
    );
    let file = input(text.as_bytes());
    let batches = drain(&definition(SourceKind::Ndjson {
        input: Input::File(file.path.clone()),
        repeat: 1,
        key_field: Some("id".to_owned()),
        time_field: Some("at".to_owned()),
    }));
    let keys: Vec<Vec<u8>> = batches
        .iter()
        .flat_map(|sourced| sourced.batch.keys().unwrap().iter().map(<[u8]>::to_vec))
        .collect();
    assert_eq!(keys, [b"a", b"7"]);
    let times: Vec<i64> =
        batches.iter().flat_map(|s| s.batch.timestamps().unwrap().to_vec()).collect();
    assert_eq!(times, [5, 1_000]);
    let rejected: Vec<_> = batches.iter().flat_map(|sourced| &sourced.rejected).collect();
    assert_eq!(rejected.iter().map(|r| r.line).collect::<Vec<_>>(), [3, 5]);
    assert!(rejected[0].reason.contains("not JSON"), "{}", rejected[0].reason);
    assert!(rejected[1].reason.contains("`id`"), "{}", rejected[1].reason);
    assert_eq!(rejected[0].value, b"{\"id\": \"b\", \"at\"");
}

#[test]
fn a_file_of_broken_records_ends_and_loses_none() {
    let file = input(&b"{\n".repeat(1_000));
    let batches = drain(&definition(SourceKind::Ndjson {
        input: Input::File(file.path.clone()),
        repeat: 2,
        key_field: None,
        time_field: None,
    }));
    assert_eq!(batches.iter().map(|sourced| sourced.rejected.len()).sum::<usize>(), 2_000);
    assert!(values(&batches).is_empty());
}

#[test]
fn a_paced_file_is_due_by_the_rate_and_not_by_the_reading() {
    let file = input(&b"x\n".repeat(100));
    let mut definition = lines(&file.path, 1);
    definition.rate = Some(RateProfile::constant(10_000.0));
    let clock = RunClock::start();
    let mut source = source::open(&definition, clock).unwrap();
    let backlog = source.backlog();
    let stop = StopSignal::new();
    let batches: Vec<Sourced> = std::iter::from_fn(|| source.next(&stop).unwrap()).collect();
    let due: Vec<Time> = batches.iter().flat_map(|sourced| sourced.due.iter()).collect();
    let expected: Vec<Time> = (1..=100).map(|i| Time(i * 100)).collect();
    assert_eq!(due, expected);
    assert!(clock.now() >= Time(10_000), "nothing comes before it is due");
    assert_eq!(backlog.records(Time(1_000_000_000)), 0, "there is no more");
}

/// A pipe whose far end writes slowly.
fn pipe() -> (PathBuf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let status = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(status.success());
    (path, folder)
}

#[test]
fn a_slow_pipe_hands_over_what_it_has_after_the_linger() {
    let (path, _folder) = pipe();
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            file.write_all(b"one\ntwo\nthr").unwrap();
            wait.recv().unwrap();
            file.write_all(b"ee\n").unwrap();
        }
    });
    let mut source = source::open(&lines(&path, 1), RunClock::start()).unwrap();
    let stop = StopSignal::new();
    let first = source.next(&stop).unwrap().unwrap();
    assert_eq!(values(&[first]), [b"one", b"two"], "the writer is still there");
    done.send(()).unwrap();
    let second = source.next(&stop).unwrap().unwrap();
    assert_eq!(values(&[second]), [b"three"]);
    assert!(source.next(&stop).unwrap().is_none());
    writer.join().unwrap();
}

#[test]
fn a_stop_ends_the_wait_for_a_silent_pipe() {
    let (path, _folder) = pipe();
    let writer = std::thread::spawn({
        let path = path.clone();
        move || std::fs::OpenOptions::new().write(true).open(path).unwrap()
    });
    let mut source = source::open(&lines(&path, 1), RunClock::start()).unwrap();
    let stop = StopSignal::new();
    std::thread::spawn({
        let stop = stop.clone();
        move || {
            std::thread::sleep(Duration::from_millis(30));
            stop.stop();
        }
    });
    assert!(source.next(&stop).unwrap().is_none());
    drop(writer.join().unwrap());
}
