//! A committed result, and how rows differ from it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::digest;
use super::pipeline::benchmark;

/// How many of the rows that differ are shown.
const SHOWN: usize = 10;

/// What `results/QUERY.json` says, and the rows or digests beside it.
#[derive(Debug)]
pub(super) struct Expected {
    /// The columns by which a row replaces another; none: each row stands for itself.
    key: Vec<String>,
    count: usize,
    sha256: String,
    /// All rows, sorted, if they are to be had.
    rows: Option<Vec<String>>,
    /// The digest of each bucket; none where the rows are committed.
    buckets: Vec<String>,
    query: String,
}

#[derive(serde::Deserialize)]
struct Committed {
    key: Vec<String>,
    rows: usize,
    sha256: String,
}

impl Expected {
    /// The result of a query.
    pub(super) fn of(query: &str) -> Self {
        let path =
            |extension: &str| benchmark().join("results").join(format!("{query}.{extension}"));
        let text = fs::read(path("json")).unwrap_or_else(|_| panic!("no result of {query}"));
        let Committed { key, rows: count, sha256 } =
            serde_json::from_slice(&text).expect("a result is JSON");
        let lines = |path: PathBuf| -> Option<Vec<String>> {
            Some(fs::read_to_string(path).ok()?.lines().map(str::to_owned).collect())
        };
        // A run of Flink on this machine leaves all rows here.
        let local = benchmark().join(format!("../../target/flink/results/{query}.rows"));
        let rows = lines(path("rows"))
            .or_else(|| lines(local))
            .filter(|rows| digest::rows(rows) == sha256);
        let buckets = lines(path("buckets")).unwrap_or_default();
        Self { key, count, sha256, rows, buckets, query: query.to_owned() }
    }
}

/// Compares what a pipeline wrote with the result; the error says how it differs.
pub(super) fn check(expected: &Expected, written: &[String]) -> Result<(), String> {
    let found = match expected.key.is_empty() {
        true => sorted(written.to_vec()),
        false => sorted(last_of_each(&expected.key, written)?),
    };
    if digest::rows(&found) == expected.sha256 {
        return Ok(());
    }
    let mut said = format!(
        "{} rows, {} expected{}\n",
        found.len(),
        expected.count,
        match expected.key.is_empty() {
            true => String::new(),
            false => format!(
                "; {} were written, the last of each {:?} counts",
                written.len(),
                expected.key
            ),
        }
    );
    match &expected.rows {
        Some(rows) => show("", &differences(rows, &found), &mut said),
        None => show_buckets(expected, &found, &mut said),
    }
    Err(said)
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

/// The last row of each key.
fn last_of_each(key: &[String], rows: &[String]) -> Result<Vec<String>, String> {
    let mut last = HashMap::new();
    for row in rows {
        let value: Value =
            serde_json::from_str(row).map_err(|error| format!("no JSON: {error}: {row}"))?;
        let columns: Option<Vec<String>> =
            key.iter().map(|name| value.get(name).map(Value::to_string)).collect();
        let columns = columns.ok_or_else(|| format!("the columns {key:?} are not in {row}"))?;
        last.insert(columns, row);
    }
    Ok(last.into_values().cloned().collect())
}

/// Rows that only one of two sorted lists has, with `-` for expected ones and `+` for found ones,
/// in their order.
fn differences<'r>(expected: &'r [String], found: &'r [String]) -> Vec<(char, &'r str)> {
    let (mut left, mut right) = (expected.iter().peekable(), found.iter().peekable());
    let mut differences = Vec::new();
    loop {
        match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if a == b => {
                left.next();
                right.next();
            }
            (Some(a), Some(b)) if a > b => {
                differences.push(('+', b.as_str()));
                right.next();
            }
            (Some(a), _) => {
                differences.push(('-', a.as_str()));
                left.next();
            }
            (None, Some(b)) => {
                differences.push(('+', b.as_str()));
                right.next();
            }
            (None, None) => return differences,
        }
    }
}

fn show(indent: &str, differences: &[(char, &str)], said: &mut String) {
    for (sign, row) in differences.iter().take(SHOWN) {
        let _ = writeln!(said, "{indent}{sign} {row}");
    }
    if differences.len() > SHOWN {
        let _ = writeln!(said, "{indent}... {} differ in all", differences.len());
    }
}

fn show_buckets(expected: &Expected, found: &[String], said: &mut String) {
    let buckets = digest::buckets(found);
    let wrong: Vec<usize> =
        (0..digest::BUCKETS).filter(|&i| expected.buckets.get(i) != buckets.get(i)).collect();
    let _ = writeln!(
        said,
        "only digests are committed; for the rows: cargo xtask flink --query {}\n\
         {} of {} buckets differ",
        expected.query,
        wrong.len(),
        digest::BUCKETS
    );
    for &bucket in wrong.iter().take(2) {
        let _ = writeln!(
            said,
            "bucket {bucket}: `{}` (rows and digest), expected `{}`; it has",
            buckets[bucket],
            expected.buckets.get(bucket).map_or("nothing", String::as_str)
        );
        let rows: Vec<(char, &str)> = found
            .iter()
            .filter(|row| digest::bucket(row) == bucket)
            .map(|row| (' ', row.as_str()))
            .collect();
        show("  ", &rows, said);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&str]) -> Vec<String> {
        rows.iter().map(|row| (*row).to_owned()).collect()
    }

    fn expected(key: &[&str], result: &[&str]) -> Expected {
        let result = rows(result);
        Expected {
            key: rows(key),
            count: result.len(),
            sha256: digest::rows(&result),
            buckets: digest::buckets(&result),
            rows: None,
            query: "q".to_owned(),
        }
    }

    const A1: &str = r#"{"a":1,"b":1}"#;
    const A1_LATER: &str = r#"{"a":1,"b":2}"#;
    const A2: &str = r#"{"a":2,"b":1}"#;

    #[test]
    fn rows_that_stand_for_themselves_count_as_often_as_they_are_written() {
        let expected = expected(&[], &[A1, A1, A2]);
        assert_eq!(check(&expected, &rows(&[A1, A2, A1])), Ok(()));
        assert!(check(&expected, &rows(&[A1, A2])).is_err());
        assert!(check(&expected, &rows(&[A1, A2, A2])).is_err());
    }

    #[test]
    fn of_rows_with_a_key_the_last_counts() {
        let expected = expected(&["a"], &[A1_LATER, A2]);
        assert_eq!(check(&expected, &rows(&[A1, A2, A1_LATER])), Ok(()));
        assert!(check(&expected, &rows(&[A1_LATER, A2, A1])).is_err());
        let error = check(&expected, &rows(&["{}"])).expect_err("they differ");
        assert!(error.contains("are not in {}"), "{error}");
    }

    #[test]
    fn a_difference_is_shown_by_rows_where_there_are_some_and_by_buckets_otherwise() {
        let mut expected = expected(&[], &[A1, A2]);
        let found = rows(&[A1_LATER, A2]);
        let error = check(&expected, &found).expect_err("they differ");
        assert!(error.contains("buckets differ") && error.contains(A1_LATER), "{error}");
        expected.rows = Some(rows(&[A1, A2]));
        let error = check(&expected, &found).expect_err("they differ");
        assert!(error.ends_with(&format!("- {A1}\n+ {A1_LATER}\n")), "{error}");
    }
}
