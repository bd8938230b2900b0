//! Who gets in, and what may run.

use std::process::Command;

use crate::support::{Runner, TOKEN, guest, guests, invocation};
use overspill_protocol::{Column, Digest, RejectCode, Reply, Response};

#[test]
fn nobody_gets_in_without_the_token() {
    let runner = Runner::start(&[]);
    for (method, path) in [
        ("POST", "/v1/invoke"),
        ("PUT", "/v1/modules/00"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
        ("GET", "/nothing"),
    ] {
        for token in [None, Some("another-token-altogether"), Some("")] {
            let response = runner.connect().request(method, path, token, b"");
            assert_eq!(response.status, 401, "{method} {path} {token:?}");
            assert_eq!(response.code(), "unauthorized");
            assert_eq!(response.header("www-authenticate"), Some("Bearer"));
        }
        assert_ne!(runner.request(method, path, b"").status, 401, "{method} {path}");
    }
}

#[test]
fn everybody_may_ask_whether_it_lives() {
    let runner = Runner::start(&[]);
    assert_eq!(runner.connect().request("GET", "/healthz", None, b"").status, 200);
}

#[test]
fn each_of_several_tokens_gets_in() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "the-old-token-of-yesterday\nthe-new-token-of-today\n").unwrap();
    let runner = Runner::start(&["--token-file", file.path().to_str().unwrap()]);
    let status = |token| runner.connect().request("GET", "/readyz", Some(token), b"").status;
    assert_eq!(status("the-old-token-of-yesterday"), 200);
    assert_eq!(status("the-new-token-of-today"), 200);
    // A file that is named counts alone.
    assert_eq!(status(TOKEN), 401);
}

#[test]
fn a_component_on_no_list_is_refused() {
    let runner = Runner::start(&[]);
    let component = guest("tokenizer");
    let module = Digest::of(&component);
    match runner.invoke(&invocation(module, &["a b"])) {
        Reply::Rejected { id: 42, code: RejectCode::Untrusted, reason } => {
            assert!(reason.contains(&format!("--trust {module}")), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    let response = runner.request("PUT", &format!("/v1/modules/{module}"), &component);
    assert_eq!((response.status, response.code().as_str()), (403, "not-trusted"));
}

#[test]
fn a_trusted_component_is_asked_for_then_uploaded_then_run() {
    let component = guest("tokenizer");
    let module = Digest::of(&component);
    let runner = Runner::start(&["--trust", &module.to_string()]);
    let invocation = invocation(module, &["Big data", ""]);
    assert_eq!(runner.invoke(&invocation), Reply::NeedModule { id: 42, module });
    let path = format!("/v1/modules/{module}");
    assert_eq!(runner.request("PUT", &path, &component).status, 204);
    // Once more does no harm.
    assert_eq!(runner.request("PUT", &path, &component).status, 204);
    let Reply::Done { id: 42, answer: Response::FlatMap(emission), report } =
        runner.invoke(&invocation)
    else {
        panic!("not done")
    };
    assert_eq!(*emission.records().values(), Column::from_values(["big", "data"]));
    assert_eq!(emission.ends()[..], [2, 2]);
    assert!(report.cold && report.memory > 0 && !report.compute.is_zero(), "{report:?}");
    let Reply::Done { report, .. } = runner.invoke(&invocation) else { panic!("not done") };
    assert!(!report.cold, "{report:?}");
}

#[test]
fn an_altered_component_is_refused() {
    let mut component = guest("tokenizer");
    let module = Digest::of(&component);
    let runner = Runner::start(&["--trust", &module.to_string()]);
    *component.last_mut().unwrap() ^= 1;
    let response = runner.request("PUT", &format!("/v1/modules/{module}"), &component);
    assert_eq!((response.status, response.code().as_str()), (422, "altered"));
    assert_eq!(runner.invoke(&invocation(module, &["a"])), Reply::NeedModule { id: 42, module });
}

#[test]
fn trusted_bytes_that_are_no_operator_are_refused() {
    let bytes = b"\0asm, but not really";
    let module = Digest::of(bytes);
    let runner = Runner::start(&["--trust", &module.to_string()]);
    let response = runner.request("PUT", &format!("/v1/modules/{module}"), bytes);
    assert_eq!((response.status, response.code().as_str()), (422, "bad-module"));
}

#[test]
fn components_of_the_deployment_may_run() {
    let module = Digest::of(&guest("tokenizer"));
    let runner = Runner::start(&["--modules", guests().to_str().unwrap()]);
    assert!(matches!(runner.invoke(&invocation(module, &["a"])), Reply::Done { .. }));
}

#[test]
fn settings_that_an_operator_cannot_take_are_named() {
    let module = Digest::of(&guest("tokenizer"));
    let runner = Runner::start(&["--modules", guests().to_str().unwrap()]);
    let mut invocation = invocation(module, &["a"]);
    invocation.settings = vec![("colour".into(), "blue".into())];
    match runner.invoke(&invocation) {
        Reply::Rejected { code: RejectCode::Settings, reason, .. } => {
            assert!(reason.contains("colour"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

/// What the command writes before it gives up.
fn refusal(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_overspill-runner"))
        .args(arguments)
        .env_remove("OVERSPILL_RUNNER_TOKEN")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn it_does_not_start_without_a_token() {
    assert!(refusal(&[], &[]).contains("--token-file"));
}

#[test]
fn it_does_not_start_behind_a_door_that_it_has_not() {
    for (variable, place) in
        [("AWS_LAMBDA_RUNTIME_API", "AWS Lambda"), ("FUNCTIONS_CUSTOMHANDLER_PORT", "Azure")]
    {
        let said = refusal(&["--insecure-no-token"], &[(variable, "127.0.0.1:9001")]);
        assert!(said.contains(place), "{said}");
    }
}
