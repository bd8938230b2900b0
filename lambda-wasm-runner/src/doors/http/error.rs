//! Requests that are no invocation, or aren't even read.

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use overspill_protocol::{DigestError, WireError};

use crate::modules::ModuleError;

/// A refusal: an HTTP status, a code for machines, and a message for people.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    message: String,
    /// Whether part of the request may still be on the wire, so that the connection can't be used
    /// again.
    close: bool,
}

impl Refused {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), close: false }
    }

    fn closing(self) -> Self {
        Self { close: true, ..self }
    }

    pub(super) fn unauthorized(shown: bool) -> Self {
        let message = match shown {
            false => "there is no token: send `Authorization: Bearer TOKEN`",
            true => "this token is not one of the runner's: check the target's token",
        };
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message).closing()
    }

    pub(super) fn unknown_path() -> Self {
        let message = "there is nothing here; this runner has POST /v1/invoke, PUT \
                       /v1/modules/{digest}, GET /healthz, /readyz and /metrics";
        Self::new(StatusCode::NOT_FOUND, "unknown-path", message).closing()
    }

    pub(super) fn wrong_method(method: &Method) -> Self {
        let message = format!(
            "{method} doesn't fit this path; use POST /v1/invoke, PUT /v1/modules/{{digest}}, GET \
             for the others"
        );
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", message).closing()
    }

    pub(super) fn draining() -> Self {
        let message = "the runner is about to stop: send this to another one";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "draining", message).closing()
    }

    pub(super) fn too_large(limit: usize, argument: &str) -> Self {
        let message = format!(
            "the body is larger than the {limit} bytes that this runner takes: send less at once, \
             or start it with a higher `{argument}`"
        );
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message).closing()
    }

    pub(super) fn too_slow() -> Self {
        let message = "the body did not arrive in time (`--receive-timeout`): send it again";
        Self::new(StatusCode::REQUEST_TIMEOUT, "too-slow", message).closing()
    }

    pub(super) fn cut_short(reason: &dyn std::fmt::Display) -> Self {
        let message = format!("the body ended early ({reason}): send it again");
        Self::new(StatusCode::BAD_REQUEST, "cut-short", message).closing()
    }

    pub(super) fn no_memory() -> Self {
        let message = "too many requests are being received at once (`--max-receiving`): wait a \
                       little, then send it again";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "overloaded", message).closing()
    }

    pub(super) fn malformed(error: &WireError) -> Self {
        let message = format!("the body is no invocation: {error}");
        Self::new(StatusCode::BAD_REQUEST, "malformed", message)
    }

    pub(super) fn bad_digest(error: &DigestError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-digest", error.to_string()).closing()
    }

    pub(super) fn module(error: &ModuleError) -> Self {
        let (status, code) = match error {
            ModuleError::NotTrusted(_) => (StatusCode::FORBIDDEN, "not-trusted"),
            ModuleError::Missing(_) => (StatusCode::NOT_FOUND, "missing"),
            ModuleError::Altered { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "altered"),
            ModuleError::Load { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bad-module"),
            ModuleError::Configure { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bad-settings"),
            ModuleError::Read { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        Self::new(status, code, error.to_string())
    }

    pub(super) fn internal() -> Self {
        let message = "the runner has a fault, which it has logged; the work can go elsewhere";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": { "code": self.code, "message": self.message } });
        let mut response = (self.status, format!("{body}\n")).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        if self.close {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
