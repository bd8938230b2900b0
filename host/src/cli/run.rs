//! `overspill run`.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use overspill::metric_definitions;
use overspill::pipeline::definition::{Pipeline, SinkKind, listen_address};
use overspill::pipeline::engine;
use overspill::pipeline::run_clock::StopSignal;
use overspill::pipeline::summary::Summary;
use overspill::pipeline::timeline::Timeline;
use overspill::pipeline::view::LiveView;

use super::logging::{self, Destination};
use super::watcher::{Show, Watcher};
use super::{FAILED, PipelineArgs, interrupt};

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pipeline: PipelineArgs,
    /// Print the summary as one JSON object.
    #[arg(long)]
    json: bool,
    /// Write a line of JSON for each tenth of a second to this file.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Serve metrics for Prometheus at this address, such as 127.0.0.1:9464; a port alone means
    /// this machine only.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    metrics: Option<SocketAddr>,
    /// Show no progress and log only warnings.
    #[arg(long, short)]
    quiet: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    listen_address(text)
        .ok_or_else(|| "give an IP address and a port, such as 127.0.0.1:9464".to_owned())
}

pub(super) fn run(args: &RunArgs) -> ExitCode {
    let pipeline = match args.pipeline.load() {
        Ok(pipeline) => pipeline,
        Err(code) => return code,
    };
    // The engine would find the same, but couldn't say in which line. Loading twice is cheap: what
    // is compiled here comes out of the cache there.
    if let Err(code) = args.pipeline.inspect(&pipeline) {
        return code;
    }
    match run_pipeline(args, &pipeline) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

/// Runs it and prints the summary; says whether every record arrived.
fn run_pipeline(args: &RunArgs, pipeline: &Pipeline) -> anyhow::Result<bool> {
    let show = match (args.quiet, std::io::stderr().is_terminal()) {
        (true, _) => Show::Nothing,
        (false, true) => Show::Live(LiveView::new()),
        (false, false) => Show::Log,
    };
    let destination = match &show {
        Show::Live(view) => Destination::View(view.log_writer()),
        Show::Log | Show::Nothing => Destination::Stderr,
    };
    logging::start(destination, if args.quiet { "warn" } else { "info" });
    let metrics = args.metrics.or(pipeline.metrics);
    if let Some(address) = metrics {
        metric_definitions::serve(address)?;
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "metrics are open to whoever reaches this address");
        }
    }
    let timeline = match &args.timeline {
        Some(path) => Some(
            Timeline::create(path)
                .with_context(|| format!("cannot create the time series `{}`", path.display()))?,
        ),
        None => None,
    };
    let stop = StopSignal::new();
    interrupt::watch(stop.clone()).context("cannot watch for Ctrl-C")?;
    let watcher = Watcher::new(show, metrics.is_some(), timeline);
    let report = engine::run(pipeline, &watcher, &stop);
    let timeline_written = watcher.finish();
    let summary = Summary::new(pipeline, &report?);
    print(&summary, args.json, writes_stdout(pipeline)).context("cannot print the summary")?;
    timeline_written.context("the time series is incomplete")?;
    Ok(summary.is_sound())
}

fn writes_stdout(pipeline: &Pipeline) -> bool {
    pipeline.sinks.iter().any(|sink| matches!(sink.kind, SinkKind::Stdout { .. }))
}

/// Standard output belongs to the records where they go there.
fn print(summary: &Summary, json: bool, stdout_is_taken: bool) -> std::io::Result<()> {
    let text = if json { summary.to_json() + "\n" } else { summary.to_string() };
    match stdout_is_taken {
        true => std::io::stderr().write_all(text.as_bytes()),
        false => std::io::stdout().write_all(text.as_bytes()),
    }
}
