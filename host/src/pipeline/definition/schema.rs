//! Which keys a pipeline file has, with their types, ranges and defaults.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use super::chain::{self, Stage};
use super::error_code::ErrorCode;
use super::problem::Problem;
use super::read::{Fields, Reader, suggest};
use super::tree::{Node, Value};
use super::{
    BatchDefinition, BurstDefinition, CallLimits, Input, NexmarkEvents, Offload,
    OperatorDefinition, Order, Pipeline, Price, QueueDefinition, RecordFormat, SinkDefinition,
    SinkKind, SourceDefinition, SourceKind, TargetDefinition, TargetKind, TokenSource,
};
use crate::pipeline::source::rate::{RateProfile, Sine, Spike, Step};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Records per second.
const MAX_RATE: f64 = 1e9;

/// Reads a whole file. What is returned is whole only when `problems` is empty.
pub(super) fn pipeline(
    file: &Path,
    root: &Node,
    problems: Vec<Problem>,
) -> Result<Pipeline, Vec<Problem>> {
    let reader = Reader::new(file, problems);
    let pipeline = read(&reader, file, root);
    let problems = reader.into_problems();
    match pipeline {
        Some(pipeline) if problems.is_empty() => Ok(pipeline),
        _ => Err(problems),
    }
}

fn read(reader: &Reader<'_>, file: &Path, root: &Node) -> Option<Pipeline> {
    let Value::Table(table) = &root.value else { return None };
    let top = Fields::new(reader, "", root.place, table);
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = top.string("name").or(stem).unwrap_or_default();
    let targets: Vec<_> = top.tables("target").into_iter().map(target).collect();
    chain::unique(
        reader,
        "target",
        &targets.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>(),
    );
    let targets: Vec<TargetDefinition> = targets.into_iter().map(|(target, _)| target).collect();

    let source = top.table("source").map(source);
    if source.is_none() && !top.has("source") {
        top.missing("source", "a pipeline has a [source], such as kind = \"lines\", path = \"-\"");
    }
    let mut stages: Vec<Stage> = source.iter().map(|(_, stage)| stage.clone()).collect();
    let mut operators = Vec::new();
    for fields in top.tables("operator") {
        let before = stages.last().map(|stage| stage.name.clone());
        let (operator, stage) = operator(fields, before, &targets);
        operators.push(operator);
        stages.push(stage);
    }
    let before = stages.last().map(|stage| stage.name.clone());
    let sink = top.table("sink").map(|fields| sink(fields, before));
    if sink.is_none() && !top.has("sink") {
        top.missing("sink", "a pipeline has a [sink], such as kind = \"stdout\"");
    }
    stages.extend(sink.iter().map(|(_, stage)| stage.clone()));

    let dead_letters = top.table("dead_letters").and_then(|fields| {
        let path = fields.new_file("path");
        if !fields.has("path") {
            fields
                .missing("path", "give the file for the rejected records, path = \"dead.ndjson\"");
        }
        fields.finish();
        path
    });
    let metrics = top.table("metrics").and_then(metrics);
    top.finish();

    let (source, sink) = (source?.0?, sink?.0?);
    let names: Vec<_> = stages
        .iter()
        .map(|stage| (stage.name.clone(), stage.name_place, stage.key.clone()))
        .collect();
    if !chain::unique(reader, "stage", &names) {
        return None;
    }
    // An operator that couldn't be read would show up as a hole in the chain.
    let operators = operators.into_iter().collect::<Option<Vec<_>>>()?;
    let operators = chain::order(reader, &stages, operators)?;
    Some(Pipeline {
        name,
        file: file.to_owned(),
        source,
        operators,
        targets,
        sink,
        dead_letters,
        metrics,
    })
}

