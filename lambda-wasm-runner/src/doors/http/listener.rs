//! Accepts connections, a bounded number at a time, until it is time to stop.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;

use crate::config::{Config, Listen};
use crate::drain;
use crate::health::Health;
use crate::metric_definitions::Metrics;

/// How long to wait when no connection can be accepted, as when there are no file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How many bytes the kernel may hold of answers that a caller on this machine has yet to take, as
/// far as the machine's limit allows it. An answer that comes in one piece costs the caller least.
const SEND_BUFFER: usize = 1 << 20;

/// An open listening socket.
pub(super) enum Listener {
    Tcp(TcpListener, String),
    Unix(UnixListener, String),
}

enum Accepted {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listener {
    pub(super) async fn bind(listen: &Listen) -> anyhow::Result<Self> {
        match listen {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address).await.with_context(|| {
                    format!("cannot listen at {address}; `--listen` chooses another address")
                })?;
                let address = listener.local_addr()?.to_string();
                Ok(Self::Tcp(listener, address))
            }
            Listen::Unix(path) => Self::bind_unix(path),
            Listen::PrivateUnix => {
                let folder = tempfile::Builder::new()
                    .prefix("overspill-")
                    .permissions(std::fs::Permissions::from_mode(0o700))
                    .tempdir()
                    .context("cannot make a folder for the socket; `TMPDIR` says where")?;
                let listener = Self::bind_unix(&folder.path().join("runner"));
                drain::remove_at_exit(folder);
                listener
            }
        }
    }

    fn bind_unix(path: &Path) -> anyhow::Result<Self> {
        let listener = UnixListener::bind(path).with_context(|| {
            format!(
                "cannot listen at unix:{}; the path must be new and shorter than 108 bytes",
                path.display()
            )
        })?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
            .with_context(|| format!("cannot close {} to other users", path.display()))?;
        Ok(Self::Unix(listener, format!("unix:{}", path.display())))
    }

    /// Where it listens, in the form that `--listen` takes.
    pub(super) fn address(&self) -> &str {
        match self {
            Self::Tcp(_, address) | Self::Unix(_, address) => address,
        }
    }

    async fn accept(&self) -> std::io::Result<Accepted> {
        match self {
            Self::Tcp(listener, _) => Ok(Accepted::Tcp(listener.accept().await?.0)),
            Self::Unix(listener, _) => {
                let stream = listener.accept().await?.0;
                // Without it, larger answers go in pieces.
                let _ = SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER);
                Ok(Accepted::Unix(stream))
            }
        }
    }
}

/// Serves connections until `stop`, then lets the requests that run finish, for a while.
pub(super) async fn serve(
    listener: Listener,
    router: Router,
    config: &Config,
    health: &Health,
    metrics: &Arc<Metrics>,
    stop: impl Future<Output = &'static str>,
) -> anyhow::Result<()> {
    let connections = Arc::new(Semaphore::new(config.max_connections));
    let graceful = GracefulShutdown::new();
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new());
    // The folder or the token of a private socket keeps strangers out; its caller may pause.
    server.header_read_timeout(match &listener {
        Listener::Tcp(..) => Some(config.receive_timeout),
        Listener::Unix(..) => None,
    });
    let mut stop = std::pin::pin!(stop);
    let accept = async {
        loop {
            // Taken before accepting: who comes when all are taken waits in the kernel's queue.
            let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
            let accepted = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!("cannot accept a connection: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let watcher = graceful.watcher();
            let (server, router, metrics) = (server.clone(), router.clone(), Arc::clone(metrics));
            tokio::spawn(async move {
                let _permit = permit;
                metrics.connections.increment(1);
                match accepted {
                    Accepted::Tcp(stream) => {
                        // Without it a short answer may wait for an acknowledgement.
                        let _ = stream.set_nodelay(true);
                        connection(&server, router, stream, watcher).await;
                    }
                    Accepted::Unix(stream) => connection(&server, router, stream, watcher).await,
                }
                metrics.connections.decrement(1);
            });
        }
    };
    let signal = tokio::select! {
        signal = &mut stop => signal,
        () = accept => "a closed listener",
    };
    health.start_draining();
    drop(listener);
    tracing::info!("{signal}: draining for at most {} ms", config.grace.as_millis());
    tokio::select! {
        () = graceful.shutdown() => tracing::info!("drained"),
        () = tokio::time::sleep(config.grace) => {
            tracing::warn!("the grace period is over (`--grace`): leaving what still runs");
        }
    }
    Ok(())
}

async fn connection<S>(server: &http1::Builder, router: Router, stream: S, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(router);
    let connection = server.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        // A caller that goes away or sends no HTTP is nothing to worry about.
        tracing::debug!("connection: {error}");
    }
}
