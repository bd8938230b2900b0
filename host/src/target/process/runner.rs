//! One runner: its process and its connections.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use overspill_protocol::Response as Answer;
use serde::Deserialize;
use socket2::SockRef;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdin, Command};
use tokio::sync::Notify;

use super::ProcessOptions;
use crate::burst::Outcome;
use crate::target::answer::{self, Joined, Received};
use crate::target::{Module, Secret};

type Connection = http1::SendRequest<Full<Bytes>>;

/// How much of what a runner writes to standard error is kept for the error message.
const LAST_WORDS: usize = 2048;

/// How many bytes the kernel may hold of what is on its way to a runner, as far as the machine's
/// limit allows it. What fits goes in one system call, and needn't wait for the runner to read.
const SEND_BUFFER: usize = 1 << 20;

/// A runner that takes calls.
pub(super) struct Runner {
    pub(super) id: u32,
    socket: String,
    authorization: HeaderValue,
    /// Connections without a call, ready for the next one.
    idle: Mutex<Vec<Connection>>,
    /// How many calls it has. Changed only under the supervisor's lock, read anywhere.
    pub(super) calls: AtomicUsize,
    /// When it last had a call.
    pub(super) last_used: Mutex<Instant>,
    /// Whether any call was made to it yet.
    pub(super) used: AtomicBool,
    /// Notified when it is to stop.
    pub(super) retire: Notify,
    /// Notified when its last call is over.
    pub(super) drained: Notify,
    uploaded: tokio::sync::Mutex<bool>,
}

/// A runner's process, for the one who waits for its end.
pub(super) struct Running {
    pub(super) child: Child,
    /// Closing it ends the runner, so it is kept open as long as the runner is wanted.
    pub(super) _lifeline: ChildStdin,
    pub(super) last_words: Arc<Mutex<String>>,
}

#[derive(Deserialize)]
struct Announcement {
    listening: String,
}

impl Runner {
    /// Starts a runner and waits until it takes calls.
    ///
    /// # Errors
    /// What was tried, why it failed, and what to do.
    pub(super) async fn start(
        executable: &Path,
        options: &ProcessOptions,
    ) -> Result<(Arc<Self>, Running), String> {
        let token = Secret::random();
        let mut child = command(executable, options)
            .spawn()
            .map_err(|error| format!("cannot start `{}`: {error}", executable.display()))?;
        let (Some(mut lifeline), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("the runner's standard streams are missing".to_owned());
        };
        let last_words = Arc::<Mutex<String>>::default();
        let id = child.id().unwrap_or(0);
        let stderr = tokio::spawn(read_stderr(stderr, id, Arc::clone(&last_words)));
        let announced = async {
            lifeline.write_all(format!("{}\n", token.reveal()).as_bytes()).await.map_err(|_| ())?;
            let mut line = String::new();
            // A foreign program could write without end.
            let mut stdout = BufReader::new(stdout).take(4096);
            stdout.read_line(&mut line).await.map_err(|_| ())?;
            let announcement: Announcement = serde_json::from_str(&line).map_err(|_| ())?;
            announcement.listening.strip_prefix("unix:").map(str::to_owned).ok_or(())
        };
        let socket = match tokio::time::timeout(options.start_timeout, announced).await {
            Ok(Ok(socket)) => socket,
            Ok(Err(())) => {
                drop(lifeline);
                let status = match tokio::time::timeout(options.grace, child.wait()).await {
                    Ok(Ok(status)) => format!("ended before it took calls ({status})"),
                    _ => "is no runner: it did not announce itself as one does".to_owned(),
                };
                // Whatever it is, it doesn't stay.
                let _ = child.start_kill();
                // What it wrote may still be on its way.
                let _ = tokio::time::timeout(options.grace, stderr).await;
                let said = said(&last_words);
                return Err(format!("`{}` {status}{said}", executable.display()));
            }
            Err(_) => {
                return Err(format!(
                    "the runner took no calls within {} ms{}",
                    options.start_timeout.as_millis(),
                    said(&last_words)
                ));
            }
        };
        let runner = Self {
            id,
            socket,
            authorization: token.authorization().ok_or("the token is unusable")?,
            idle: Mutex::default(),
            calls: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
            used: AtomicBool::new(false),
            retire: Notify::new(),
            drained: Notify::new(),
            uploaded: tokio::sync::Mutex::new(false),
        };
        let connection = runner.connect().await?;
        runner.put_back(connection);
        Ok((Arc::new(runner), Running { child, _lifeline: lifeline, last_words }))
    }