fn source(fields: Fields<'_, '_>) -> (Option<SourceDefinition>, Stage) {
    let name = name(&fields, "source");
    let stage = Stage::new(&fields, &name, None);
    if !fields.has("kind") {
        fields.missing("kind", "it can be \"lines\", \"ndjson\", \"nexmark\"");
    }
    let kind = fields.choice("kind", &[("lines", 0), ("ndjson", 1), ("nexmark", 2)]);
    let kind = kind.and_then(|kind| match kind {
        0 => Some(SourceKind::Lines { input: input(&fields)?, repeat: repeat(&fields) }),
        1 => Some(SourceKind::Ndjson {
            input: input(&fields)?,
            repeat: repeat(&fields),
            key_field: fields.string("key_field"),
            time_field: fields.string("time_field"),
        }),
        _ => Some(SourceKind::Nexmark {
            events: fields.integer("events", 0..=i64::MAX as u64),
            only: fields
                .choice(
                    "only",
                    &[
                        ("all", NexmarkEvents::All),
                        ("person", NexmarkEvents::Person),
                        ("auction", NexmarkEvents::Auction),
                        ("bid", NexmarkEvents::Bid),
                    ],
                )
                .unwrap_or(NexmarkEvents::All),
            seed: fields.integer("seed", 0..=i64::MAX as u64).unwrap_or(0),
            event_time_rate: fields.integer("event_time_rate", 1..=1_000_000).unwrap_or(10_000),
        }),
    });
    let rate = rate(&fields);
    let duration = fields.duration("duration", MILLISECOND..=YEAR);
    let batch = batch(&fields);
    if kind.is_none() {
        // Which keys are right depends on the kind: don't call them unknown.
        return (None, stage);
    }
    fields.finish();
    (kind.map(|kind| SourceDefinition { name, kind, rate, duration, batch }), stage)
}

fn name(fields: &Fields<'_, '_>, default: &str) -> String {
    let Some(name) = fields.string("name") else { return default.to_owned() };
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(allowed) {
        fields.report(
            ErrorCode::BAD_VALUE,
            "name",
            format!("\"{name}\" is no name"),
            "a name has letters, digits, hyphens and underscores, such as \"tokenizer-1\"",
        );
    }
    name
}

fn input(fields: &Fields<'_, '_>) -> Option<Input> {
    if !fields.has("path") {
        fields.missing("path", "give the file to read, or \"-\" for standard input");
        // Ask for the rest all the same, so that it isn't called unknown.
    }
    // `existing_file` would look for a file that is called `-`.
    if let Some(Value::String(path)) = fields.any("path")
        && path == "-"
    {
        return Some(Input::Stdin);
    }
    fields.existing_file("path").map(Input::File)
}

fn repeat(fields: &Fields<'_, '_>) -> u64 {
    let repeat = fields.integer("repeat", 1..=1_000_000_000).unwrap_or(1);
    if repeat > 1 && matches!(fields.any("path"), Some(Value::String(path)) if path == "-") {
        fields.report(
            ErrorCode::BAD_VALUE,
            "repeat",
            "standard input can be read only once",
            "leave `repeat` out, or give the path of a file",
        );
    }
    repeat
}

fn rate(fields: &Fields<'_, '_>) -> Option<RateProfile> {
    // A bare number is a constant rate.
    if let Some(Value::Integer(_) | Value::Float(_)) = fields.any("rate") {
        return positive_rate(fields, "rate").map(RateProfile::constant);
    }
    let rate = fields.table("rate")?;
    let base = rate.number("base", 0.0..=MAX_RATE, "records per second");
    if !rate.has("base") {
        rate.missing("base", "give the records per second, such as base = 60_000");
    }
    let time = |fields: &Fields<'_, '_>, key: &'static str, right: &str| {
        if !fields.has(key) {
            fields.missing(key, right);
        }
        fields.duration(key, Duration::ZERO..=YEAR)
    };
    let level = |fields: &Fields<'_, '_>| {
        if !fields.has("rate") {
            fields.missing("rate", "give the records per second, such as rate = 330_000");
        }
        fields.number("rate", 0.0..=MAX_RATE, "records per second")
    };
    let at = "give the time from the start of the run, such as at = \"10s\"";
    let step = |fields: Fields<'_, '_>| {
        let step = time(&fields, "at", at).zip(level(&fields));
        fields.finish();
        step.map(|(at, rate)| Step { at, rate })
    };
    let mut steps: Vec<Step> = rate.tables("steps").into_iter().filter_map(step).collect();
    steps.sort_by_key(|step| step.at);
    let spike = |fields: Fields<'_, '_>| {
        let length = "give how long it lasts, such as for = \"20s\"";
        let spike = time(&fields, "at", at).zip(level(&fields)).zip(time(&fields, "for", length));
        fields.finish();
        spike.map(|((at, rate), duration)| Spike { at, rate, duration })
    };
    let mut spikes: Vec<Spike> = rate.tables("spikes").into_iter().filter_map(spike).collect();
    spikes.sort_by_key(|spike| spike.at);
    for pair in spikes.windows(2) {
        if pair[0].at + pair[0].duration > pair[1].at {
            rate.report(
                ErrorCode::BAD_VALUE,
                "spikes",
                format!("the spike at {:?} lasts into the one at {:?}", pair[0].at, pair[1].at),
                "let a spike end before the next one begins",
            );
        }
    }
    let sine = rate.table("sine").and_then(|sine| sine_of(sine, base, &steps));
    rate.finish();
    Some(RateProfile { base: base?, steps, sine, spikes })
}

