//! A plain HTTP server, for any place that can run one.
//!
//! | request | who | what |
//! |---|---|---|
//! | `POST /v1/invoke` | with token | body: an invocation; answer: a reply |
//! | `PUT /v1/modules/{digest}` | with token | body: the component; 204 when it can be invoked |
//! | `GET /healthz` | everybody | 200 as long as the process lives |
//! | `GET /readyz` | with token | 200 when it takes work, 503 when it drains |
//! | `GET /metrics` | with token | Prometheus text |
//!
//! Every bound is checked before memory is spent on what it bounds. An answer that is no reply is
//! JSON: `{"error": {"code": ..., "message": ...}}`.

mod error;
mod listener;
mod receive;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post, put};
use bytes::Bytes;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use overspill_operator_runtime::{Limits as GuestLimits, Runtime, RuntimeOptions};
use overspill_protocol::{Compression, Digest, Limits};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::error::Refused;
use self::listener::Listener;
use self::receive::Receiver;
use crate::auth::Tokens;
use crate::config::{Compress, Config};
use crate::drain;
use crate::health::Health;
use crate::invoke::{Answer, Invoker, InvokerOptions};
use crate::metric_definitions::{Ended, Metrics};
use crate::modules::{ModuleError, Modules};

/// The media type of invocations and replies, followed by up to seven blanks, which are no part of
/// it (RFC 9110, 5.5).
const MESSAGE: &str = "application/vnd.overspill       ";
/// The length of an answer's head, less the digits of its length and the blanks.
const HEAD: usize = 115;
/// How long a caller that was turned away should wait: about the time of a batch.
const RETRY_AFTER: Duration = Duration::from_millis(20);
/// How often finished histogram samples are folded up, so that they don't pile up unread.
const UPKEEP: Duration = Duration::from_secs(5);

struct Service {
    tokens: Option<Tokens>,
    invoker: Invoker,
    receiver: Receiver,
    max_request: usize,
    max_module: usize,
    /// One permit an invocation that runs or may wait.
    admission: Arc<Semaphore>,
    /// One permit: compiling takes all there is of processor and memory.
    compiling: Semaphore,
    health: Health,
    metrics: Arc<Metrics>,
    recorder: PrometheusHandle,
}

/// Serves until the process is asked to stop, and what runs has finished.
///
/// # Errors
/// When the address, the module folder or the compiled cache can't be used.
pub fn serve(config: Config) -> anyhow::Result<()> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // The threads that run guests; one more, so that compiling doesn't stop them.
        .max_blocking_threads(config.threads + 1)
        .thread_keep_alive(Duration::from_secs(600))
        .thread_name("invoke")
        .build()
        .context("cannot start the server")?;
    let result = tokio.block_on(run(config));
    // A guest that is still running after the grace period is left behind.
    tokio.shutdown_background();
    drain::clean_up();
    result
}

async fn run(config: Config) -> anyhow::Result<()> {
    let stop = drain::stop_signal().context("cannot watch for SIGTERM")?;
    let listener = Listener::bind(&config.listen).await?;
    let service = Arc::new(Service::new(&config)?);
    let upkeep = service.recorder.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(UPKEEP).await;
            upkeep.run_upkeep();
        }
    });
    let warm = Arc::clone(&service);
    std::thread::spawn(move || warm.invoker.modules().warm_up());
    if config.announce {
        println!("{}", serde_json::json!({ "listening": listener.address() }));
    }
    tracing::info!(listening = listener.address(), threads = config.threads, "ready");
    let router = router(&service);
    listener::serve(listener, router, &config, &service.health, &service.metrics, stop).await
}

impl Service {
    fn new(config: &Config) -> anyhow::Result<Self> {
        let recorder =
            PrometheusBuilder::new().install_recorder().context("cannot set up the metrics")?;
        let metrics = Arc::new(Metrics::new());
        let runtime =
            Runtime::new(RuntimeOptions { cache_dir: config.cache.clone(), ..Default::default() })
                .context("cannot start the operator runtime")?;
        let guest_limits = GuestLimits {
            deadline: config.guest_deadline,
            memory: config.guest_memory,
            // What an operator may keep of a key is the pipeline's business, as long as it fits.
            state: config.guest_memory,
            ..Default::default()
        };
        let modules = Modules::new(runtime, &config.trusted, config.modules.as_deref())?;
        let limits = Limits { max_message: config.max_request, ..Default::default() };
        let compression = match config.compress {
            Compress::Never => Compression::None,
            Compress::Auto => Compression::Auto,
        };
        let held_states = config.held_states;
        let options = InvokerOptions { limits, guest_limits, held_states, compression };
        Ok(Self {
            tokens: config.tokens.clone(),
            invoker: Invoker::new(modules, options, Arc::clone(&metrics)),
            receiver: Receiver::new(config.max_receiving, config.receive_timeout),
            max_request: config.max_request,
            max_module: config.max_module,
            admission: Arc::new(Semaphore::new(config.threads + config.queue)),
            compiling: Semaphore::new(1),
            health: Health::default(),
            metrics,
            recorder,
        })
    }
}

fn router(service: &Arc<Service>) -> Router {
    Router::new()
        .route("/v1/invoke", post(invoke))
        .route("/v1/modules/{digest}", put(upload))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown_path)
        .layer(middleware::from_fn_with_state(Arc::clone(service), authenticate))
        // Behind the layer, so that it needs no token.
        .route("/healthz", get(|| async { "ok\n" }))
        .with_state(Arc::clone(service))
}

