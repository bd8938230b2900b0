//! The targets that operators may burst to.

use std::path::PathBuf;
use std::time::Duration;

use super::error_code::ErrorCode;
use super::problem::Place;
use super::read::Fields;
use super::units::{DAY, GIB, MIB, MILLISECOND, SECOND};

/// A place that work can be sent to.
#[derive(Clone, Debug)]
pub struct TargetDefinition {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: TargetKind,
    /// What it costs.
    pub price: Price,
}

/// What a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// Runner processes on this machine, started as they are needed.
    Process {
        /// The most runners at once.
        max_runners: usize,
        /// Calls that one runner handles at once.
        slots: usize,
        /// After which time without a call a runner is stopped.
        idle: Duration,
        /// The runner's program; absent: `overspill-runner` next to this program, or in `PATH`.
        program: Option<PathBuf>,
    },
    /// A runner behind a URL.
    Http {
        /// The URL.
        url: String,
        /// Where the bearer token is; absent: calls carry none.
        token: Option<TokenSource>,
        /// The most calls under way at once.
        max_in_flight: usize,
        /// The largest message it takes and gives, in bytes.
        max_payload: usize,
    },
}

/// Where a bearer token is. The token itself is never in a pipeline file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// In this environment variable.
    Environment(String),
    /// In this file.
    File(PathBuf),
}

/// What a target costs, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// For each call.
    pub call: f64,
    /// For each second of compute in a call.
    pub compute_second: f64,
}

/// A name, where it was written, and under which key.
type Named = (String, Place, String);

/// Reads a target.
pub(super) fn target(fields: Fields<'_, '_>) -> (TargetDefinition, Named) {
    if !fields.has("name") {
        fields.missing("name", "give the target a name, such as name = \"here\"");
    }
    let name = fields.name(&fields.path);
    let named = (name.clone(), fields.place_of("name"), fields.key("name"));
    if !fields.has("kind") {
        fields.missing("kind", "it can be \"process\", \"http\"");
    }
    let process = |fields: &Fields<'_, '_>| TargetKind::Process {
        max_runners: fields.count("max_runners", 1..=1_024).unwrap_or(2),
        slots: fields.count("slots", 1..=1_024).unwrap_or(2),
        idle: fields.duration("idle", MILLISECOND..=DAY).unwrap_or(5 * SECOND),
        program: fields.existing_file("program"),
    };
    let kind = fields.choice("kind", &[("process", 0), ("http", 1)]);
    let kind = match kind {
        Some(1) => http(&fields),
        _ => process(&fields),
    };
    let price = fields.table("price").map_or(Price::default(), |fields| {
        let dollars = |key| fields.number(key, 0.0..=1e6, "US dollars").unwrap_or_default();
        let price = Price { call: dollars("call"), compute_second: dollars("compute_second") };
        fields.finish();
        price
    });
    if fields.has("kind") {
        fields.finish();
    }
    (TargetDefinition { name, kind, price }, named)
}

fn http(fields: &Fields<'_, '_>) -> TargetKind {
    let url = fields.string("url").unwrap_or_default();
    if !fields.has("url") {
        fields.missing("url", "give the runner's URL, such as url = \"http://127.0.0.1:8080\"");
    } else if !(url.starts_with("http://") || url.starts_with("https://")) {
        fields.report(
            ErrorCode::BAD_VALUE,
            "url",
            format!("\"{url}\" is no URL of a runner"),
            "it begins with https:// or http://",
        );
    }
    let token = match (fields.string("token_env"), fields.existing_file("token_file")) {
        (Some(_), Some(_)) => {
            fields.report(
                ErrorCode::BAD_VALUE,
                "token_env",
                "the token is said to be in two places",
                "give either `token_env` or `token_file`",
            );
            None
        }
        (Some(variable), None) => Some(TokenSource::Environment(variable)),
        (None, file) => file.map(TokenSource::File),
    };
    TargetKind::Http {
        url,
        token,
        max_in_flight: fields.count("max_in_flight", 1..=100_000).unwrap_or(64),
        max_payload: fields.bytes("max_payload", 64 << 10..=GIB).unwrap_or((64 * MIB) as usize),
    }
}
