//! A runner by URL: a real one, and servers that answer nonsense.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{call, guest, runner};
use overspill::burst::Outcome;
use overspill::target::{Call, Http, HttpOptions, Module, Secret, Target};
use overspill_protocol::{Column, Compression, Response};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

pub(crate) const TOKEN: &str = "a-token-for-tests-only";

pub(crate) fn target(url: &str, module: &Module, token: &str) -> Http {
    Http::new(HttpOptions {
        name: "there".to_owned(),
        url: url.to_owned(),
        token: Some(Secret::new(token)),
        insecure_http: false,
        module: module.clone(),
        connect_timeout: Duration::from_secs(2),
        max_payload: 1 << 20,
        compression: Compression::Auto,
    })
    .unwrap()
}

pub(crate) async fn start_runner(arguments: &[&str]) -> (Child, String) {
    let mut child = Command::new(runner())
        .args(["--listen", "127.0.0.1:0", "--announce"])
        .args(arguments)
        .env("OVERSPILL_RUNNER_TOKEN", TOKEN)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).await.unwrap();
    let announced: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = format!("http://{}", announced["listening"].as_str().unwrap());
    (child, url)
}

#[tokio::test]
async fn a_real_runner_asks_for_the_component_and_answers() {
    let module = guest("tokenizer");
    let (_runner, url) = start_runner(&["--trust", &module.digest.to_string()]).await;
    let target = target(&url, &module, TOKEN);
    assert_eq!(target.invoke(call(&module, &["a"])).await.outcome, Outcome::NeedModule);
    let mut with_module = call(&module, &["Big data", "x"]);
    with_module.with_module = true;
    let answered = target.invoke(with_module).await;
    let Outcome::Done(Response::FlatMap(emission)) = answered.outcome else {
        panic!("{answered:?}")
    };
    assert_eq!(*emission.records().values(), Column::from_values(["big", "data", "x"]));
    assert!(answered.cold);
    let warm = target.invoke(call(&module, &["y"])).await;
    assert!(matches!(warm.outcome, Outcome::Done(_)) && !warm.cold, "{warm:?}");
}

fn is_final(outcome: &Outcome<Response>, needle: &str) -> bool {
    matches!(outcome, Outcome::Failed { reason, retryable: false } if reason.contains(needle))
}

#[tokio::test]
async fn a_wrong_token_is_a_final_failure_that_does_not_show_the_token() {
    let module = guest("tokenizer");
    let (_runner, url) = start_runner(&["--trust", &module.digest.to_string()]).await;
    let target = target(&url, &module, "not-the-right-token-at-all");
    for with_module in [false, true] {
        let call = Call { with_module, ..call(&module, &["a"]) };
        let outcome = target.invoke(call).await.outcome;
        assert!(is_final(&outcome, "token"), "{outcome:?}");
        assert!(!format!("{outcome:?}").contains("not-the-right-token"), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_component_that_the_runner_does_not_trust_is_a_final_failure() {
    let module = guest("tokenizer");
    let (_runner, url) = start_runner(&[]).await;
    let target = target(&url, &module, TOKEN);
    for with_module in [false, true] {
        let call = Call { with_module, ..call(&module, &["a"]) };
        let outcome = target.invoke(call).await.outcome;
        assert!(is_final(&outcome, "--trust"), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_place_where_nobody_listens_is_lost_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let module = Module::new(&b"component"[..]);
    let answered = target(&url, &module, TOKEN).invoke(call(&module, &["a"])).await;
    let Outcome::Lost { reason } = &answered.outcome else { panic!("{answered:?}") };
    assert!(reason.contains("connect"), "{reason}");
    assert!(answered.round_trip < Duration::from_secs(2));
}

/// What a target makes of a server that answers every request with these bytes, and then holds the
/// connection open or closes it.
async fn answered_with(bytes: &'static [u8], hold: bool) -> Outcome<Response> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = vec![0; 64 << 10];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(bytes).await;
            if hold {
                std::future::pending::<()>().await;
            }
        }
    });
    let module = Module::new(&b"component"[..]);
    let mut call = call(&module, &["a"]);
    call.deadline = Instant::now() + Duration::from_millis(500);
    let begun = Instant::now();
    let outcome = target(&url, &module, TOKEN).invoke(call).await.outcome;
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    outcome
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_lost() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nOSPL";
    let outcome = answered_with(cut, false).await;
    assert!(
        matches!(&outcome, Outcome::Lost { reason } if reason.contains("broke off")),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn an_answer_that_stops_coming_is_lost_at_the_deadline() {
    let stuck = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nOSPL";
    for bytes in [b"".as_slice(), stuck] {
        let outcome = answered_with(bytes, true).await;
        assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_http_is_lost() {
    let outcome = answered_with(b"SSH-2.0-OpenSSH_9.2\r\n", false).await;
    assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_web_page_is_no_reply() {
    let page = b"HTTP/1.1 200 OK\r\ncontent-length: 70\r\n\r\n\
        <html>It works! But it is quite another server than was expected</html>";
    let outcome = answered_with(page, false).await;
    assert!(is_final(&outcome, "no reply"), "{outcome:?}");
}

#[tokio::test]
async fn an_answer_longer_than_allowed_is_not_taken_in() {
    let announced = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n";
    let outcome = answered_with(announced, true).await;
    assert!(is_final(&outcome, "longer"), "{outcome:?}");
    // The same without saying so beforehand: 2 MiB in one chunk, of which 1 MiB is allowed.
    let chunk = [
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n200000\r\n".as_slice(),
        &[0; 0x20_0000],
    ]
    .concat();
    let outcome = answered_with(Box::leak(chunk.into_boxed_slice()), true).await;
    assert!(is_final(&outcome, "longer"), "{outcome:?}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_token() {
    let redirect = b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n";
    let outcome = answered_with(redirect, false).await;
    assert!(is_final(&outcome, "307"), "{outcome:?}");
}

#[tokio::test]
async fn a_throttle_says_how_long_to_wait() {
    let throttle = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 2\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(
        answered_with(throttle, false).await,
        Outcome::Overloaded { retry_after: Some(Duration::from_secs(2)) }
    );
}
