//! What a caller can't make the runner do.

use std::time::{Duration, Instant};

use crate::support::{Runner, TOKEN, guest, guests, head, invocation};
use overspill_protocol::{Compression, Digest, FailCode, Invocation, Limits, Reply};

/// An invocation that keeps a thread busy for about 2 µs a thousand rounds.
fn spin(rounds: u64, records: usize) -> Invocation {
    let lines: Vec<&str> = std::iter::repeat_n("x", records).collect();
    let mut invocation = invocation(Digest::of(&guest("spin")), &lines);
    invocation.settings = vec![("iterations-per-record".into(), rounds.to_string())];
    invocation
}

#[test]
fn a_body_over_the_limit_is_refused_before_it_is_read() {
    let runner = Runner::start(&["--max-request", "1"]);
    let mut client = runner.connect();
    client.send(head("POST", "/v1/invoke", Some(TOKEN), 1 << 40).as_bytes());
    let response = client.response();
    assert_eq!((response.status, response.code().as_str()), (413, "too-large"));
    assert!(client.is_closed_within(Duration::from_secs(5)));
}

#[test]
fn a_body_of_unknown_length_is_refused_where_it_passes_the_limit() {
    let runner = Runner::start(&["--max-request", "1"]);
    let mut client = runner.connect();
    let head = format!(
        "POST /v1/invoke HTTP/1.1\r\nhost: r\r\nauthorization: Bearer {TOKEN}\r\n\
         transfer-encoding: chunked\r\n\r\n"
    );
    client.send(head.as_bytes());
    let chunk = [b"40000\r\n".as_slice(), &[0; 0x40000], b"\r\n"].concat();
    for _ in 0..4 {
        client.send(&chunk);
    }
    client.send(b"1\r\nx\r\n");
    assert_eq!(client.response().code(), "too-large");
}

#[test]
fn a_slow_body_is_given_up() {
    let runner = Runner::start(&["--receive-timeout", "200"]);
    let mut client = runner.connect();
    client.send(head("POST", "/v1/invoke", Some(TOKEN), 1000).as_bytes());
    client.send(b"a few bytes, and then nothing");
    let response = client.response();
    assert_eq!((response.status, response.code().as_str()), (408, "too-slow"));
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let runner = Runner::start(&["--receive-timeout", "200"]);
    let mut client = runner.connect();
    client.send(b"POST /v1/invoke HT");
    assert!(client.is_closed_within(Duration::from_secs(5)));
}

#[test]
fn bytes_that_are_no_invocation_are_refused() {
    let runner = Runner::start(&[]);
    let good = spin(1, 1).encode(Compression::None);
    let reply = Reply::NeedModule { id: 1, module: Digest::of(b"") }.encode(Compression::None);
    let mut damaged = good.to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    for body in [b"".as_slice(), b"{}", &[0xff; 4096], &good[..good.len() - 1], &damaged, &reply] {
        let response = runner.request("POST", "/v1/invoke", body);
        assert_eq!((response.status, response.code().as_str()), (400, "malformed"));
    }
}

#[test]
fn a_decompression_bomb_is_refused() {
    let runner = Runner::start(&[]);
    // Half a gibibyte of zeros in two mebibytes: a sound message, but for its size.
    let zeros = "\0".repeat(Limits::default().max_uncompressed + 1);
    let bomb = invocation(Digest::of(b""), &[&zeros]).encode(Compression::Lz4);
    assert!(bomb.len() < 4 << 20, "{}", bomb.len());
    let response = runner.request("POST", "/v1/invoke", &bomb);
    assert_eq!((response.status, response.code().as_str()), (400, "malformed"));
    assert!(String::from_utf8_lossy(&response.body).contains("max_uncompressed"));
}

#[test]
fn other_paths_and_methods_are_refused() {
    let runner = Runner::start(&[]);
    assert_eq!(runner.request("GET", "/", b"").code(), "unknown-path");
    assert_eq!(runner.request("GET", "/v1/invoke", b"").code(), "wrong-method");
    assert_eq!(runner.request("PUT", "/v1/modules/xyz", b"").code(), "bad-digest");
}

#[test]
fn a_busy_runner_turns_callers_away_and_says_when_to_come_back() {
    let guests = guests();
    let runner =
        Runner::start(&["--modules", guests.to_str().unwrap(), "--threads", "1", "--queue", "0"]);
    assert!(matches!(runner.invoke(&spin(1, 1)), Reply::Done { .. }));
    let body = spin(500_000_000, 1).encode(Compression::None);
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| runner.request("POST", "/v1/invoke", &body));
        runner.wait_until_busy();
        let probe = spin(1, 1).encode(Compression::None);
        let turned_away = runner.request("POST", "/v1/invoke", &probe);
        assert_eq!(turned_away.status, 429);
        assert_eq!(turned_away.header("retry-after"), Some("1"));
        match Reply::decode(turned_away.body, &Limits::default()).unwrap() {
            Reply::Overloaded { id: 42, retry_after } => assert!(!retry_after.is_zero()),
            other => panic!("{other:?}"),
        }
        let reply = Reply::decode(busy.join().unwrap().body, &Limits::default()).unwrap();
        assert!(matches!(reply, Reply::Done { .. }), "{reply:?}");
    });
    // The place is free again.
    assert!(matches!(runner.invoke(&spin(1, 1)), Reply::Done { .. }));
}

#[test]
fn more_connections_than_allowed_wait_their_turn() {
    let runner = Runner::start(&["--max-connections", "4", "--receive-timeout", "300"]);
    let mut held: Vec<_> = (0..4).map(|_| runner.connect()).collect();
    for client in &mut held {
        assert_eq!(client.request("GET", "/readyz", Some(TOKEN), b"").status, 200);
    }
    let begun = Instant::now();
    // Served only when one of those that are held has been idle for too long.
    assert_eq!(runner.request("GET", "/readyz", b"").status, 200);
    assert!(begun.elapsed() > Duration::from_millis(150), "{:?}", begun.elapsed());
}

#[test]
fn a_call_that_runs_out_of_time_is_answered_for_what_is_done() {
    let guests = guests();
    let runner = Runner::start(&["--modules", guests.to_str().unwrap()]);
    assert!(matches!(runner.invoke(&spin(1, 1)), Reply::Done { .. }));
    // 1,024 records of about 50 ms each.
    let mut invocation = spin(25_000_000, 1024);
    invocation.deadline = Duration::from_millis(700);
    match runner.invoke(&invocation) {
        Reply::Partial { answer, .. } => assert!((1..1024).contains(&answer.len())),
        Reply::Failed { code: FailCode::Deadline, .. } => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reply_that_would_be_too_large_is_cut_to_fit() {
    let guests = guests();
    let runner = Runner::start(&["--modules", guests.to_str().unwrap()]);
    let mut all = spin(1, 1000);
    all.max_reply = 8 << 10;
    let response = runner.request("POST", "/v1/invoke", &all.encode(Compression::None));
    assert!(response.body.len() <= 8 << 10, "{}", response.body.len());
    match Reply::decode(response.body, &Limits::default()).unwrap() {
        Reply::Partial { answer, .. } => assert!(answer.len() > 10),
        other => panic!("{other:?}"),
    }
    // Too small for even one record: it must not be rejected only because it came here.
    let long = "x".repeat(16 << 10);
    let mut one = invocation(Digest::of(&guest("spin")), &[&long]);
    one.max_reply = 8 << 10;
    match runner.invoke(&one) {
        Reply::Failed { code: FailCode::ReplyTooLarge, .. } => {}
        other => panic!("{other:?}"),
    }
}
