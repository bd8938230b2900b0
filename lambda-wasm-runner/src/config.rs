//! What the command line and the environment say, checked.

use std::io::{BufRead as _, Read as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Parser;
use overspill_protocol::Digest;

use crate::auth::Tokens;

/// The environment variable that holds tokens, parted by white space.
pub const TOKEN_VARIABLE: &str = "OVERSPILL_RUNNER_TOKEN";
const PORT_VARIABLE: &str = "PORT";
const DEFAULT_PORT: u16 = 8080;

/// Runs trusted operator components for authenticated callers.
///
/// Callers show a bearer token. It comes from the environment variable OVERSPILL_RUNNER_TOKEN,
/// from a file or from standard input, never from the command line, which every user of the
/// machine can read.
#[derive(Parser, Debug)]
#[command(name = "overspill-runner", version)]
pub struct Arguments {
    /// Where to listen: ADDRESS:PORT (port 0: any free one), unix:PATH, or `unix:` for a socket in
    /// a new folder that only this user can enter. Default: 127.0.0.1 at the port that the
    /// environment variable PORT names, or 8080
    #[arg(long, value_name = "WHERE")]
    listen: Option<Listen>,
    /// A file with the tokens that callers may show, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "token_stdin")]
    token_file: Option<PathBuf>,
    /// Read a token from the first line of standard input
    #[arg(long)]
    token_stdin: bool,
    /// Let everybody on this machine call. Only on a loopback address or a Unix socket
    #[arg(long, conflicts_with_all = ["token_file", "token_stdin"])]
    insecure_no_token: bool,
    /// The SHA-256 digest of a component that may run here (repeat for several)
    #[arg(long, value_name = "DIGEST")]
    trust: Vec<Digest>,
    /// A file of such digests, one a line, as `sha256sum` prints them
    #[arg(long, value_name = "FILE")]
    trust_file: Option<PathBuf>,
    /// A folder of components (*.wasm) that may run here
    #[arg(long, value_name = "FOLDER")]
    modules: Option<PathBuf>,
    /// The folder for compiled components. Default: compiled components aren't kept
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// How many invocations run at a time. Default: one a core
    #[arg(long, value_name = "NUMBER")]
    threads: Option<NonZeroUsize>,
    /// How many more invocations may wait for their turn. Default: as many as run
    #[arg(long, value_name = "NUMBER")]
    queue: Option<usize>,
    /// How many connections are served at a time
    #[arg(long, value_name = "NUMBER", default_value = "256")]
    max_connections: NonZeroUsize,
    /// The largest invocation, in MiB
    #[arg(long, value_name = "MIB", default_value = "64")]
    max_request: NonZeroUsize,
    /// The largest component that may be uploaded, in MiB
    #[arg(long, value_name = "MIB", default_value = "64")]
    max_module: NonZeroUsize,
    /// The memory for requests that are being received, in MiB
    #[arg(long, value_name = "MIB", default_value = "512")]
    max_receiving: NonZeroUsize,
    /// The memory that one instance of a component may take, in MiB
    #[arg(long, value_name = "MIB", default_value = "256")]
    guest_memory: NonZeroUsize,
    /// The memory for states of keys that were answered here, in MiB, so that they needn't be sent
    /// again. 0: none are kept
    #[arg(long, value_name = "MIB", default_value = "64")]
    held_states: usize,
    /// How long one call of a component may take, in milliseconds
    #[arg(long, value_name = "MS", default_value = "10000", value_parser = clap::value_parser!(u64).range(1..))]
    guest_deadline: u64,
    /// How long a request may take to arrive, and how long a connection may be idle, in
    /// milliseconds
    #[arg(long, value_name = "MS", default_value = "30000", value_parser = clap::value_parser!(u64).range(1..))]
    receive_timeout: u64,
    /// How long running invocations may take to finish after SIGTERM, in milliseconds
    #[arg(long, value_name = "MS", default_value = "10000")]
    grace: u64,
    /// Compress answers: `never`, or `auto` where that makes them clearly smaller
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    compress: Compress,
    /// Print one line of JSON with the address, as soon as the runner takes work
    #[arg(long)]
    announce: bool,
    /// Exit when standard input closes, as it does when the process that started the runner ends
    #[arg(long)]
    exit_with_parent: bool,
}

/// When answers are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Compress {
    /// Never: for a caller on the same machine.
    Never,
    /// Where that makes them clearly smaller.
    Auto,
}

