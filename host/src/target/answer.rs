//! What an HTTP answer means: the one place where status, headers and body become an outcome.
//!
//! Three questions are told apart, because the burst core treats them differently: did nothing run
//! (`Overloaded`, safe to send at once elsewhere), is it unknown (`Lost`), or can this target not
//! do it (`Failed`)?

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::{HeaderMap, StatusCode, header};
use overspill_protocol::{
    Digest, FailCode, Invocation, Limits, Reply, Report, Request, Response, WireError,
};
use serde::Deserialize;

use crate::burst::Outcome;

/// An answer as it came.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Bytes,
}

impl Received {
    pub(super) fn new(status: StatusCode, headers: &HeaderMap, body: Bytes) -> Self {
        let retry_after = headers
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        Self { status, retry_after, body }
    }
}

/// From how many bytes on a piece is worth keeping in the connection's buffer, which it keeps
/// alive as a whole: up to 400 KiB.
const WORTH_SHARING: usize = 32 << 10;

/// A body of which the pieces come one by one.
///
/// A large body that comes in one piece, as most do on one machine, is not copied: copying was the
/// largest part of what an answer costs the host outside the kernel.
pub(super) struct Joined {
    announced: usize,
    whole: Option<Bytes>,
    copied: BytesMut,
}

impl Joined {
    /// A body that is said to have `announced` bytes; 0 when nothing was said.
    pub(super) fn new(announced: usize) -> Self {
        Self { announced, whole: None, copied: BytesMut::new() }
    }

    /// How many bytes have come.
    pub(super) fn len(&self) -> usize {
        self.whole.as_ref().map_or(0, Bytes::len) + self.copied.len()
    }

    /// Appends a piece.
    pub(super) fn push(&mut self, piece: Bytes) {
        if self.len() == 0 && piece.len() == self.announced && piece.len() >= WORTH_SHARING {
            self.whole = Some(piece);
            return;
        }
        self.copied.reserve(self.announced.saturating_sub(self.copied.len()).max(piece.len()));
        if let Some(whole) = self.whole.take() {
            // More than was announced.
            self.copied.extend_from_slice(&whole);
        }
        self.copied.extend_from_slice(&piece);
    }

    /// The body.
    pub(super) fn finish(self) -> Bytes {
        self.whole.unwrap_or_else(|| self.copied.freeze())
    }
}

/// What was asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) id: u64,
    pub(super) module: Digest,
    pub(super) work: &'a Request,
    pub(super) max_reply: usize,
}

impl<'a> From<&'a Invocation> for Asked<'a> {
    fn from(asked: &'a Invocation) -> Self {
        let Invocation { id, module, max_reply, ref work, .. } = *asked;
        Self { id, module, work, max_reply }
    }
}

/// What an answer means.
#[derive(Debug)]
pub(super) struct Meaning {
    pub(super) outcome: Outcome<Response>,
    pub(super) cold: bool,
    pub(super) compute: Duration,
}

impl From<Outcome<Response>> for Meaning {
    fn from(outcome: Outcome<Response>) -> Self {
        Self { outcome, cold: false, compute: Duration::ZERO }
    }
}

/// The meaning of the answer to an invocation.
pub(super) fn to_invocation(asked: Asked<'_>, received: &Received) -> Meaning {
    match received.status {
        StatusCode::OK => {}
        StatusCode::TOO_MANY_REQUESTS => return overloaded(asked, received).into(),
        _ => return status(received).into(),
    }
    let limits = Limits { max_message: asked.max_reply, ..Limits::default() };
    let reply = match Reply::decode(received.body.clone(), &limits) {
        Ok(reply) => reply,
        Err(error) => return undecodable(&error).into(),
    };
    if reply.id() != asked.id {
        let reason = format!("the answer is for invocation {}, not {}", reply.id(), asked.id);
        return Outcome::Lost { reason }.into();
    }
    match reply {
        Reply::Done { answer, report, .. } => done(asked, answer, report, true),
        Reply::Partial { answer, report, .. } => done(asked, answer, report, false),
        Reply::NeedModule { module, .. } if module == asked.module => Outcome::NeedModule.into(),
        Reply::NeedModule { module, .. } => {
            broken(format!("it needs component {module}, but was asked for {}", asked.module))
                .into()
        }
        Reply::NeedState { keys, .. } => need_state(asked, &keys).into(),
        Reply::Overloaded { retry_after, .. } => {
            Outcome::Overloaded { retry_after: Some(retry_after) }.into()
        }
        Reply::Rejected { code, reason, .. } => Outcome::Failed {
            reason: format!("the runner refuses the invocation ({code}): {reason}"),
            retryable: false,
        }
        .into(),
        Reply::Failed { code, reason, .. } => Outcome::Failed {
            reason: format!("the runner failed ({code}): {reason}"),
            // Too large an answer stays too large; the rest may be different on another runner,
            // or on this one when it is warm.
            retryable: code != FailCode::ReplyTooLarge,
        }
        .into(),
    }
}

