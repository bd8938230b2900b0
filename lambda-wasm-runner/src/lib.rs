//! The operator runtime behind a door: what runs next to the cloud's processors.
//!
//! ```text
//!            doors/        invoke            modules             held           operator-runtime
//! bytes --> [http  ] --> decode --> pool of the module's --> states that were --> run the work --+
//!           [lambda]                instances                left out put in                    |
//!           [azure ]                (or "need-module")       (or "need-state")                  |
//! bytes <-- [      ] <-- encode <-- keep the new states <-- answer, report <--------------------+
//! ```
//!
//! A door knows a transport and nothing of operators; [`invoke`] knows operators and no
//! transport. Whatever comes in is checked in this order: who calls ([`auth`]), how much it is,
//! whether it decodes, whether the module is trusted ([`modules`]). A guest call gets what the
//! pipeline allows, and no more than the runner does; what fails for the runner's own limits alone is
//! left to others. The runner never opens a connection of its own.

pub mod auth;
mod ceiling;
pub mod config;
pub mod door;
pub mod doors;
pub mod drain;
pub mod health;
mod held;
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