/// A place to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix socket at this path.
    Unix(PathBuf),
    /// A Unix socket in a new folder of its own.
    PrivateUnix,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Ok(Self::PrivateUnix),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| {
                "expected ADDRESS:PORT such as 127.0.0.1:8080 or [::1]:0, unix:PATH, or unix:"
                    .to_owned()
            }),
        }
    }
}

/// How the runner is to run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen.
    pub listen: Listen,
    /// Who may call; `None`: everybody who can reach `listen`.
    pub tokens: Option<Tokens>,
    /// Which components may run.
    pub trusted: Vec<Digest>,
    /// A folder of components that may run.
    pub modules: Option<PathBuf>,
    /// The folder for compiled components.
    pub cache: Option<PathBuf>,
    /// How many invocations run at a time.
    pub threads: usize,
    /// How many more may wait.
    pub queue: usize,
    /// How many connections are served at a time.
    pub max_connections: usize,
    /// The largest invocation, in bytes.
    pub max_request: usize,
    /// The largest component, in bytes.
    pub max_module: usize,
    /// The memory for requests that are being received, in bytes.
    pub max_receiving: usize,
    /// The memory that an instance may take, in bytes.
    pub guest_memory: usize,
    /// The memory for states of keys that were answered here, in bytes.
    pub held_states: usize,
    /// How long a call of a component may take.
    pub guest_deadline: Duration,
    /// How long a request may take to arrive, and a connection may be idle.
    pub receive_timeout: Duration,
    /// How long running invocations may take to finish when the runner is asked to stop.
    pub grace: Duration,
    /// When answers are compressed.
    pub compress: Compress,
    /// Whether to print the address on standard output.
    pub announce: bool,
    /// Whether to exit when standard input closes.
    pub exit_with_parent: bool,
}

impl Arguments {
    /// Checks the arguments, with the environment (`variable` looks it up by name) and the files
    /// that they name.
    ///
    /// # Errors
    /// When something is missing, can't be read, or would leave the runner open to strangers.
    pub fn resolve(
        self,
        variable: impl Fn(&'static str) -> Option<String>,
        stdin: &mut std::io::Stdin,
    ) -> anyhow::Result<Config> {
        let listen = match self.listen {
            Some(listen) => listen,
            None => default_listen(variable(PORT_VARIABLE))?,
        };
        let tokens = if self.insecure_no_token {
            if let Listen::Tcp(address) = &listen {
                ensure!(
                    address.ip().is_loopback(),
                    "`--insecure-no-token` with `--listen {address}` would let everybody on the \
                     network call: give a token, or listen on 127.0.0.1"
                );
            }
            None
        } else if self.token_stdin {
            Some(Tokens::parse(&first_line(stdin)?).context("the token on standard input")?)
        } else if let Some(path) = &self.token_file {
            let text = read(path, "--token-file")?;
            Some(Tokens::parse(&text).with_context(|| format!("token file {}", path.display()))?)
        } else if let Some(text) = variable(TOKEN_VARIABLE) {
            Some(Tokens::parse(&text).with_context(|| format!("`{TOKEN_VARIABLE}`"))?)
        } else {
            bail!(
                "there is no token that callers must show: set `{TOKEN_VARIABLE}`, or give \
                 `--token-file FILE`; to try the runner on this machine alone, \
                 `--insecure-no-token` does without"
            )
        };
        let mut trusted = self.trust;
        if let Some(path) = &self.trust_file {
            trusted.extend(digests(&read(path, "--trust-file")?, path)?);
        }
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = self.threads.map_or(cores, NonZeroUsize::get);
        const MIB: usize = 1 << 20;
        Ok(Config {
            listen,
            tokens,
            trusted,
            modules: self.modules,
            cache: self.cache,
            threads,
            queue: self.queue.unwrap_or(threads),
            max_connections: self.max_connections.get(),
            max_request: self.max_request.get().saturating_mul(MIB),
            max_module: self.max_module.get().saturating_mul(MIB),
            max_receiving: self.max_receiving.get().saturating_mul(MIB),
            guest_memory: self.guest_memory.get().saturating_mul(MIB),
            held_states: self.held_states.saturating_mul(MIB),
            guest_deadline: Duration::from_millis(self.guest_deadline),
            receive_timeout: Duration::from_millis(self.receive_timeout),
            grace: Duration::from_millis(self.grace),
            compress: self.compress,
            announce: self.announce,
            exit_with_parent: self.exit_with_parent,
        })
    }
}

fn default_listen(port: Option<String>) -> anyhow::Result<Listen> {
    let port = match port {
        None => DEFAULT_PORT,
        Some(text) => text.parse().with_context(|| {
            format!("`{PORT_VARIABLE}` is `{text}`, expected a port number from 0 to 65535")
        })?,
    };
    Ok(Listen::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)))
}