async fn authenticate(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(tokens) = &service.tokens {
        let shown = request.headers().get(header::AUTHORIZATION);
        if !shown.is_some_and(|shown| tokens.admit(shown.as_bytes())) {
            return service.refuse(Refused::unauthorized(shown.is_some()));
        }
    }
    next.run(request).await
}

async fn unknown_path() -> Response {
    Refused::unknown_path().into_response()
}

async fn wrong_method(method: Method) -> Response {
    Refused::wrong_method(&method).into_response()
}

async fn ready(State(service): State<Arc<Service>>) -> Response {
    match service.health.is_ready() {
        true => "ready\n".into_response(),
        false => Refused::draining().into_response(),
    }
}

async fn metrics(State(service): State<Arc<Service>>) -> Response {
    let content_type = (header::CONTENT_TYPE, "text/plain; version=0.0.4");
    ([content_type], service.recorder.render()).into_response()
}

async fn invoke(State(service): State<Arc<Service>>, request: Request) -> Response {
    if !service.health.is_ready() {
        return service.refuse(Refused::draining());
    }
    let message =
        match service.receiver.receive(request, service.max_request, "--max-request").await {
            Ok(message) => message,
            Err(refused) => return service.refuse(refused),
        };
    let received = Instant::now();
    let Ok(admitted) = Arc::clone(&service.admission).try_acquire_owned() else {
        return match service.invoker.turn_away(&message, RETRY_AFTER) {
            Ok(answer) => reply(answer),
            Err(error) => service.refuse(Refused::malformed(&error)),
        };
    };
    let in_flight = InFlight::new(admitted, &service.metrics);
    let abandoned = Abandoned::default();
    let watch = Arc::clone(&abandoned.0);
    let worker = Arc::clone(&service);
    let work = tokio::task::spawn_blocking(move || {
        let _in_flight = in_flight;
        match watch.load(Ordering::Relaxed) {
            true => None,
            false => Some(worker.invoker.invoke(message, received)),
        }
    });
    match work.await {
        Ok(Some(Ok(answer))) => reply(answer),
        Ok(Some(Err(error))) => service.refuse(Refused::malformed(&error)),
        // Nobody reads this: the caller has gone.
        Ok(None) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => {
            tracing::error!("an invocation panicked: {error}");
            service.metrics.invocation(Ended::Failed);
            service.refuse(Refused::internal())
        }
    }
}

/// An invocation's place among those that run or wait, given back on every way out.
struct InFlight {
    _admitted: OwnedSemaphorePermit,
    metrics: Arc<Metrics>,
}

impl InFlight {
    fn new(admitted: OwnedSemaphorePermit, metrics: &Arc<Metrics>) -> Self {
        metrics.in_flight.increment(1);
        Self { _admitted: admitted, metrics: Arc::clone(metrics) }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.metrics.in_flight.decrement(1);
    }
}

/// Set when the caller has gone, so that work which hasn't begun needn't begin.
#[derive(Default)]
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The media type of a message of `len` bytes, with as many blanks as make the head of the answer
/// a multiple of eight bytes. The caller then finds the columns at addresses where it can use
/// them; elsewhere, as behind a proxy that writes another head, it has to copy them.
fn media_type(len: usize) -> HeaderValue {
    let digits = len.checked_ilog10().unwrap_or(0) as usize + 1;
    let blanks = (HEAD + digits).next_multiple_of(8) - (HEAD + digits);
    HeaderValue::from_static(&MESSAGE[..MESSAGE.trim_end().len() + blanks])
}

fn reply(answer: Answer) -> Response {
    let media_type = media_type(answer.bytes.len());
    let mut response = Response::new(answer.bytes.into());
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    if answer.overloaded {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        // Whole seconds are the finest that HTTP has; the reply itself is finer.
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

async fn upload(
    State(service): State<Arc<Service>>,
    Path(digest): Path<String>,
    request: Request,
) -> Response {
    let digest: Digest = match digest.parse() {
        Ok(digest) => digest,
        Err(error) => return service.refuse(Refused::bad_digest(&error)),
    };
    let trusted = service.invoker.modules().is_trusted(digest);
    if !trusted || service.invoker.modules().is_loaded(digest) {
        // The body is taken off the wire all the same, or the caller would see a broken connection
        // in place of the answer.
        service.receiver.discard(request, service.max_module).await;
        return match trusted {
            true => StatusCode::NO_CONTENT.into_response(),
            false => service.refuse(Refused::module(&ModuleError::NotTrusted(digest))),
        };
    }
    let component =
        match service.receiver.receive(request, service.max_module, "--max-module").await {
            Ok(component) => component,
            Err(refused) => return service.refuse(refused),
        };
    match service.compile(digest, component).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(refused) => service.refuse(refused),
    }
}

impl Service {
    async fn compile(self: &Arc<Self>, digest: Digest, component: Bytes) -> Result<(), Refused> {
        let Ok(_permit) = self.compiling.acquire().await else { return Err(Refused::draining()) };
        self.metrics.uploads.increment(1);
        let service = Arc::clone(self);
        let work = tokio::task::spawn_blocking(move || {
            service.invoker.modules().insert(digest, &component)
        });
        match work.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Refused::module(&error)),
            Err(error) => {
                tracing::error!("compiling component {digest} panicked: {error}");
                Err(Refused::internal())
            }
        }
    }

    fn refuse(&self, refused: Refused) -> Response {
        self.metrics.refused(refused.code);
        refused.into_response()
    }
}
