//! The operator runtime behind a door: what runs next to the cloud's processors.
//!
//! ```text
//!            doors/        invoke            modules          operator-runtime
//! bytes --> [http  ] --> decode --> pool of the module's --> run the batch --+
//!           [lambda]                instances (or "need-module")            |
//! bytes <-- [azure ] <-- encode <------------------- emission, report <-----+
//! ```
//!
//! A door knows a transport and nothing of operators; [`invoke`] knows operators and no
//! transport. Whatever comes in is checked in this order: who calls ([`auth`]), how much it is,
//! whether it decodes, whether the module is trusted ([`modules`]). The runner never opens a
//! connection of its own.

pub mod auth;
pub mod config;
pub mod door;
pub mod doors;
pub mod drain;
pub mod health;
pub mod invoke;
mod metric_definitions;
pub mod modules;
mod parent;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

/// Runs the command as its arguments and environment say, until it has drained.
pub fn main() -> ExitCode {
    let arguments = config::Arguments::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_env_filter(EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()))
        .init();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: config::Arguments) -> anyhow::Result<()> {
    let door = door::Door::from_environment(|name| std::env::var(name).ok())?;
    let config = arguments.resolve(|name| std::env::var(name).ok(), &mut std::io::stdin())?;
    if config.exit_with_parent {
        parent::exit_when_standard_input_closes();
    }
    match door {
        door::Door::Http => doors::http::serve(config),
    }
}
