//! The queries, and what their first lines say of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// A query in a file.
#[derive(Debug)]
pub(super) struct Query {
    /// `q5`.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) engine: Engine,
    /// The name of the events it reads.
    pub(super) data: String,
    /// The columns by which a row replaces another; none: each row stands for itself.
    pub(super) key: Vec<String>,
    pub(super) text: String,
}

/// What runs a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Flink,
    Python,
}

/// The queries of a folder in the order of their numbers, those of the given names only if there
/// are any.
pub(super) fn all(folder: &Path, names: &[String]) -> Result<Vec<Query>> {
    let mut queries = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let engine = match path.extension().and_then(|extension| extension.to_str()) {
            Some("sql") => Engine::Flink,
            Some("py") => Engine::Python,
            _ => continue,
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path)?;
        let query = read(name, path.clone(), engine, text)
            .with_context(|| format!("the first lines of {}", path.display()))?;
        queries.push(query);
    }
    queries.sort_by_key(|query| (number(&query.name), query.name.clone()));
    for name in names {
        if !queries.iter().any(|query| query.name == *name) {
            let known: Vec<&str> = queries.iter().map(|query| query.name.as_str()).collect();
            bail!("no query is called `{name}`; there are: {}", known.join(", "));
        }
    }
    queries.retain(|query| names.is_empty() || names.contains(&query.name));
    Ok(queries)
}

fn number(name: &str) -> u32 {
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(u32::MAX)
}

fn read(name: String, path: PathBuf, engine: Engine, text: String) -> Result<Query> {
    let value = |key: &str| {
        let mark = if engine == Engine::Flink { "--" } else { "#" };
        let prefix = format!("{mark} {key}: ");
        text.lines()
            .find_map(|line| line.strip_prefix(prefix.as_str()))
            .map(|value| value.trim().to_owned())
            .with_context(|| format!("there is no line `{prefix}...`"))
    };
    let data = value("data")?;
    let compare = value("compare")?;
    let key = match compare.strip_prefix("upsert by ") {
        Some(columns) => columns.split(',').map(|column| column.trim().to_owned()).collect(),
        None => {
            ensure!(compare == "append", "`{compare}` is neither `append` nor `upsert by ...`");
            Vec::new()
        }
    };
    Ok(Query { name, path, engine, data, key, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Result<Query> {
        read("q1".to_owned(), PathBuf::new(), Engine::Flink, text.to_owned())
    }

    #[test]
    fn the_first_lines_say_what_is_read_and_how_it_is_compared() {
        let append = query("-- data: main\n-- compare: append\nSELECT").expect("it is whole");
        assert_eq!((append.data.as_str(), append.key.len()), ("main", 0));
        let upsert = query("-- data: days\n-- compare: upsert by channel, day\n").expect("whole");
        assert_eq!(upsert.key, ["channel", "day"]);
    }

    #[test]
    fn a_missing_or_unknown_line_is_named() {
        let error = query("-- data: main").expect_err("it says not how to compare");
        assert!(error.to_string().contains("compare"), "{error}");
        let error = query("-- data: main\n-- compare: by eye").expect_err("nobody can do that");
        assert!(error.to_string().contains("by eye"), "{error}");
    }

    #[test]
    fn every_query_of_the_benchmark_can_be_read() {
        let queries = all(&crate::root().join("bench/nexmark/queries"), &[]).expect("they are");
        assert!(queries.len() >= 20 && queries.is_sorted_by_key(|query| number(&query.name)));
    }
}
