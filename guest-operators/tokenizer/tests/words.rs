//! What the tokenizer makes of text.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it doesn't expect")]

use overspill_operator::{Runner, testing};
use tokenizer::Tokenizer;

fn tokenizer(fields: &str) -> Runner<Tokenizer> {
    testing::configure(&[("field", fields)]).unwrap()
}

fn words(text: &str) -> Vec<String> {
    let values = testing::values(&tokenizer(""), [text]);
    values.into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
}

/// The same by the standard library.
fn reference(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_lowercase).collect()
}

#[test]
fn words_come_out_in_lower_case_and_in_order() {
    assert_eq!(words("  The quick\tBROWN\r\nfox "), ["the", "quick", "brown", "fox"]);
    assert_eq!(words("ÄPFEL\u{a0}\u{3000}ΟΔΥΣΣΕΥΣ İ"), ["äpfel", "οδυσσευς", "i\u{307}"]);
    assert!(words("").is_empty());
    assert!(words(" \u{85}\n").is_empty());
}

#[test]
fn texts_of_every_shape_around_the_chunk_size_are_split_as_by_the_standard_library() {
    // Every length, with words of every length cut at every place of the chunks of 64 bytes.
    for length in 0..=200 {
        for word in 1..=70 {
            let text: String = (0..length)
                .map(|at| match at % (word + 1) {
                    0 => ' ',
                    _ => char::from(b'A' + (at % 26) as u8),
                })
                .collect();
            assert_eq!(words(&text), reference(&text), "{text:?}");
            let reversed: String = text.chars().rev().collect();
            assert_eq!(words(&reversed), reference(&reversed), "{reversed:?}");
        }
    }
}

#[test]
fn random_texts_are_split_as_by_the_standard_library() {
    const ALPHABET: [char; 12] =
        ['a', 'B', 'Z', '@', '[', ' ', '\n', '\u{b}', '\u{1f}', 'Σ', '\u{2003}', 'ß'];
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for round in 0..20_000 {
        // Every second text is ASCII.
        let letters = if round % 2 == 0 { 9 } else { ALPHABET.len() };
        let length = random(180);
        let text: String = (0..length).map(|_| ALPHABET[random(letters)]).collect();
        assert_eq!(words(&text), reference(&text), "{text:?}");
    }
}

#[test]
fn invalid_utf_8_rejects_that_record_and_names_the_byte() {
    let records: [&[u8]; 4] =
        [b"Good", b"bad \xff word", b"long enough for a vector, cut \xc3", b"A"];
    let emission = testing::run(&tokenizer(""), records);
    assert_eq!(emission.ends, [1, 1, 1, 2]);
    let rejected: Vec<(u32, &str)> =
        emission.rejected.iter().map(|r| (r.index, r.reason.as_str())).collect();
    assert_eq!(
        rejected,
        [(1, "expected UTF-8, found none at byte 4"), (2, "expected UTF-8, found none at byte 30")]
    );
}

#[test]
fn the_text_of_json_fields_is_split_in_the_order_in_which_they_are_listed() {
    let record = r#"{"event_type":2,"bid":{"price":3,"channel":"Big \"A\"","url":"X Y"},"z":[{}]}"#;
    let values = testing::values(&tokenizer("bid.url, bid.channel"), [record]);
    assert_eq!(values, [&b"x"[..], b"y", b"big", b"\"a\""]);
}

#[test]
fn a_field_that_is_missing_or_null_has_no_words() {
    let fields = tokenizer("bid.url,bid.channel");
    for record in [r#"{"event_type":0,"person":{}}"#, r#"{"bid":null}"#, r#"{"bid":{"url":null}}"#]
    {
        let emission = testing::run(&fields, [record]);
        assert_eq!((emission.records.values.len(), emission.rejected.len()), (0, 0), "{record}");
    }
}

#[test]
fn a_record_whose_field_is_no_text_is_rejected() {
    let reason =
        |record: &str| testing::run(&tokenizer("bid.url"), [record]).rejected[0].reason.clone();
    assert!(reason(r#"{"bid":{"url":5}}"#).contains("expected text in the field `url`"));
    assert!(reason(r#"{"bid":5}"#).contains("expected an object"));
    assert!(reason(r#"{"bid":{}} x"#).contains("trailing characters"));
    assert!(reason("plain text").contains("expected a JSON object"));
}

#[test]
fn bad_lists_of_fields_are_refused() {
    for fields in ["bid..url", "bid.url,", "bid,bid.url", "a,a", "."] {
        let error = testing::configure::<Tokenizer>(&[("field", fields)]).unwrap_err();
        assert!(error.reason.contains(fields), "{error}");
    }
}
