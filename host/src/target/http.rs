//! A runner somewhere, by URL.

use std::time::{Duration, Instant};

use bytes::Bytes;
use overspill_protocol::{Compression, Response};
use reqwest::{Method, Url, header};
use tokio::sync::Mutex;

use super::answer::{self, Asked, Joined, Received};
use super::attempt::{Ended, Notes, until_deadline};
use super::{
    Answered, BoxFuture, Call, Module, Observer, Secret, Target, TargetError, TargetEvent,
};
use crate::burst::Outcome;

/// How long an upload may take, compiling included: a Python component takes 5 s to compile.
const UPLOAD: Duration = Duration::from_secs(120);
/// How long a connection may be kept without use: less than runners and gateways do, so that a
/// call doesn't find its connection closed.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// The least that an answer may have: errors are text, whatever the ceiling for replies is.
const SMALLEST_ANSWER: usize = 16 << 10;

/// Whoever answers: which of several runners it is, a URL doesn't tell.
const RUNNER: u64 = 0;

/// What an [`Http`] target needs to know.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The target's name in the pipeline file.
    pub name: String,
    /// Where the runner is: `https://host[:port][/path]`, in front of `/v1/invoke`.
    pub url: String,
    /// What the runner knows this host by.
    pub token: Option<Secret>,
    /// Whether the token may travel unencrypted to another machine.
    pub insecure_http: bool,
    /// The component to upload to a runner that lacks it.
    pub module: Module,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// The largest message that the target takes and gives, in bytes.
    pub max_payload: usize,
    /// Whether invocations are compressed.
    pub compression: Compression,
}

/// A runner somewhere, by URL.
pub struct Http {
    options: HttpOptions,
    client: reqwest::Client,
    invoke: Url,
    upload: Url,
    authorization: Option<header::HeaderValue>,
    /// When the component was last uploaded. Held during an upload, so that of many calls that
    /// miss the component, one sends it.
    uploaded: std::sync::Arc<Mutex<Option<Instant>>>,
}

impl Http {
    /// A target at `options.url`. Nothing is sent yet.
    ///
    /// # Errors
    /// When the URL is none that can be called, or would carry the token over the network in the
    /// clear.
    pub fn new(options: HttpOptions) -> Result<Self, TargetError> {
        let name = || options.name.clone();
        let url =
            |reason: String| TargetError::Url { target: name(), url: options.url.clone(), reason };
        let base = Url::parse(&options.url)
            .map_err(|e| url(format!("{e}; expected something like https://host:port/path")))?;
        if !base.username().is_empty() || base.password().is_some() {
            return Err(url("a URL may not hold a password: use the token settings".to_owned()));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(url("a URL may not have a query or fragment here".to_owned()));
        }
        match base.scheme() {
            "https" => {}
            "http" if options.token.is_none() || options.insecure_http || is_loopback(&base) => {}
            "http" => {
                return Err(url("the token would travel in the clear: use https, or set \
                                `insecure_http = true` on a network that you trust"
                    .to_owned()));
            }
            other => return Err(url(format!("scheme `{other}`, expected http or https"))),
        }
        let at = |path: &str| {
            let text = format!("{}{path}", base.as_str().trim_end_matches('/'));
            Url::parse(&text).map_err(|error| url(error.to_string()))
        };
        let authorization = match &options.token {
            Some(token) => {
                Some(token.authorization().ok_or_else(|| TargetError::Token { target: name() })?)
            }
            None => None,
        };
        // Of several targets the first installs it, and the others find it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .connect_timeout(options.connect_timeout)
            .pool_idle_timeout(KEEP_ALIVE)
            .tcp_nodelay(true)
            // A redirect would take the token elsewhere.
            .redirect(reqwest::redirect::Policy::none())
            // The burst core repeats, here nothing does.
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| TargetError::Client { target: name(), reason: chain(&error) })?;
        Ok(Self {
            invoke: at("/v1/invoke")?,
            upload: at(&format!("/v1/modules/{}", options.module.digest))?,
            authorization,
            client,
            uploaded: std::sync::Arc::default(),
            options,
        })
    }

    fn request(&self, method: Method, url: &Url, body: Bytes) -> reqwest::RequestBuilder {
        let request = self.client.request(method, url.clone()).body(body);
        match &self.authorization {
            Some(authorization) => request.header(header::AUTHORIZATION, authorization.clone()),
            None => request,
        }
    }

    /// Sends the component, unless another call has done so since `begun`. `Err`: the outcome of
    /// the call that wanted it.
    async fn ensure_uploaded(&self, begun: Instant) -> Result<(), Outcome<Response>> {
        let mut uploaded = std::sync::Arc::clone(&self.uploaded).lock_owned().await;
        if uploaded.is_some_and(|at| at > begun) {
            return Ok(());
        }
        let request = self
            .request(Method::PUT, &self.upload, self.options.module.bytes.clone())
            .timeout(UPLOAD);
        // A task of its own, because it may well take longer than the call that began it: the next
        // call then finds the component there.
        let task = tokio::spawn(async move {
            let received = exchange(request, SMALLEST_ANSWER).await?;
            match answer::to_upload(&received) {
                Some(outcome) => Err(outcome),
                None => {
                    *uploaded = Some(Instant::now());
                    Ok(())
                }
            }
        });
        match task.await {
            Ok(result) => result,
            Err(error) => Err(Outcome::Lost { reason: format!("the upload broke off: {error}") }),
        }
    }

    async fn attempt(&self, call: &Call, notes: &Notes) -> Ended {
        let begun = Instant::now();
        let message = call.invocation.encode(self.options.compression);
        notes.sends(message.len());
        if call.with_module
            && let Err(outcome) = self.ensure_uploaded(begun).await
        {
            return outcome.into();
        }
        let asked = Asked::from(&call.invocation);
        let request = self
            .request(Method::POST, &self.invoke, message)
            .header(header::CONTENT_TYPE, "application/vnd.overspill");
        match exchange(request, asked.max_reply.max(SMALLEST_ANSWER)).await {
            Ok(received) => Ended {
                meaning: answer::to_invocation(asked, &received),
                bytes_in: received.body.len() as u64,
                first: false,
                runner: Some(RUNNER),
            },
            Err(outcome) => outcome.into(),
        }
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

/// Sends a request and takes an answer of at most `limit` bytes.
async fn exchange(
    request: reqwest::RequestBuilder,
    limit: usize,
) -> Result<Received, Outcome<Response>> {
    let lost = |what: &str, error: &reqwest::Error| Outcome::Lost {
        reason: format!("{what}: {}", chain(error)),
    };
    let mut response = request.send().await.map_err(|error| match error.is_connect() {
        true => lost("cannot connect", &error),
        false => lost("no answer", &error),
    })?;
    let announced = response.content_length().unwrap_or(0);
    let too_long = || Outcome::Failed {
        reason: format!("the answer is longer than the {limit} bytes that were asked for"),
        retryable: false,
    };
    if announced > limit as u64 {
        return Err(too_long());
    }
    let mut body = Joined::new(announced as usize);
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > limit => return Err(too_long()),
            Ok(Some(chunk)) => body.push(chunk),
            Ok(None) => break,
            Err(error) => return Err(lost("the answer broke off", &error)),
        }
    }
    Ok(Received::new(response.status(), response.headers(), body.finish()))
}

