//! The log of the command: to standard error, above the live view where there is one.

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use overspill::pipeline::view::LogWriter;

/// Where log lines go.
#[derive(Clone)]
pub(super) enum Destination {
    /// Past the live view.
    View(LogWriter),
    /// Straight to standard error.
    Stderr,
}

impl<'a> MakeWriter<'a> for Destination {
    type Writer = Box<dyn io::Write + 'a>;

    fn make_writer(&'a self) -> Self::Writer {
        match self {
            Self::View(writer) => Box::new(writer.clone()),
            Self::Stderr => Box::new(io::stderr()),
        }
    }
}

/// Starts the log. `RUST_LOG` says what is logged; without it `default` and worse.
pub(super) fn start(destination: Destination, default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let colours = matches!(destination, Destination::View(_));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(colours)
        .with_writer(destination)
        .init();
}