/// The meaning of an answer to the `whole` work, or to the first part of it.
fn done(asked: Asked<'_>, answer: Response, report: Report, whole: bool) -> Meaning {
    let (name, all) = (if whole { "done" } else { "partial" }, asked.work.len());
    if let Err(error) = answer.check(asked.work) {
        return broken(format!("`{name}`: {error}")).into();
    }
    let is_right = match whole {
        true => answer.len() == all,
        false => (1..=all).contains(&answer.len()),
    };
    match is_right {
        true => {
            Meaning { outcome: Outcome::Done(answer), cold: report.cold, compute: report.compute }
        }
        false => broken(format!("`{name}` answers {} of {all} units of work", answer.len())).into(),
    }
}

/// The meaning of a runner's lack of states that it was thought to hold.
fn need_state(asked: Asked<'_>, keys: &[u32]) -> Outcome<Response> {
    let was_left_out = |key: &u32| match asked.work {
        Request::Keyed(shipment) => {
            (*key as usize) < shipment.len() && shipment.is_held(*key as usize)
        }
        Request::FlatMap(_) | Request::Accumulate(_) => false,
    };
    // Else it would be asked for again and again.
    match !keys.is_empty() && keys.iter().all(was_left_out) {
        true => Outcome::NeedState,
        false => broken("it lacks states that were sent to it".to_owned()),
    }
}

/// The meaning of the answer to an upload; `None`: the component is there.
pub(super) fn to_upload(received: &Received) -> Option<Outcome<Response>> {
    match received.status.is_success() {
        true => None,
        false => Some(status(received)),
    }
}

fn overloaded(asked: Asked<'_>, received: &Received) -> Outcome<Response> {
    // The reply knows it to the millisecond, the header to the second.
    let retry_after = match Reply::decode(received.body.clone(), &Limits::default()) {
        Ok(Reply::Overloaded { id, retry_after }) if id == asked.id => Some(retry_after),
        _ => received.retry_after,
    };
    Outcome::Overloaded { retry_after }
}

fn broken(what: String) -> Outcome<Response> {
    Outcome::Failed { reason: format!("the answer makes no sense: {what}"), retryable: false }
}

fn undecodable(error: &WireError) -> Outcome<Response> {
    match error {
        // Cut or damaged on its way: the next may come through.
        WireError::Truncated { .. } | WireError::Checksum { .. } => {
            Outcome::Lost { reason: format!("the answer was damaged: {error}") }
        }
        _ => Outcome::Failed {
            reason: format!("the answer is no reply of a runner: {error}"),
            retryable: false,
        },
    }
}

/// The meaning of an answer that is no reply.
fn status(received: &Received) -> Outcome<Response> {
    let status = received.status;
    let said = said(&received.body);
    let failed = |what: &str, retryable| Outcome::Failed {
        reason: format!("{what} (HTTP {}){said}", status.as_u16()),
        retryable,
    };
    match status {
        StatusCode::UNAUTHORIZED => failed("the runner doesn't know the token", false),
        StatusCode::FORBIDDEN => failed("the runner refuses this", false),
        StatusCode::NOT_FOUND => failed("there is no runner at this URL", false),
        StatusCode::PAYLOAD_TOO_LARGE => failed("the batch is too large for this target", false),
        StatusCode::REQUEST_TIMEOUT => failed("the request arrived too slowly", true),
        // A gateway without a free runner, or a runner that is about to stop: nothing ran.
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            Outcome::Overloaded { retry_after: received.retry_after }
        }
        // A gateway lost its runner: whether the work was done, it can't tell.
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => Outcome::Lost {
            reason: format!("a gateway lost the runner (HTTP {}){said}", status.as_u16()),
        },
        status if status.is_server_error() => failed("the runner has a fault", true),
        _ => failed("unexpected answer", false),
    }
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorText,
}

#[derive(Deserialize)]
struct ErrorText {
    code: String,
    message: String,
}

