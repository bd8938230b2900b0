//! `overspill check`: what a pipeline is, without running it.

use std::process::ExitCode;

use overspill::pipeline::definition::{
    Input, NexmarkEvents, Offload, OperatorDefinition, Pipeline, SinkKind, SourceDefinition,
    SourceKind, TargetKind,
};

use super::PipelineArgs;

pub(super) fn check(args: &PipelineArgs) -> ExitCode {
    match args.load() {
        Ok(pipeline) => {
            print!("{}", describe(&pipeline));
            ExitCode::SUCCESS
        }
        Err(code) => code,
    }
}

/// The chain, a stage a line, and the targets.
fn describe(pipeline: &Pipeline) -> String {
    let mut lines =
        vec![format!("{}: {}", pipeline.name, Vec::from_iter(pipeline.stages()).join(" -> "))];
    for stage in &pipeline.sources {
        lines.push(format!("  {:<14} {}", stage.name, source(stage)));
    }
    for stage in &pipeline.operators {
        lines.push(format!("  {:<14} {}", stage.name, operator(pipeline, stage)));
    }
    for stage in &pipeline.sinks {
        let sink = match &stage.kind {
            SinkKind::File { path, format } => format!("{format:?} to {}", path.display()),
            SinkKind::Stdout { format } => format!("{format:?} to standard output"),
            SinkKind::Count => "counts".to_owned(),
        };
        lines.push(format!("  {:<14} {sink}", stage.name));
    }
    for target in &pipeline.targets {
        let what = match &target.kind {
            TargetKind::Process { max_runners, slots, .. } => {
                format!("up to {max_runners} runner processes here, {slots} calls each")
            }
            TargetKind::Http { url, max_in_flight, .. } => {
                format!("{url}, up to {max_in_flight} calls at once")
            }
        };
        lines.push(format!("  target {:<7} {what}", target.name));
    }
    if let Some(path) = &pipeline.dead_letters {
        lines.push(format!("  dead letters   {}", path.display()));
    }
    if let Some(address) = pipeline.metrics {
        lines.push(format!("  metrics        http://{address}/metrics"));
    }
    lines.join("\n") + "\n"
}

fn source(source: &SourceDefinition) -> String {
    let from = |input: &Input| match input {
        Input::File(path) => path.display().to_string(),
        Input::Stdin => "standard input".to_owned(),
    };
    let mut text = match &source.kind {
        SourceKind::Lines { input, .. } => format!("lines of {}", from(input)),
        SourceKind::Ndjson { input, .. } => format!("JSON lines of {}", from(input)),
        SourceKind::Nexmark { only, .. } => match only {
            NexmarkEvents::All => "Nexmark events".to_owned(),
            NexmarkEvents::Person => "Nexmark people".to_owned(),
            NexmarkEvents::Auction => "Nexmark auctions".to_owned(),
            NexmarkEvents::Bid => "Nexmark bids".to_owned(),
        },
    };
    match &source.rate {
        None => text.push_str(", as fast as they are taken"),
        Some(rate) => {
            text.push_str(&format!(", {} a second", rate.base));
            for spike in &rate.spikes {
                let (at, lasting) = (spike.at, spike.duration);
                text.push_str(&format!(", {} from {at:?} for {lasting:?}", spike.rate));
            }
        }
    }
    if let Some(duration) = source.duration {
        text.push_str(&format!(", for {duration:?}"));
    }
    text
}

fn operator(pipeline: &Pipeline, operator: &OperatorDefinition) -> String {
    let lanes = if operator.lanes == 1 { "lane" } else { "lanes" };
    let mut text = format!("{}, {} local {lanes}", operator.component.display(), operator.lanes);
    match &operator.burst {
        None => text.push_str(", never bursts"),
        Some(burst) => {
            let names: Vec<&str> = burst
                .targets
                .iter()
                .map(|target| pipeline.targets[*target].name.as_str())
                .collect();
            let names = names.join(", ");
            text.push_str(&match burst.offload {
                Offload::Auto => {
                    format!(", bursts to {names} beyond {:?} of latency", burst.latency_target)
                }
                Offload::Never => ", bursting is off".to_owned(),
                Offload::Always => format!(", sends all it can to {names}"),
                Offload::Share(share) => format!(", sends {:.0}% to {names}", share * 100.0),
            });
        }
    }
    text
}
