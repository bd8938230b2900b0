//! The walls between the rooms of this repository: what each room never uses, checked against
//! what cargo resolved and what the sources name.
//!
//! The sentences are those of the architecture. A wall that falls is named with the way through it.

mod graph;
mod source;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use wit_parser::Resolve;

use graph::Graph;

/// Something that a room never uses.
#[derive(Debug)]
pub struct Wall {
    /// The name that a failing check shows.
    pub name: &'static str,
    /// What the architecture says.
    pub sentence: &'static str,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    /// A crate uses none of these, nor through other crates.
    Crates { package: &'static str, never: &'static [Crates] },
    /// No guest uses a crate of the host's workspace.
    Guests { folder: &'static str, never: &'static [Crates] },
    /// The sources in a folder don't name these paths.
    Paths { folder: &'static str, never: &'static [&'static str] },
    /// In a folder, only `place` names these paths.
    OnePlace { folder: &'static str, place: &'static str, paths: &'static [&'static str] },
    /// The folder's WIT package stands alone.
    OnlyWit { folder: &'static str },
}

/// Kinds of crates.
#[derive(Clone, Copy, Debug)]
enum Crates {
    Named(&'static str),
    /// Named so, or a part of it: `wasmtime-environ`.
    Family(&'static str),
    Network,
    Cloud,
}

impl Crates {
    fn contain(self, name: &str) -> bool {
        let family = |stem: &str| {
            name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        match self {
            Self::Named(wanted) => name == wanted,
            Self::Family(stem) => family(stem),
            Self::Network => NETWORK.iter().any(|stem| family(stem)) || Self::Cloud.contain(name),
            Self::Cloud => CLOUD.iter().any(|stem| family(stem)),
        }
    }
}

/// Crates that open sockets, with their families.
const NETWORK: &[&str] = &[
    "actix",
    "async-net",
    "async-std",
    "axum",
    "curl",
    "grpcio",
    "h2",
    "h3",
    "hickory",
    "hyper",
    "isahc",
    "mio",
    "native-tls",
    "openssl",
    "quinn",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "tokio-rustls",
    "tonic",
    "tungstenite",
    "ureq",
    "warp",
];

/// The clouds' own libraries, with their families.
const CLOUD: &[&str] = &[
    "aws",
    "azure",
    "azure_core",
    "azure_identity",
    "azure_storage",
    "gcloud",
    "google-cloud",
    "lambda_http",
    "lambda_runtime",
    "rusoto",
];

/// All walls.
pub const WALLS: &[Wall] = &[
    Wall {
        name: "wit stands alone",
        sentence: "wit/ uses nothing",
        rule: Rule::OnlyWit { folder: "wit" },
    },
    Wall {
        name: "protocol without engine or network",
        sentence: "protocol/ never uses wasmtime, tokio, any network crate",
        rule: Rule::Crates {
            package: "overspill-protocol",
            never: &[
                Crates::Family("wasmtime"),
                Crates::Family("tokio"),
                Crates::Network,
                Crates::Named("overspill"),
            ],
        },
    },
    Wall {
        name: "protocol opens no socket",
        sentence: "protocol/ never uses wasmtime, tokio, any network crate",
        rule: Rule::Paths { folder: "protocol/src", never: &["std::net", "std::os::unix::net"] },
    },
    Wall {
        name: "operator-runtime without network or host",
        sentence: "operator-runtime/ never uses any network crate, `host`",
        rule: Rule::Crates {
            package: "overspill-operator-runtime",
            never: &[
                Crates::Network,
                Crates::Named("overspill"),
                Crates::Named("overspill-runner"),
            ],
        },
    },
    Wall {
        name: "operator-runtime opens no socket",
        sentence: "operator-runtime/ never uses any network crate, `host`",
        rule: Rule::Paths {
            folder: "operator-runtime/src",
            never: &["std::net", "std::os::unix::net"],
        },
    },
    Wall {
        name: "runner without host",
        sentence: "lambda-wasm-runner/ never uses `host`",
        rule: Rule::Crates { package: "overspill-runner", never: &[Crates::Named("overspill")] },
    },
    Wall {
        name: "host without the runner's doors",
        sentence: "host/ may use all of the above but the runner's doors",
        rule: Rule::Crates { package: "overspill", never: &[Crates::Named("overspill-runner")] },
    },
    Wall {
        name: "burst without clock or I/O",
        sentence: "host/src/burst/ never uses clock, sockets, files: time and observations come \
                   in as arguments",
        rule: Rule::Paths {
            folder: "host/src/burst",
            never: &[
                "std::time::Instant",
                "std::time::SystemTime",
                "std::time::UNIX_EPOCH",
                "chrono",
                "time",
                "tokio",
                "futures",
                "std::net",
                "std::os",
                "hyper",
                "reqwest",
                "axum",
                "socket2",
                "mio",
                "std::fs",
                "std::io",
                "std::env",
                "std::process",
                "tempfile",
                "rustix",
                "libc",
                "std::thread",
                "std::sync::mpsc",
                "crossbeam_channel",
                "crate::pipeline",
                "crate::target",
            ],
        },
    },
    Wall {
        name: "state without clock or network",
        sentence: "host/src/state/ never uses a clock, sockets, `burst`, `pipeline`, `target`: time \
                   comes in as an argument",
        rule: Rule::Paths {
            folder: "host/src/state",
            never: &[
                "std::time::Instant",
                "std::time::SystemTime",
                "std::time::UNIX_EPOCH",
                "chrono",
                "time",
                "tokio",
                "std::net",
                "std::os::unix::net",
                "std::process",
                "hyper",
                "reqwest",
                "socket2",
                "crate::burst",
                "crate::pipeline",
                "crate::target",
            ],
        },
    },
    Wall {
        name: "pipeline without clouds",
        sentence: "host/src/pipeline/ never uses any cloud SDK",
        rule: Rule::Paths {
            folder: "host/src/pipeline",
            never: &[
                "aws_config",
                "aws_sdk_lambda",
                "aws_sdk_s3",
                "aws_sdk_sts",
                "aws_smithy_runtime",
                "azure_core",
                "azure_identity",
                "lambda_runtime",
                "reqwest",
                "hyper",
                "hyper_util",
                "h2",
                "std::net::TcpStream",
            ],
        },
    },
    Wall {
        name: "pipeline reaches burst in one place",
        sentence: "host/src/pipeline/ uses `burst` through one small trait",
        rule: Rule::OnePlace {
            folder: "host/src/pipeline",
            place: "host/src/pipeline/engine",
            // Words such as `Time` are for everyone; what turns the machines is not.
            paths: &[
                "crate::burst::Core",
                "crate::burst::Action",
                "crate::burst::Event",
                "crate::burst::Outcome",
                "crate::burst::AttemptId",
            ],
        },
    },
    Wall {
        name: "guests know only the contract",
        sentence: "guest-operators/ may use `wit`",
        rule: Rule::Guests {
            folder: "guest-operators",
            never: &[
                Crates::Named("overspill"),
                Crates::Named("overspill-protocol"),
                Crates::Named("overspill-operator-runtime"),
                Crates::Named("overspill-runner"),
                Crates::Named("overspill-bench"),
                Crates::Named("xtask"),
                Crates::Family("wasmtime"),
            ],
        },
    },
];

/// A way through a wall.
#[derive(Debug)]
pub struct Breach {
    /// Which wall.
    pub wall: &'static Wall,
    /// Where it is crossed.
    pub way: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wall, way } = self;
        write!(f, "wall \"{}\" is broken: {way}\n    ({})", wall.name, wall.sentence)
    }
}

/// Checks every wall of the repository in `root`.
///
/// # Errors
/// When something can't be read; a broken wall is a [`Breach`], not an error.
pub fn check(root: &Path) -> Result<Vec<Breach>> {
    let host = Graph::read(root)?;
    let mut breaches = Vec::new();
    for wall in WALLS {
        let ways = match &wall.rule {
            Rule::Guests { folder, never } => {
                let guests = Graph::read(&root.join(folder))?;
                guest_ways(&guests, never)
            }
            Rule::Crates { package, never } => crate_ways(&host, package, never)?,
            rule => source_ways(root, rule)?,
        };
        breaches.extend(ways.into_iter().map(|way| Breach { wall, way }));
    }
    Ok(breaches)
}

fn crate_ways(graph: &Graph, package: &str, never: &[Crates]) -> Result<Vec<String>> {
    anyhow::ensure!(graph.has(package), "the workspace has no crate `{package}`");
    let way = graph.way(package, |name| never.iter().any(|crates| crates.contain(name)));
    Ok(way.map(|way| way.join(" -> ")).into_iter().collect())
}

fn guest_ways(graph: &Graph, never: &[Crates]) -> Vec<String> {
    let forbidden = |name: &str| never.iter().any(|crates| crates.contain(name));
    graph
        .packages()
        .filter_map(|package| graph.way(package, forbidden))
        .map(|way| way.join(" -> "))
        .collect()
}

/// The ways through walls that are drawn in sources.
fn source_ways(root: &Path, rule: &Rule) -> Result<Vec<String>> {
    let mut ways = Vec::new();
    let (folder, place, never) = match rule {
        Rule::OnlyWit { folder } => return foreign_wit(&root.join(folder)),
        Rule::Paths { folder, never } => (folder, None, *never),
        Rule::OnePlace { folder, place, paths } => (folder, Some(root.join(place)), *paths),
        Rule::Crates { .. } | Rule::Guests { .. } => return Ok(ways),
    };
    let folder = root.join(folder);
    let crate_root = folder
        .ancestors()
        .find(|parent| parent.ends_with("src"))
        .with_context(|| format!("{} is in no crate", folder.display()))?;
    let sources = source::read_folder(crate_root, &folder)?;
    anyhow::ensure!(!sources.is_empty(), "{} holds no source", folder.display());
    for (file, source) in sources {
        let in_place = place
            .as_ref()
            .is_some_and(|place| file.starts_with(place) || file == place.with_extension("rs"));
        if in_place {
            continue;
        }
        let file = file.strip_prefix(root).unwrap_or(&file);
        let mut seen = BTreeSet::new();
        for mention in source.mentions {
            // One line a path and file is enough to find the rest.
            let new = seen.insert(mention.path.clone());
            if new && never.iter().any(|path| mention.reaches(path)) {
                let glob = if mention.glob { "::*" } else { "" };
                let path = mention.path.join("::");
                ways.push(format!("{}:{} names {path}{glob}", file.display(), mention.line));
            }
        }
    }
    Ok(ways)
}

/// WIT packages other than the folder's own, and files that are no WIT.
fn foreign_wit(folder: &Path) -> Result<Vec<String>> {
    let mut ways = Vec::new();
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("can't list {}", folder.display()))?
    {
        let path = entry?.path();
        let fits = path.is_file()
            && path.extension().is_some_and(|extension| extension == "wit" || extension == "lock");
        if !fits {
            ways.push(format!("{} is no WIT file", path.display()));
        }
    }
    let mut resolve = Resolve::default();
    match resolve.push_dir(folder) {
        Err(error) => ways.push(format!("it doesn't stand alone: {error:#}")),
        Ok((own, _)) => ways.extend(
            resolve
                .packages
                .iter()
                .filter(|(id, _)| *id != own)
                .map(|(_, package)| format!("it uses the package {}", package.name)),
        ),
    }
    Ok(ways)
}

#[cfg(test)]
mod tests;
