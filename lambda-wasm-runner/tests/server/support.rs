//! A real runner on a free port, and a client that can misbehave.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use overspill_protocol::{
    Batch, CallLimits, Column, Compression, Digest, Invocation, Limits, Reply,
};

/// The token that every runner of these tests knows.
pub(crate) const TOKEN: &str = "a-token-for-tests-only";

/// A runner process, killed when it is dropped.
pub(crate) struct Runner {
    child: Child,
    /// Where it listens.
    pub(crate) address: String,
}

impl Runner {
    /// Starts a runner with these arguments on top of what all have.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_command(Command::new(env!("CARGO_BIN_EXE_overspill-runner")).args(arguments))
    }

    fn start_command(command: &mut Command) -> Self {
        let mut child = command
            .args(["--listen", "127.0.0.1:0", "--announce"])
            .env("OVERSPILL_RUNNER_TOKEN", TOKEN)
            .env("RUST_LOG", "warn")
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let announced: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = announced["listening"].as_str().unwrap().to_owned();
        Self { child, address }
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { stream: BufReader::new(stream) }
    }

    /// Sends a request on a connection of its own.
    pub(crate) fn request(&self, method: &str, path: &str, body: &[u8]) -> Response {
        self.connect().request(method, path, Some(TOKEN), body)
    }

    /// Invokes and decodes.
    pub(crate) fn invoke(&self, invocation: &Invocation) -> Reply {
        let response = self.request("POST", "/v1/invoke", &invocation.encode(Compression::None));
        Reply::decode(response.body, &Limits::default()).unwrap()
    }

    /// Its metrics, as text.
    pub(crate) fn metrics(&self) -> String {
        let response = self.request("GET", "/metrics", b"");
        assert_eq!(response.status, 200);
        String::from_utf8(response.body.to_vec()).unwrap()
    }

    /// Waits until an invocation has been taken in.
    pub(crate) fn wait_until_busy(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        while !self.metrics().contains("overspill_runner_in_flight 1") {
            assert!(Instant::now() < until, "the work never began");
        }
    }

    /// Asks it to stop.
    pub(crate) fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// Its exit code, if it ends in time.
    pub(crate) fn exit_code(&mut self, within: Duration) -> Option<i32> {
        let until = Instant::now() + within;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One HTTP/1.1 connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    /// The status code.
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    /// Bytes in front of the body.
    pub(crate) head: usize,
    /// The body.
    pub(crate) body: Bytes,
}

impl Client {
    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Sends a whole request and waits for the answer.
    pub(crate) fn request(
        &mut self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &[u8],
    ) -> Response {
        self.send(head(method, path, token, body.len()).as_bytes());
        // The runner may answer and close before it has read all.
        let _ = self.stream.get_mut().write_all(body);
        self.response()
    }

    /// The next answer.
    pub(crate) fn response(&mut self) -> Response {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {line:?}"));
        let status = status.parse().unwrap();
        let mut headers = Vec::new();
        let mut head = line.len();
        loop {
            let mut line = String::new();
            head += self.stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut response = Response { status, headers, head, body: Bytes::new() };
        let len = response.header("content-length").map_or(0, |len| len.parse().unwrap());
        let mut body = vec![0; len];
        self.stream.read_exact(&mut body).unwrap();
        response.body = body.into();
        response
    }

    /// Whether the runner closes the connection in time.
    pub(crate) fn is_closed_within(&mut self, time: Duration) -> bool {
        self.stream.get_ref().set_read_timeout(Some(time)).unwrap();
        matches!(self.stream.read(&mut [0; 1]), Ok(0))
    }
}

impl Response {
    /// The value of a header; its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| &**value)
    }

    /// The code of an error in JSON.
    pub(crate) fn code(&self) -> String {
        let error: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        assert!(error["error"]["message"].as_str().is_some_and(|m| !m.is_empty()), "{error}");
        error["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// The head of a request.
pub(crate) fn head(method: &str, path: &str, token: Option<&str>, len: usize) -> String {
    let token = token.map(|t| format!("authorization: Bearer {t}\r\n")).unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nhost: runner\r\n{token}content-length: {len}\r\n\r\n")
}

/// Where the guests are.
pub(crate) fn guests() -> PathBuf {
    match std::env::var_os("OVERSPILL_GUESTS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guests"),
    }
}

/// The component `name`.
pub(crate) fn guest(name: &str) -> Vec<u8> {
    let path = guests().join(format!("{name}.wasm"));
    std::fs::read(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; run `cargo xtask guests` first", path.display()))
}

/// An invocation of `module` with these lines.
pub(crate) fn invocation(module: Digest, lines: &[&str]) -> Invocation {
    Invocation {
        id: 42,
        module,
        settings: vec![],
        processing_time: 0,
        deadline: Duration::from_secs(20),
        max_reply: 1 << 20,
        limits: CallLimits::default(),
        work: Batch::from_values(Column::from_values(lines)).into(),
    }
}