/// An error with all its causes, less the URL, which the log line has already.
fn chain(error: &reqwest::Error) -> String {
    let mut text = String::from("request failed");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

impl Target for Http {
    fn name(&self) -> &str {
        &self.options.name
    }

    fn max_payload(&self) -> usize {
        self.options.max_payload
    }

    fn invoke(&self, call: Call) -> BoxFuture<'_, Answered> {
        Box::pin(async move {
            let notes = Notes::default();
            until_deadline(&call, &notes, self.attempt(&call, &notes)).await
        })
    }

    fn scale(&self, _runners: usize) {}

    fn runners_up(&self) -> usize {
        1
    }

    fn observe(&self, observer: Observer) {
        // Whoever is behind the URL starts and stops runners by itself.
        observer(TargetEvent::Runners { up: 1 });
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use super::*;

    fn options(url: &str) -> HttpOptions {
        HttpOptions {
            name: "cloud".to_owned(),
            url: url.to_owned(),
            token: Some(Secret::new("0123456789abcdef")),
            insecure_http: false,
            module: Module::new(&b"component"[..]),
            connect_timeout: Duration::from_secs(1),
            max_payload: 1 << 20,
            compression: Compression::None,
        }
    }

    fn error(url: &str) -> String {
        Http::new(options(url)).err().expect("the URL is refused").to_string()
    }

    #[test]
    fn a_token_does_not_travel_in_the_clear_unasked() {
        assert!(error("http://runner.example").contains("insecure_http"));
        assert!(Http::new(options("https://runner.example")).is_ok());
        assert!(Http::new(options("http://127.0.0.1:8080/")).is_ok());
        assert!(Http::new(options("http://[::1]:8080")).is_ok());
        let insecure = HttpOptions { insecure_http: true, ..options("http://runner.example") };
        assert!(Http::new(insecure).is_ok());
    }

    #[test]
    fn a_url_that_cannot_be_called_is_named() {
        assert!(error("runner").contains("`url` is `runner`"));
        assert!(error("ftp://runner.example").contains("expected http or https"));
        assert!(error("https://user:pass@runner.example").contains("token"));
        assert!(error("https://runner.example/?a=b").contains("query"));
    }

    #[test]
    fn a_path_in_front_is_kept() {
        let http = Http::new(options("https://runner.example/spill/")).unwrap();
        assert_eq!(http.invoke.as_str(), "https://runner.example/spill/v1/invoke");
    }
}
