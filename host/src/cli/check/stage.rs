//! What single stages are, in a few words.

use overspill::pipeline::definition::{
    BurstDefinition, Edge, Input, InputDefinition, NexmarkEvents, Offload, OperatorDefinition,
    Pipeline, ReaderId, RecordFormat, SinkDefinition, SinkKind, SourceDefinition, SourceKind,
    StateDefinition, TargetDefinition, TargetKind, duration_text,
};
use overspill::pipeline::summary::size;

/// What a source reads.
pub(super) fn source_kind(source: &SourceDefinition) -> String {
    let from = |input: &Input| match input {
        Input::File(path) => path.display().to_string(),
        Input::Stdin => "standard input".to_owned(),
    };
    match &source.kind {
        SourceKind::Lines { input, .. } => format!("lines of {}", from(input)),
        SourceKind::Ndjson { input, .. } => format!("JSON lines of {}", from(input)),
        SourceKind::Nexmark { only, .. } => match only {
            NexmarkEvents::All => "Nexmark events".to_owned(),
            NexmarkEvents::Person => "Nexmark people".to_owned(),
            NexmarkEvents::Auction => "Nexmark auctions".to_owned(),
            NexmarkEvents::Bid => "Nexmark bids".to_owned(),
        },
        SourceKind::Ysb { .. } => "advertising events of the Yahoo Streaming Benchmark".to_owned(),
    }
}

/// What a source reads, and how fast.
pub(super) fn source(source: &SourceDefinition) -> String {
    let mut text = source_kind(source);
    match &source.rate {
        None => text.push_str(", as fast as they are taken"),
        Some(rate) => {
            text.push_str(&format!(", {} a second", rate.base));
            for spike in &rate.spikes {
                let (at, lasting) = (duration_text(spike.at), duration_text(spike.duration));
                text.push_str(&format!(", {} from {at} for {lasting}", spike.rate));
            }
        }
    }
    if let Some(duration) = source.duration {
        text.push_str(&format!(", for {}", duration_text(duration)));
    }
    text
}

/// How far a source's watermark is behind.
pub(super) fn watermark(source: &SourceDefinition) -> Option<String> {
    let watermark = source.watermark?;
    let mut text = match watermark.out_of_orderness.is_zero() {
        true => "at its newest record".to_owned(),
        false => {
            format!("{} behind its newest record", duration_text(watermark.out_of_orderness))
        }
    };
    if let Some(idle) = watermark.idle {
        text.push_str(&format!(", not waited for after {} without one", duration_text(idle)));
    }
    Some(text)
}

/// What a sink does.
pub(super) fn sink(sink: &SinkDefinition) -> String {
    let format = |format: &RecordFormat| match format {
        RecordFormat::Lines => "lines",
        RecordFormat::Ndjson => "JSON lines",
    };
    match &sink.kind {
        SinkKind::File { path, format: form } => format!("{} to {}", format(form), path.display()),
        SinkKind::Stdout { format: form } => format!("{} to standard output", format(form)),
        SinkKind::Count => "counts".to_owned(),
    }
}

/// Where state is kept.
pub(super) fn state(state: &StateDefinition) -> String {
    let mut text = format!(
        "{} in memory, then on disk; at most {} a key, {} in all; {} key groups",
        size(state.memory as u64),
        size(state.max_key as u64),
        size(state.max_total),
        state.key_groups
    );
    if let Some(ttl) = state.ttl {
        text.push_str(&format!("; dropped {} after its last change", duration_text(ttl)));
    }
    if let Some(directory) = &state.directory {
        text.push_str(&format!("; in {}", directory.display()));
    }
    text
}

/// The names of the targets of a burst.
pub(super) fn target_names<'a>(pipeline: &'a Pipeline, burst: &BurstDefinition) -> Vec<&'a str> {
    burst.targets.iter().map(|target| pipeline.targets[*target].name.as_str()).collect()
}

/// When an operator bursts where.
pub(super) fn burst(pipeline: &Pipeline, operator: &OperatorDefinition) -> String {
    let Some(burst) = &operator.burst else { return "never bursts".to_owned() };
    let names = target_names(pipeline, burst).join(", ");
    match burst.offload {
        Offload::Auto => {
            let beyond = duration_text(burst.latency_target);
            format!("bursts to {names} beyond {beyond} of latency")
        }
        Offload::Never => "bursting is off".to_owned(),
        Offload::Always => format!("sends all it can to {names}"),
        Offload::Share(share) => format!("sends {:.0}% to {names}", share * 100.0),
    }
}

/// What a target is.
pub(super) fn target(target: &TargetDefinition) -> String {
    match &target.kind {
        TargetKind::Process { max_runners, slots, .. } => {
            format!("up to {max_runners} runner processes here, {slots} calls each")
        }
        TargetKind::Http { url, max_in_flight, .. } => {
            format!("{url}, up to {max_in_flight} calls at once")
        }
    }
}

/// An output as it is written in a pipeline file, such as `counts.late`.
pub(super) fn origin(pipeline: &Pipeline, edge: &Edge<'_>) -> String {
    let stage = pipeline.stage_name(edge.from.stage);
    match &edge.from.outlet {
        Some(outlet) => format!("{stage}.{outlet}"),
        None => stage.to_owned(),
    }
}

/// The inputs of a stage as they are written in a pipeline file.
pub(super) fn inputs(pipeline: &Pipeline, reader: ReaderId) -> String {
    let edges: Vec<Edge<'_>> = pipeline.edges().filter(|edge| edge.to == reader).collect();
    let input = |(number, input): (usize, &InputDefinition)| {
        let mine = edges.iter().filter(|edge| edge.input == number);
        let from: Vec<String> = mine.map(|edge| origin(pipeline, edge)).collect();
        match &input.name {
            Some(name) => format!("{name} = {}", from.join(" + ")),
            None => from.join(" + "),
        }
    };
    let inputs: Vec<String> = pipeline.inputs_of(reader).iter().enumerate().map(input).collect();
    inputs.join(", ")
}