    async fn connect(&self) -> Result<Connection, String> {
        let stream = UnixStream::connect(&self.socket)
            .await
            .map_err(|error| format!("cannot connect to runner {}: {error}", self.id))?;
        // Without it, larger batches go in pieces.
        let _ = SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER);
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| format!("runner {} takes no HTTP: {error}", self.id))?;
        // It ends with the runner or with the sender; the sender's call reports why.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    /// Removes the socket and its folder, which the runner does itself unless it is killed.
    pub(super) fn remove_socket(&self) {
        let socket = Path::new(&self.socket);
        let _ = std::fs::remove_file(socket);
        // Only the folder that the runner has made, and only when nothing else is in it.
        if let Some(folder) = socket.parent() {
            let _ = std::fs::remove_dir(folder);
        }
    }

    fn put_back(&self, connection: Connection) {
        if !connection.is_closed() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }

    async fn take(&self) -> Result<Connection, String> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut connection) = idle else { return self.connect().await };
            if connection.ready().await.is_ok() {
                return Ok(connection);
            }
        }
    }

    /// Sends an invocation and takes an answer of at most `limit` bytes. `Lost`: the connection
    /// broke.
    pub(super) async fn invoke(
        &self,
        message: Bytes,
        limit: usize,
    ) -> Result<Received, Outcome<Answer>> {
        self.exchange(Method::POST, "/v1/invoke", message, limit).await
    }

    /// Sends the component, unless it was sent before.
    pub(super) async fn ensure_uploaded(&self, module: &Module) -> Result<(), Outcome<Answer>> {
        let mut uploaded = self.uploaded.lock().await;
        if *uploaded {
            return Ok(());
        }
        let path = format!("/v1/modules/{}", module.digest);
        let received =
            self.exchange(Method::PUT, &path, module.bytes.clone(), super::SMALLEST_ANSWER).await?;
        match answer::to_upload(&received) {
            Some(outcome) => Err(outcome),
            None => {
                *uploaded = true;
                Ok(())
            }
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        limit: usize,
    ) -> Result<Received, Outcome<Answer>> {
        let lost = |reason: String| Outcome::Lost { reason };
        let mut connection = self.take().await.map_err(lost)?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "runner")
            .header(header::AUTHORIZATION, self.authorization.clone())
            .body(Full::new(body))
            .map_err(|error| lost(format!("cannot make a request: {error}")))?;
        let broke = |error| lost(format!("runner {} broke off: {error}", self.id));
        let response = connection.send_request(request).await.map_err(broke)?;
        let (parts, body) = response.into_parts();
        let body = collect(body, limit).await.map_err(|error| match error {
            Some(error) => broke(error),
            None => Outcome::Failed {
                reason: format!("the answer is longer than the {limit} bytes that were asked for"),
                retryable: false,
            },
        })?;
        let response = Response::from_parts(parts, ());
        self.put_back(connection);
        Ok(Received::new(response.status(), response.headers(), body))
    }
}

/// The body, of at most `limit` bytes; an error of `None`: it has more.
async fn collect(mut body: Incoming, limit: usize) -> Result<Bytes, Option<hyper::Error>> {
    let announced = body.size_hint().exact().unwrap_or(0);
    if announced > limit as u64 {
        return Err(None);
    }
    let mut joined = Joined::new(announced as usize);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Some)?.into_data() else { continue };
        if joined.len() + data.len() > limit {
            return Err(None);
        }
        joined.push(data);
    }
    Ok(joined.finish())
}

fn command(executable: &Path, options: &ProcessOptions) -> Command {
    let mut command = Command::new(executable);
    command
        .args(["--listen", "unix:", "--announce", "--exit-with-parent", "--token-stdin"])
        .args(["--compress", "never"])
        .args(["--trust", &options.module.digest.to_string()])
        .args(["--threads", &options.threads.to_string()])
        .args(["--queue", &options.slots.to_string()])
        .args(["--grace", &options.grace.as_millis().to_string()])
        .args(["--max-request", &options.max_payload.div_ceil(1 << 20).to_string()])
        .args(["--max-module", &options.module.bytes.len().div_ceil(1 << 20).max(1).to_string()])
        .args(["--held-states", &options.held_states.div_ceil(1 << 20).to_string()])
        .args(["--guest-memory", &options.guest_memory.div_ceil(1 << 20).to_string()])
        .args(["--guest-deadline", &options.guest_deadline.as_millis().max(1).to_string()]);
    if let Some(cache) = &options.cache {
        command.arg("--cache").arg(cache);
    }
    // The host's environment may hold keys to clouds and databases; a runner needs none of them.
    command.env_clear();
    for name in ["TMPDIR", "RUST_LOG", "RUST_BACKTRACE"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C in a terminal goes to the whole group: the host decides when its runners end.
        .process_group(0)
        .kill_on_drop(true);
    command
}

/// Passes on what the runner writes, at a level that is off by default, and keeps the end.
async fn read_stderr(mut stderr: ChildStderr, id: u32, last_words: Arc<Mutex<String>>) {
    let mut buffer = vec![0; 4096];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let text = String::from_utf8_lossy(&buffer[..read]);
        tracing::debug!(runner = id, "{}", text.trim_end());
        let mut last_words = last_words.lock().unwrap_or_else(PoisonError::into_inner);
        last_words.push_str(&text);
        if last_words.len() > LAST_WORDS {
            let surplus = last_words.len() - LAST_WORDS;
            let surplus = (surplus..).find(|&at| last_words.is_char_boundary(at));
            last_words.drain(..surplus.unwrap_or(0));
        }
    }
}

/// What a runner has written last, as the end of an error message.
pub(super) fn said(last_words: &Mutex<String>) -> String {
    let text = last_words.lock().unwrap_or_else(PoisonError::into_inner);
    match text.trim() {
        "" => String::new(),
        text => format!("; it wrote: {text}"),
    }
}