fn sine_of(fields: Fields<'_, '_>, base: Option<f64>, steps: &[Step]) -> Option<Sine> {
    for (key, right) in [
        ("amplitude", "give the records per second that the rate swings up and down"),
        ("period", "give the time that one swing takes, such as period = \"60s\""),
    ] {
        if !fields.has(key) {
            fields.missing(key, right);
        }
    }
    let amplitude = fields.number("amplitude", 0.0..=MAX_RATE, "records per second");
    let period = fields.duration("period", MILLISECOND..=YEAR);
    let lowest = steps.iter().map(|step| step.rate).fold(base.unwrap_or(MAX_RATE), f64::min);
    if let Some(amplitude) = amplitude.filter(|amplitude| *amplitude > lowest) {
        fields.report(
            ErrorCode::BAD_VALUE,
            "amplitude",
            format!("a swing of {amplitude} would take the rate below zero"),
            format!("it can be at most the lowest rate it swings around, {lowest}"),
        );
    }
    fields.finish();
    amplitude.zip(period).map(|(amplitude, period)| Sine { amplitude, period })
}

fn positive_rate(fields: &Fields<'_, '_>, key: &'static str) -> Option<f64> {
    fields.number(key, 0.001..=MAX_RATE, "records per second")
}

fn batch(fields: &Fields<'_, '_>) -> BatchDefinition {
    let mut batch = BatchDefinition { records: 1_024, linger: Duration::from_millis(5) };
    if let Some(fields) = fields.table("batch") {
        batch.records = fields.count("records", 1..=1_000_000).unwrap_or(batch.records);
        batch.linger =
            fields.duration("linger", Duration::ZERO..=60 * SECOND).unwrap_or(batch.linger);
        fields.finish();
    }
    batch
}

fn operator(
    fields: Fields<'_, '_>,
    before: Option<String>,
    targets: &[TargetDefinition],
) -> (Option<OperatorDefinition>, Stage) {
    if !fields.has("name") {
        fields.missing("name", "give the operator a name, such as name = \"tokenizer\"");
    }
    let name = name(&fields, &fields.path);
    let input = fields.string("input").or(before).unwrap_or_default();
    let stage = Stage::new(&fields, &name, Some(input.clone()));
    if !fields.has("component") {
        fields.reader.report(
            ErrorCode::NO_COMPONENT,
            fields.place,
            &fields.key("component"),
            format!("the operator \"{name}\" has no component"),
            "give the file of a component, such as component = \"tokenizer.wasm\"",
        );
    }
    let component = fields.existing_file("component");
    let queue = QueueDefinition { records: 1_000_000, bytes: 256 << 20 };
    let limits = CallLimits { deadline: 10 * SECOND, memory: 256 << 20, output: 64 << 20 };
    let definition = OperatorDefinition {
        name,
        component: component.clone().unwrap_or_default(),
        input,
        settings: fields.settings("settings"),
        lanes: fields.count("lanes", 1..=1_024).unwrap_or(1),
        max_rate_per_lane: positive_rate(&fields, "max_rate_per_lane"),
        queue: fields.table("queue").map_or(queue, |fields| {
            let queue = QueueDefinition {
                records: fields.count("records", 1..=1_000_000_000).unwrap_or(queue.records),
                bytes: fields.bytes("bytes", 1_024..=1024 * GIB).unwrap_or(queue.bytes),
            };
            fields.finish();
            queue
        }),
        limits: fields.table("limits").map_or(limits, |fields| {
            let limits = CallLimits {
                deadline: fields.duration("deadline", MILLISECOND..=DAY).unwrap_or(limits.deadline),
                memory: fields.bytes("memory", 64 << 10..=4 * GIB).unwrap_or(limits.memory),
                output: fields.bytes("output", 1_024..=2 * GIB - 1).unwrap_or(limits.output),
            };
            fields.finish();
            limits
        }),
        order: fields.choice("order", &[("total", Order::Total)]).unwrap_or(Order::Total),
        burst: fields.table("burst").map(|fields| burst(fields, targets)),
    };
    fields.finish();
    (component.map(|_| definition), stage)
}

