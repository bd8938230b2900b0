//! The flowchart is one that Mermaid can draw: read with a small parser of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{GRAPH, printed};

/// Nodes by id with their label, and ways with their label.
#[derive(Debug, Default)]
struct Chart {
    nodes: BTreeMap<String, String>,
    ways: BTreeSet<(String, String, String)>,
}

/// Reads the part of Mermaid's grammar that is used; whatever else is there fails.
fn parse(text: &str) -> Chart {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("flowchart LR"));
    let mut chart = Chart::default();
    for line in lines {
        let line = line.trim();
        let id_end = line.find(|c: char| !c.is_ascii_alphanumeric()).unwrap();
        let (id, rest) = line.split_at(id_end);
        if let Some(way) = rest.strip_prefix(" --> ").or(rest.strip_prefix(" -.-> ")) {
            chart.ways.insert((id.to_owned(), way.to_owned(), String::new()));
        } else if let Some(way) = rest.strip_prefix(" -->|\"") {
            let (label, to) = way.split_once("\"| ").unwrap();
            chart.ways.insert((id.to_owned(), to.to_owned(), plain(label)));
        } else {
            let shapes = [("[/\"", "\"/]"), ("[(\"", "\")]"), ("{{\"", "\"}}"), ("[\"", "\"]")];
            let label = shapes
                .iter()
                .find_map(|(open, close)| rest.strip_prefix(open)?.strip_suffix(close));
            let label = label.unwrap_or_else(|| panic!("`{line}` is no node"));
            assert!(chart.nodes.insert(id.to_owned(), plain(label)).is_none(), "{id} is twice");
        }
    }
    for (from, to, _) in &chart.ways {
        assert!(chart.nodes.contains_key(from) && chart.nodes.contains_key(to), "{from} -> {to}");
    }
    chart
}

/// A label without its line breaks: it has nothing else that means something to Mermaid.
fn plain(label: &str) -> String {
    let label = label.replace("<br/>", "\n");
    assert!(!label.contains(['"', '<', '>', '`', '\\']), "{label}");
    label
}

impl Chart {
    fn id(&self, stage: &str) -> &str {
        let named = self.nodes.iter().find(|(_, label)| label.lines().next() == Some(stage));
        named.unwrap_or_else(|| panic!("no node for {stage} in {self:?}")).0
    }

    fn has_way(&self, from: &str, to: &str, label: &str) {
        let way = (self.id(from).to_owned(), self.id(to).to_owned(), label.to_owned());
        assert!(self.ways.contains(&way), "{way:?} is not in {self:?}");
    }
}

#[test]
fn all_stages_and_all_ways_are_in_the_flowchart() {
    let chart = parse(&printed(GRAPH, &["--no-load", "--mermaid"]));
    assert_eq!(chart.nodes.len(), 2 + 2 + 2 + 1);
    for (from, to, label) in [
        ("bids", "counts", ""),
        ("people", "join", "as people"),
        ("bids", "join", "as bids"),
        ("counts", "join", "late, as bids"),
        ("join", "joined", ""),
        ("counts", "counted", ""),
        ("join", "counted", "odd"),
        ("join", "here", ""),
    ] {
        chart.has_way(from, to, label);
    }
    assert_eq!(chart.ways.len(), 8);
}

#[test]
fn nothing_in_a_name_or_path_breaks_the_flowchart() {
    let odd = GRAPH
        .replace("bid.auction", "bid.<b>\\\"#;auction")
        .replace("people.ndjson", "end;-->.ndjson")
        .replace("\"counts\"", "\"end\"")
        .replace("counts.late", "end.late");
    let folder = crate::support::folder(&odd);
    std::fs::write(folder.path().join("end;-->.ndjson"), "").unwrap();
    let output = crate::support::check(folder.path(), &["--no-load", "--mermaid"]);
    let chart = parse(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((chart.nodes.len(), chart.ways.len()), (7, 8));
    chart.has_way("end", "join", "late, as bids");
}
