//! Makes the targets that a pipeline file names: the one place where the dataflow meets them as
//! anything but [`Target`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use overspill_operator_runtime::Limits;
use overspill_protocol::Compression;

use super::failure::EngineError;
use super::offload::{OffloadTarget, OffloadThread};
use crate::metric_definitions;
use crate::pipeline::definition::{TargetDefinition, TargetKind, TokenSource};
use crate::target::{Http, HttpOptions, Module, Process, ProcessOptions, Secret, Target};

/// How long connecting to a runner behind a URL may take.
const CONNECT: Duration = Duration::from_secs(3);

/// Makes a target for the component of one operator.
///
/// # Errors
/// When the target can't be set up, or its token can't be read.
pub(super) fn set_up(
    definition: &TargetDefinition,
    operator: &str,
    module: Module,
    limits: Limits,
    cache: Option<&Path>,
    thread: &OffloadThread,
) -> Result<OffloadTarget, EngineError> {
    let _inside = thread.handle().enter();
    let target: Arc<dyn Target> = match &definition.kind {
        TargetKind::Process { max_runners, slots, idle, program } => {
            Arc::new(Process::new(ProcessOptions {
                runner: program.clone(),
                // Runners find there what this process has compiled.
                cache: cache.map(Path::to_owned),
                max_runners: *max_runners,
                slots: *slots,
                idle: *idle,
                guest_memory: limits.memory,
                guest_deadline: limits.deadline,
                ..ProcessOptions::new(&definition.name, module)
            })?)
        }
        TargetKind::Http { url, token, max_payload, .. } => Arc::new(Http::new(HttpOptions {
            name: definition.name.clone(),
            url: url.clone(),
            token: token.as_ref().map(|source| secret(&definition.name, source)).transpose()?,
            insecure_http: false,
            module,
            connect_timeout: CONNECT,
            max_payload: *max_payload,
            compression: Compression::Auto,
        })?),
    };
    let latency = metric_definitions::target_latency(operator, &definition.name);
    Ok(OffloadTarget { target, price: definition.price, latency })
}

fn secret(target: &str, source: &TokenSource) -> Result<Secret, EngineError> {
    let secret = match source {
        TokenSource::Environment(name) => Secret::from_environment(name),
        TokenSource::File(path) => Secret::from_file(path),
    };
    secret.map_err(|cause| EngineError::Token { target: target.to_owned(), cause })
}
