//! Texts that nobody would write.

use crate::support::{Folder, GOOD, GRAPH};

#[test]
fn no_text_makes_it_panic() {
    let folder = Folder::new();
    for good in [GOOD, GRAPH] {
        holes(&folder, good);
        wrong_types(&folder, good);
    }
}

/// Every cut of a good file, and every two lines left out.
fn holes(folder: &Folder, good: &str) {
    for end in 0..good.len() {
        let _ = folder.parse(&good[..end], &[]);
    }
    let lines: Vec<&str> = good.lines().collect();
    for skipped in 0..lines.len() {
        for other in skipped..lines.len() {
            let kept = lines.iter().enumerate().filter(|(i, _)| *i != skipped && *i != other);
            let text: Vec<&str> = kept.map(|(_, line)| *line).collect();
            let silent =
                folder.parse(&text.join("\n"), &[]).is_err_and(|bad| bad.iter().len() == 0);
            assert!(!silent, "without lines {skipped} and {other} it is bad, and nobody says why");
        }
    }
}

/// A wrong type for every value.
fn wrong_types(folder: &Folder, good: &str) {
    for line in good.lines() {
        let Some((key, _)) = line.split_once(" = ") else { continue };
        for value in
            ["1", "1.5", "true", "\"\"", "\".\"", "[]", "{}", "[{}]", "1979-05-27", "nan", "-inf"]
        {
            let _ = folder.parse(&good.replacen(line, &format!("{key} = {value}"), 1), &[]);
        }
    }
    for list in ["source", "operator", "sink", "target"] {
        for value in ["1", "\"\"", "[]", "[1]", "[[]]", "[{}, {}]"] {
            let text = format!("{list} = {value}\n{}", good.replace(list, "name"));
            let silent = folder.parse(&text, &[]).is_err_and(|bad| bad.iter().len() == 0);
            assert!(!silent, "it is bad, and nobody says why:\n{text}");
        }
    }
}
