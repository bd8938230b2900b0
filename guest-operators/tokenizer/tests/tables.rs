//! The Unicode tables of the tokenizers in other languages, which know other versions of Unicode:
//! they are made from the standard library, so that all agree.
//!
//! To write them anew: `OVERSPILL_WRITE_TABLES=1 cargo test --release -p tokenizer --test tables`.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it doesn't expect")]

use std::fmt::Write;

/// The code points of a property, as ranges with both ends.
type Ranges = Vec<(u32, u32)>;

fn ranges(holds: impl Fn(char) -> bool) -> Ranges {
    let mut ranges = Ranges::new();
    for code in (0..=u32::from(char::MAX)).filter(|&code| char::from_u32(code).is_some_and(&holds))
    {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == code => *last = code,
            _ => ranges.push((code, code)),
        }
    }
    ranges
}

/// Whether a capital sigma with this behind it stands at the end of its word.
fn is_final(behind: &str) -> bool {
    format!("aΣ{behind}").to_lowercase().starts_with("aς")
}

/// Has a case, and counts for the rule of the final sigma.
fn is_cased(character: char) -> bool {
    !is_final(&character.to_string())
}

/// Is looked past by the rule of the final sigma.
fn is_ignorable(character: char) -> bool {
    !is_cased(character) && !is_final(&format!("{character}b"))
}

/// Lower-case mappings, but for those of ASCII: first and last code point, the step between them,
/// and what is added to each.
fn lower() -> Vec<[i64; 4]> {
    let mut mappings: Vec<[i64; 4]> = Vec::new();
    for character in ('\u{80}'..=char::MAX).filter(|&character| character != 'İ') {
        let mut lower = character.to_lowercase();
        let (mapped, none) = (lower.next().unwrap(), lower.next());
        assert_eq!(none, None, "only İ has a mapping to two characters");
        let (code, added) = (
            i64::from(u32::from(character)),
            i64::from(u32::from(mapped)) - i64::from(u32::from(character)),
        );
        if added == 0 {
            continue;
        }
        match mappings.last_mut() {
            Some([_, last, step, to_add])
                if *to_add == added
                    && (code - *last == *step || *step == 0 && code - *last <= 2) =>
            {
                *step = code - *last;
                *last = code;
            }
            _ => mappings.push([code, code, 0, added]),
        }
    }
    for mapping in &mut mappings {
        mapping[2] = mapping[2].max(1);
    }
    mappings
}

/// The tables in the syntax that Python and JavaScript share.
fn tables(comment: &str, declare: &str, end: &str) -> String {
    let (major, minor, patch) = char::UNICODE_VERSION;
    let mut text = String::new();
    let mut table = |doc: &str, name: &str, entries: Vec<String>| {
        write!(text, "\n{comment} {doc}\n{declare}{name} = [\n").unwrap();
        let mut line = String::from("   ");
        for entry in entries {
            if line.len() + entry.len() > 96 {
                writeln!(text, "{line}").unwrap();
                line = String::from("   ");
            }
            write!(line, " {entry},").unwrap();
        }
        write!(text, "{line}\n]{end}\n").unwrap();
    };
    let pairs = |ranges: Ranges| ranges.iter().map(|(a, b)| format!("[{a}, {b}]")).collect();
    table(
        "Lower case beyond ASCII, but for U+0130: first, last, step, and what is added to each.",
        "LOWER",
        lower().iter().map(|[a, b, c, d]| format!("[{a}, {b}, {c}, {d}]")).collect(),
    );
    table("Characters that have a case: first and last.", "CASED", pairs(ranges(is_cased)));
    table(
        "Characters that the rule of the final sigma looks past: first and last.",
        "IGNORABLE",
        pairs(ranges(is_ignorable)),
    );
    table(
        "Characters with the property White_Space: first and last.",
        "WHITE_SPACE",
        pairs(ranges(char::is_whitespace)),
    );
    format!(
        "{comment} Unicode {major}.{minor}.{patch}, written by the test `tables` of the tokenizer in Rust. Don't edit.\n{text}"
    )
}

fn check(path: &str, expected: &str) {
    let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("OVERSPILL_WRITE_TABLES").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{path} is not what this compiler's standard library says (Unicode {:?}); to write it anew: \
         OVERSPILL_WRITE_TABLES=1 cargo test --release -p tokenizer --test tables",
        char::UNICODE_VERSION,
    );
}

#[test]
fn the_tables_of_the_tokenizer_in_python_are_those_of_the_standard_library() {
    check("tokenizer-python/tables.py", &tables("#", "", ""));
}

#[test]
fn the_tables_of_the_tokenizer_in_javascript_are_those_of_the_standard_library() {
    check("tokenizer-javascript/tables.js", &tables("//", "export const ", ";"));
}

#[test]
fn sigma_is_the_only_letter_whose_lower_case_depends_on_what_stands_around_it() {
    for character in (char::MIN..=char::MAX).filter(|&character| character != 'Σ') {
        let lower: String = character.to_lowercase().collect();
        assert_eq!(format!("a{character}").to_lowercase(), format!("a{lower}"));
        assert_eq!(format!("a{character}b").to_lowercase(), format!("a{lower}b"));
    }
}
