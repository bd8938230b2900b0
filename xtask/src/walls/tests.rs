//! The checker sees a breach of every wall: a test a rule, and one that counts them.

use std::fs;

use super::*;

/// A crate of `package` that stands two steps from a forbidden one.
fn graph(package: &str, forbidden: &str) -> Graph {
    let mut graph = Graph::default();
    graph.add(package, "harmless");
    graph.add("harmless", forbidden);
    graph.add(forbidden, "further-down");
    graph
}

/// For each wall, something that goes through it.
fn breach(wall: &Wall) -> &'static str {
    match wall.name {
        "wit stands alone" => "package a:b; world w { import wasi:clocks/wall-clock@0.2.0; }",
        "protocol without engine or network" => "tokio-util",
        "protocol opens no socket" => "use std::net::TcpStream;",
        "operator-runtime without network or host" => "socket2",
        "operator-runtime opens no socket" => "use std::{fmt, net};\nfn f(x: net::TcpListener) {}",
        "runner without host" => "overspill",
        "host without the runner's doors" => "overspill-runner",
        "burst without clock or I/O" => "use std::time;\nfn f() { time::Instant::now(); }",
        "state without clock or network" => "fn f(now: std::time::SystemTime) {}",
        "pipeline without clouds" => "fn f(x: aws_sdk_lambda::Client) {}",
        "pipeline reaches burst in one place" => "use super::super::burst::Core;",
        "guests know only the contract" => "overspill-protocol",
        other => panic!("no breach is written for the wall \"{other}\": add one"),
    }
}

#[test]
fn a_breach_of_each_wall_is_seen() {
    for wall in WALLS {
        let text = breach(wall);
        let ways = match &wall.rule {
            Rule::Crates { package, never } => {
                crate_ways(&graph(package, text), package, never).expect("the crate is there")
            }
            Rule::Guests { never, .. } => guest_ways(&graph("tokenizer", text), never),
            Rule::OnlyWit { folder } => {
                let root = tempfile::tempdir().expect("a folder");
                fs::create_dir(root.path().join(folder)).expect("a folder");
                fs::write(root.path().join(folder).join("w.wit"), text).expect("a file");
                source_ways(root.path(), &wall.rule).expect("it can be read")
            }
            Rule::Paths { folder, .. } | Rule::OnePlace { folder, .. } => {
                let root = tempfile::tempdir().expect("a folder");
                let folder = root.path().join(folder);
                fs::create_dir_all(&folder).expect("a folder");
                fs::write(folder.join("innocent.rs"), "fn f() {}").expect("a file");
                fs::write(folder.join("guilty.rs"), text).expect("a file");
                let ways = source_ways(root.path(), &wall.rule).expect("it can be read");
                assert!(ways.iter().all(|way| way.contains("guilty.rs:")), "{ways:?}");
                ways
            }
        };
        assert!(!ways.is_empty(), "the breach of \"{}\" was not seen", wall.name);
    }
}

#[test]
fn the_way_through_other_crates_is_shown() {
    let ways = crate_ways(
        &graph("overspill-protocol", "tokio"),
        "overspill-protocol",
        &[Crates::Family("tokio")],
    )
    .expect("the crate is there");
    assert_eq!(ways, ["overspill-protocol -> harmless -> tokio"]);
}

#[test]
fn a_crate_that_is_gone_is_an_error_not_a_pass() {
    let gone = crate_ways(&Graph::default(), "overspill-protocol", &[Crates::Network]);
    assert!(gone.is_err());
}

#[test]
fn a_name_that_only_starts_like_a_forbidden_one_is_let_through() {
    assert!(Crates::Family("tokio").contain("tokio-util"));
    assert!(!Crates::Family("tokio").contain("tokiox"));
    assert!(!Crates::Network.contain("axum2"));
    assert!(!Crates::Named("overspill").contain("overspill-protocol"));
}

#[test]
fn the_one_place_may_cross() {
    let wall = WALLS
        .iter()
        .find(|wall| matches!(wall.rule, Rule::OnePlace { .. }))
        .expect("there is such a wall");
    let Rule::OnePlace { place, .. } = wall.rule else { unreachable!() };
    let root = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(root.path().join(place)).expect("a folder");
    fs::write(root.path().join(place).join("driver.rs"), "use crate::burst::Core;")
        .expect("a file");
    let ways = source_ways(root.path(), &wall.rule).expect("it can be read");
    assert!(ways.is_empty(), "{ways:?}");
}

#[test]
fn files_for_tests_only_are_left_out() {
    let root = tempfile::tempdir().expect("a folder");
    let burst = root.path().join("host/src/burst");
    fs::create_dir_all(&burst).expect("a folder");
    fs::write(burst.join("queue.rs"), "#[cfg(test)] mod tests;").expect("a file");
    fs::create_dir(burst.join("queue")).expect("a folder");
    fs::write(burst.join("queue/tests.rs"), "use std::time::Instant;").expect("a file");
    let wall = WALLS.iter().find(|wall| wall.name.starts_with("burst")).expect("it is there");
    assert!(source_ways(root.path(), &wall.rule).expect("it can be read").is_empty());
}