fn burst(fields: Fields<'_, '_>, targets: &[TargetDefinition]) -> BurstDefinition {
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    let mut chosen = Vec::new();
    for (name, place) in fields.strings("targets").unwrap_or_default() {
        match names.iter().position(|known| *known == name) {
            Some(index) => chosen.push(index),
            None => fields.reader.report(
                ErrorCode::UNKNOWN_NAME,
                place,
                &fields.key("targets"),
                format!("there is no target \"{name}\""),
                match names.is_empty() {
                    true => format!("add a [[target]] with name = \"{name}\""),
                    false => suggest(&name, &names, "\"", "the targets are"),
                },
            ),
        }
    }
    let offload = offload(&fields).unwrap_or(Offload::Auto);
    if !fields.has("targets") {
        fields.missing("targets", "name the targets to burst to, such as targets = [\"here\"]");
    }
    let latency_target =
        fields.duration("latency_target", MILLISECOND..=DAY).unwrap_or(Duration::from_millis(50));
    fields.finish();
    BurstDefinition { targets: chosen, latency_target, offload }
}

fn offload(fields: &Fields<'_, '_>) -> Option<Offload> {
    match fields.any("offload")? {
        Value::Integer(_) | Value::Float(_) => {
            fields.number("offload", 0.0..=1.0, "(the share of the batches)").map(Offload::Share)
        }
        Value::String(_) => fields.choice(
            "offload",
            &[("auto", Offload::Auto), ("never", Offload::Never), ("always", Offload::Always)],
        ),
        other => {
            fields.report(
                ErrorCode::WRONG_TYPE,
                "offload",
                format!("expected a word or a number, found {}", other.kind()),
                "it can be \"auto\", \"never\", \"always\", or a share from 0 to 1",
            );
            None
        }
    }
}

type Named = (String, super::problem::Place, String);

fn target(fields: Fields<'_, '_>) -> (TargetDefinition, Named) {
    if !fields.has("name") {
        fields.missing("name", "give the target a name, such as name = \"here\"");
    }
    let name = name(&fields, &fields.path);
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

fn sink(fields: Fields<'_, '_>, before: Option<String>) -> (Option<SinkDefinition>, Stage) {
    let name = name(&fields, "sink");
    let input = fields.string("input").or(before).unwrap_or_default();
    let stage = Stage::new(&fields, &name, Some(input.clone()));
    if !fields.has("kind") {
        fields.missing("kind", "it can be \"file\", \"stdout\", \"count\"");
    }
    let format = |fields: &Fields<'_, '_>| {
        let formats = [("lines", RecordFormat::Lines), ("ndjson", RecordFormat::Ndjson)];
        fields.choice("format", &formats).unwrap_or(RecordFormat::Lines)
    };
    let kind = match fields.choice("kind", &[("file", 0), ("stdout", 1), ("count", 2)]) {
        None => return (None, stage),
        Some(0) => {
            if !fields.has("path") {
                fields.missing("path", "give the file to write, such as path = \"words.txt\"");
            }
            let format = format(&fields);
            fields.new_file("path").map(|path| SinkKind::File { path, format })
        }
        Some(1) => Some(SinkKind::Stdout { format: format(&fields) }),
        Some(_) => Some(SinkKind::Count),
    };
    fields.finish();
    (kind.map(|kind| SinkDefinition { name, kind, input }), stage)
}

fn metrics(fields: Fields<'_, '_>) -> Option<SocketAddr> {
    let listen = fields.string("listen");
    if !fields.has("listen") {
        fields.missing("listen", "give the address, such as listen = \"127.0.0.1:9464\"");
    }
    let address = listen.and_then(|listen| {
        let address = listen_address(&listen);
        if address.is_none() {
            fields.report(
                ErrorCode::BAD_VALUE,
                "listen",
                format!("\"{listen}\" is no address"),
                "give an IP address and a port, such as \"127.0.0.1:9464\", or a port alone",
            );
        }
        address
    });
    fields.finish();
    address
}

/// An address to listen at. A port alone means this machine only: whoever wants to be reached
/// from elsewhere says so.
pub fn listen_address(text: &str) -> Option<SocketAddr> {
    let port = text.strip_prefix(':').unwrap_or(text);
    match port.parse::<u16>() {
        Ok(port) => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        Err(_) => text.parse().ok(),
    }
}