/// What the runner says of it, as much as a log line can hold.
fn said(body: &[u8]) -> String {
    const LONGEST: usize = 300;
    let text = match serde_json::from_slice::<ErrorBody>(body) {
        Ok(ErrorBody { error: ErrorText { code, message } }) => format!("{message} [{code}]"),
        Err(_) => String::from_utf8_lossy(body).trim().to_owned(),
    };
    // A foreign server's text ends up in a terminal: control characters don't.
    let text: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    match text.is_empty() {
        true => text,
        false => format!(": {text}"),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use overspill_protocol::keyed::{
        Fingerprint, ShipmentAnswerBuilder, ShipmentBuilder, StateChange, StateEntry, Timer,
    };
    use overspill_protocol::{Batch, Column, Compression, Emission, RejectCode};

    use super::*;

    const MODULE: Digest = Digest::from_bytes([1; 32]);

    fn records(count: usize) -> Batch {
        Batch::from_values(Column::from_values((0..count).map(|i| i.to_string())))
    }

    /// What the answer `received` to two records means.
    fn meaning(received: &Received) -> Outcome<Response> {
        answer_to(&records(2).into(), received)
    }

    fn answer_to(work: &Request, received: &Received) -> Outcome<Response> {
        let asked = Asked { id: 7, module: MODULE, work, max_reply: 1 << 20 };
        to_invocation(asked, received).outcome
    }

    fn answer(status: u16, body: impl Into<Bytes>) -> Outcome<Response> {
        let status = StatusCode::from_u16(status).unwrap();
        meaning(&Received { status, retry_after: None, body: body.into() })
    }

    fn emission(inputs: usize) -> Response {
        let ends = (1..=inputs as u32).collect::<Vec<_>>();
        Response::FlatMap(Emission::new(inputs, records(inputs), ends, vec![]).unwrap())
    }

    fn done(id: u64, inputs: usize) -> Bytes {
        let report = Report::default();
        Reply::Done { id, answer: emission(inputs), report }.encode(Compression::None)
    }

    /// A shipment of one key, whose state the runner is thought to hold, and of another.
    fn shipment() -> Request {
        let mut builder = ShipmentBuilder::new(1, 2);
        builder.key(b"held", 5, StateEntry::Held(Fingerprint::of(None)), []);
        builder.key(b"sent", 9, StateEntry::Missing, []);
        Request::Keyed(builder.finish(false).unwrap())
    }

    fn answer_to_shipment(reply: &Reply) -> Outcome<Response> {
        let body = reply.encode(Compression::None);
        answer_to(&shipment(), &Received { status: StatusCode::OK, retry_after: None, body })
    }

    #[test]
    fn a_runner_may_lack_only_states_that_were_left_out() {
        let need = |keys: &[u32]| Reply::NeedState { id: 7, keys: keys.to_vec() };
        assert_eq!(answer_to_shipment(&need(&[0])), Outcome::NeedState);
        for keys in [&[][..], &[1], &[0, 1], &[2]] {
            assert!(is_failed(&answer_to_shipment(&need(keys)), false), "{keys:?}");
        }
        let flatmap = answer(200, need(&[0]).encode(Compression::None));
        assert!(is_failed(&flatmap, false));
    }

    #[test]
    fn an_answer_that_names_what_was_not_sent_makes_no_sense() {
        let report = Report::default();
        let answer = |fired: &[Timer]| {
            let mut builder = ShipmentAnswerBuilder::default();
            builder.key(StateChange::Cleared, &[], [], [], fired.iter().copied());
            let answer = builder.finish(&Column::from_values(["held", "sent"])).unwrap();
            Reply::Partial { id: 7, answer: Response::Keyed(answer), report }
        };
        assert!(matches!(answer_to_shipment(&answer(&[])), Outcome::Done(_)));
        assert!(is_failed(&answer_to_shipment(&answer(&[Timer::event(1)])), false));
        let other_kind = Reply::Partial { id: 7, answer: emission(1), report };
        assert!(is_failed(&answer_to_shipment(&other_kind), false));
    }

    fn is_failed(outcome: &Outcome<Response>, retry: bool) -> bool {
        matches!(outcome, Outcome::Failed { retryable, .. } if *retryable == retry)
    }

    #[test]
    fn a_body_is_the_same_in_however_many_pieces_it_comes() {
        let body: Bytes = (0..100_000_u32).map(|n| n as u8).collect();
        for announced in [0, body.len(), body.len() / 2, 40_000, 2 * body.len()] {
            for piece in [1_000, 40_000, body.len()] {
                let mut joined = Joined::new(announced);
                for at in (0..body.len()).step_by(piece) {
                    assert_eq!(joined.len(), at);
                    joined.push(body.slice(at..body.len().min(at + piece)));
                }
                assert!(joined.finish() == body, "{announced} announced, {piece} at a time");
            }
        }
    }

    #[test]
    fn a_large_body_in_one_piece_is_not_copied_and_a_small_one_does_not_keep_its_buffer() {
        let buffer = Bytes::from(vec![7; 400 << 10]);
        let is_shared = |len| {
            let mut joined = Joined::new(len);
            joined.push(buffer.slice(..len));
            joined.finish().as_ptr() == buffer.as_ptr()
        };
        assert!(is_shared(WORTH_SHARING));
        assert!(!is_shared(WORTH_SHARING - 1));
    }

    #[test]
    fn a_whole_answer_is_done() {
        assert_eq!(answer(200, done(7, 2)), Outcome::Done(emission(2)));
    }

    #[test]
    fn a_done_answer_for_fewer_records_than_asked_makes_no_sense() {
        assert!(is_failed(&answer(200, done(7, 1)), false));
    }

    #[test]
    fn a_partial_answer_is_done_for_the_first_records_but_never_for_none() {
        let partial = |inputs| {
            let report = Report::default();
            Reply::Partial { id: 7, answer: emission(inputs), report }.encode(Compression::None)
        };
        assert_eq!(answer(200, partial(1)), Outcome::Done(emission(1)));
        assert!(is_failed(&answer(200, partial(0)), false));
        assert!(is_failed(&answer(200, partial(3)), false));
    }

    #[test]
    fn an_answer_for_another_invocation_is_lost() {
        assert!(matches!(answer(200, done(8, 2)), Outcome::Lost { .. }));
    }

    #[test]
    fn a_cut_or_altered_answer_is_lost() {
        let whole = done(7, 2);
        assert!(matches!(answer(200, whole.slice(..whole.len() - 1)), Outcome::Lost { .. }));
        let mut altered = whole.to_vec();
        *altered.last_mut().unwrap() ^= 1;
        assert!(matches!(answer(200, altered), Outcome::Lost { .. }));
    }

    #[test]
    fn an_answer_of_something_else_is_no_reply() {
        let page = "<html>It works! This page is longer than the header of a reply.</html>";
        assert!(is_failed(&answer(200, page), false));
    }

    #[test]
    fn need_module_must_name_the_module_that_was_asked_for() {
        let need = |module| Reply::NeedModule { id: 7, module }.encode(Compression::None);
        assert_eq!(answer(200, need(MODULE)), Outcome::NeedModule);
        assert!(is_failed(&answer(200, need(Digest::from_bytes([2; 32]))), false));
    }

    #[test]
    fn a_refusal_is_final_and_a_failure_usually_is_not() {
        let reason = String::new();
        let rejected = Reply::Rejected { id: 7, code: RejectCode::Untrusted, reason };
        assert!(is_failed(&answer(200, rejected.encode(Compression::None)), false));
        for (code, retryable) in [(FailCode::Internal, true), (FailCode::ReplyTooLarge, false)] {
            let failed = Reply::Failed { id: 7, code, reason: String::new() };
            assert!(is_failed(&answer(200, failed.encode(Compression::None)), retryable), "{code}");
        }
    }

    #[test]
    fn a_throttle_says_how_long_to_wait_as_finely_as_it_can() {
        let reply = Reply::Overloaded { id: 7, retry_after: Duration::from_millis(20) };
        let body = reply.encode(Compression::None);
        let wait = |body: Bytes| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("3"));
            let received = Received::new(StatusCode::TOO_MANY_REQUESTS, &headers, body);
            meaning(&received)
        };
        let after =
            |millis| Outcome::Overloaded { retry_after: Some(Duration::from_millis(millis)) };
        assert_eq!(wait(body), after(20));
        assert_eq!(wait(Bytes::from_static(b"slow down")), after(3000));
        assert_eq!(answer(429, ""), Outcome::Overloaded { retry_after: None });
    }

    #[test]
    fn each_status_has_its_meaning() {
        for (status, retryable) in
            [(400, false), (401, false), (403, false), (404, false), (413, false), (500, true)]
        {
            assert!(is_failed(&answer(status, ""), retryable), "{status}");
        }
        for status in [502, 504] {
            assert!(matches!(answer(status, ""), Outcome::Lost { .. }), "{status}");
        }
        assert_eq!(answer(503, ""), Outcome::Overloaded { retry_after: None });
    }

    #[test]
    fn what_the_runner_says_is_passed_on_without_control_characters() {
        let body = r#"{"error":{"code":"not-trusted","message":"start it with \u001b[1m--trust"}}"#;
        let Outcome::Failed { reason, .. } = answer(403, body) else { panic!("not failed") };
        assert!(reason.contains("--trust [not-trusted]"), "{reason}");
        assert!(!reason.contains('\u{1b}'), "{reason}");
    }
}