/// The first line of standard input; what follows it is left for whoever reads on.
fn first_line(stdin: &mut std::io::Stdin) -> anyhow::Result<String> {
    const LONGEST: u64 = 4096;
    let mut line = String::new();
    stdin
        .lock()
        .take(LONGEST)
        .read_line(&mut line)
        .context("cannot read a token from standard input (`--token-stdin`)")?;
    Ok(line)
}

fn read(path: &Path, argument: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{argument} {}`", path.display()))
}

fn digests(text: &str, path: &Path) -> anyhow::Result<Vec<Digest>> {
    let mut digests = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // `sha256sum` puts the file's name behind the digest.
        let digest = line.split_whitespace().next().unwrap_or(line);
        digests.push(
            digest.parse().with_context(|| format!("{}, line {}", path.display(), index + 1))?,
        );
    }
    Ok(digests)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use super::*;

    fn resolve(arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<Config> {
        Arguments::try_parse_from(["overspill-runner"].iter().chain(arguments))?.resolve(
            |name| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).into()),
            &mut std::io::stdin(),
        )
    }

    const TOKEN: (&str, &str) = (TOKEN_VARIABLE, "0123456789abcdef");

    #[test]
    fn it_listens_on_loopback_unless_told_otherwise() {
        let listen = |environment: &[_]| resolve(&[], environment).unwrap().listen;
        assert_eq!(listen(&[TOKEN]), "127.0.0.1:8080".parse().unwrap());
        assert_eq!(listen(&[TOKEN, ("PORT", "9")]), "127.0.0.1:9".parse().unwrap());
    }

    #[test]
    fn it_refuses_to_run_without_a_token() {
        let error = format!("{:#}", resolve(&[], &[]).unwrap_err());
        assert!(error.contains("--token-file") && error.contains(TOKEN_VARIABLE), "{error}");
    }

    #[test]
    fn it_refuses_to_do_without_a_token_on_a_public_address() {
        let arguments = ["--insecure-no-token", "--listen", "0.0.0.0:80"];
        let error = format!("{:#}", resolve(&arguments, &[]).unwrap_err());
        assert!(error.contains("0.0.0.0:80"), "{error}");
        assert!(resolve(&["--insecure-no-token", "--listen", "[::1]:0"], &[]).is_ok());
        assert!(resolve(&["--insecure-no-token", "--listen", "unix:"], &[]).is_ok());
    }

    #[test]
    fn a_bad_port_is_named() {
        let error = format!("{:#}", resolve(&[], &[TOKEN, ("PORT", "http")]).unwrap_err());
        assert!(error.contains("`PORT` is `http`"), "{error}");
    }

    #[test]
    fn a_trust_file_is_read_as_sha256sum_writes_it() {
        let digest = Digest::of(b"component");
        let text = format!("# operators\n\n{digest}  tokenizer.wasm\n");
        assert_eq!(digests(&text, Path::new("trust")).unwrap(), [digest]);
        let error = format!("{:#}", digests("\nabc", Path::new("trust")).unwrap_err());
        assert!(error.contains("trust, line 2") && error.contains("`abc`"), "{error}");
    }
}
