//! The tokenizers in Rust, Python and JavaScript make the same of every text.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it doesn't expect")]

use std::path::PathBuf;

use overspill_operator_runtime::{Call, Instance, Limits, Runtime, RuntimeOptions};
use overspill_protocol::{Batch, Column, Emission};

/// Records in a batch.
const RECORDS: usize = 2048;

fn instance(name: &str) -> Instance {
    let folder = std::env::var_os("OVERSPILL_GUESTS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/guests"),
        PathBuf::from,
    );
    let path = folder.join(format!("{name}.wasm"));
    let Ok(component) = std::fs::read(&path) else {
        panic!("no {}: run `cargo xtask guests` first", path.display());
    };
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    runtime.load(&component).unwrap().pool(&[], Limits::default()).unwrap().take().unwrap()
}

fn run(instance: &mut Instance, records: &[Vec<u8>]) -> Emission {
    let batch = Batch::from_values(Column::from_values(records));
    instance.run(&batch, &Call::default()).unwrap().emission
}

/// The words of each record, or why it was rejected.
fn outcomes(emission: &Emission) -> Vec<Result<Vec<&[u8]>, &str>> {
    let reason = |index: usize| {
        let found = emission.rejected().iter().find(|rejected| rejected.index as usize == index);
        found.map(|rejected| rejected.reason.as_str())
    };
    let words = |index| emission.outputs_of(index).map(|at| emission.records().values().value(at));
    (0..emission.inputs())
        .map(|index| reason(index).map_or_else(|| Ok(words(index).collect()), Err))
        .collect()
}

/// Checks that another tokenizer makes of all records what the one in Rust makes of them.
fn assert_agrees(other: &str, records: impl Iterator<Item = Vec<u8>>) {
    let (mut rust, mut other_one) = (instance("tokenizer"), instance(other));
    let mut records = records.peekable();
    while records.peek().is_some() {
        let batch: Vec<Vec<u8>> = records.by_ref().take(RECORDS).collect();
        let (expected, found) = (run(&mut rust, &batch), run(&mut other_one, &batch));
        if expected == found {
            continue;
        }
        for ((record, expected), found) in
            batch.iter().zip(outcomes(&expected)).zip(outcomes(&found))
        {
            assert_eq!(
                found,
                expected,
                "{other}, of \"{}\"",
                String::from_utf8_lossy(record).escape_unicode()
            );
        }
        panic!("{other} makes the same words, and another emission");
    }
}

/// Every character alone, within a word, and before and behind a capital sigma in every place
/// where it may decide whether that stands at the end of a word.
fn every_character() -> impl Iterator<Item = Vec<u8>> {
    (char::MIN..=char::MAX)
        .map(|c| format!("{c} a{c}b aΣ{c} aΣ{c}b {c}Σ a{c}Σ a{c}ΣΣ {c}").into_bytes())
}

/// Bytes that are no UTF-8, in many ways, among records that are.
fn broken() -> impl Iterator<Item = Vec<u8>> {
    let starts = (0x80..=0xff_u8).flat_map(|first| {
        [0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff]
            .map(|second| (first, second))
    });
    starts.flat_map(|(first, second)| {
        let third = [0x80, 0xbf, 0x20];
        let mut records: Vec<Vec<u8>> =
            third.map(|third| vec![b'a', b' ', first, second, third, 0x80, b'B']).to_vec();
        records.push(vec![0xc3, 0xa4, first, second]);
        records.push(vec![0xe2, 0x82, 0xac, first]);
        records.push("Good Straße".into());
        records
    })
}

/// Texts by a fixed seed, ASCII alone and mixed.
fn random() -> impl Iterator<Item = Vec<u8>> {
    const ALPHABET: [char; 24] = [
        'a',
        'B',
        'Z',
        ' ',
        '\t',
        '\n',
        '\u{b}',
        '\u{c}',
        '\r',
        '\u{1c}',
        '\u{1f}',
        '\0',
        'Σ',
        'σ',
        'İ',
        'ß',
        '\u{85}',
        '\u{a0}',
        '\u{feff}',
        '\u{2028}',
        '\u{307}',
        '\u{1e921}',
        '\'',
        '😀',
    ];
    let mut state = 7_u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    (0..8 * RECORDS).map(move |record| {
        // Whole batches are ASCII, others are mixed.
        let letters = if (record / RECORDS).is_multiple_of(2) { 12 } else { ALPHABET.len() };
        let length = next(60);
        (0..length).map(|_| ALPHABET[next(letters)]).collect::<String>().into_bytes()
    })
}

#[test]
fn python_agrees_with_rust_on_every_character() {
    assert_agrees("tokenizer-python", every_character());
}

#[test]
fn javascript_agrees_with_rust_on_every_character() {
    // It takes minutes: every other character on a thread of its own.
    std::thread::scope(|scope| {
        for half in 0..2 {
            let characters = every_character().skip(half).step_by(2);
            scope.spawn(|| assert_agrees("tokenizer-javascript", characters));
        }
    });
}

#[test]
fn python_agrees_with_rust_on_random_and_on_broken_text() {
    assert_agrees("tokenizer-python", random().chain(broken()));
}

#[test]
fn javascript_agrees_with_rust_on_random_and_on_broken_text() {
    assert_agrees("tokenizer-javascript", random().chain(broken()));
}
