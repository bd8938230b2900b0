//! The deterministic WASI, as a component sees it.

use overspill_operator_runtime::{Call, Limits, LoadError};
use overspill_protocol::Cause;

use crate::common::{batch, rejected, runtime};
use crate::odd::{component, core_with};

/// The parts of WASI that the components here import.
const PACKAGES: &str = "
    package wasi:io@0.2.6 {
        interface error { resource error; }
        interface streams {
            use error.{error};
            variant stream-error { last-operation-failed(error), closed }
            resource output-stream {
                blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
            }
        }
    }
    package wasi:cli@0.2.6 {
        interface stderr {
            use wasi:io/streams@0.2.6.{output-stream};
            get-stderr: func() -> output-stream;
        }
        interface exit { exit: func(status: result); }
    }
    package wasi:filesystem@0.2.6 {
        interface types {
            resource descriptor { sync: func(); }
            no-such-thing: func() -> u32;
        }
    }
    package wasi:sockets@0.2.6 {
        interface tcp { connect: func(); }
    }
";

fn reason(imports: &str, core: &str) -> String {
    let operator = runtime().load(&component(imports, PACKAGES, core)).expect("an operator");
    assert!(!operator.imports().is_empty());
    let pool = operator.pool(&[], Limits::default()).expect("a pool");
    let mut instance = pool.take().expect("an instance");
    let run = instance.run(&batch(&["a"]), &Call::default()).expect("a run");
    assert_eq!(rejected(&run.emission), [(0, Cause::Trap)]);
    run.emission.rejected()[0].reason.clone()
}

#[test]
fn what_a_guest_says_before_it_traps_is_in_the_reason() {
    let core = core_with(
        r#"(import "wasi:cli/stderr@0.2.6" "get-stderr" (func $stderr (result i32)))
        (import "wasi:io/streams@0.2.6" "[method]output-stream.blocking-write-and-flush"
            (func $write (param i32 i32 i32 i32)))"#,
        r#"(i64.store (i32.const 4096) (i64.const 0x0a6c6c6974732068)) ;; "h still\n"
        (call $write (call $stderr) (i32.const 4096) (i32.const 8) (i32.const 8192))
        unreachable"#,
    );
    assert_eq!(
        reason("import wasi:cli/stderr@0.2.6;", &core),
        "the component trapped: wasm `unreachable` instruction executed; its standard error: h \
         still"
    );
}

#[test]
fn exit_stops_the_call_and_not_the_process() {
    let core = core_with(
        r#"(import "wasi:cli/exit@0.2.6" "exit" (func $exit (param i32)))"#,
        "(call $exit (i32.const 1)) unreachable",
    );
    assert_eq!(
        reason("import wasi:cli/exit@0.2.6;", &core),
        "the component was stopped: it called exit (failure); an operator returns, it doesn't end \
         the process"
    );
}

#[test]
fn a_file_function_may_be_carried_along_and_not_called() {
    let core = core_with(
        r#"(import "wasi:filesystem/types@0.2.6" "no-such-thing" (func $files (result i32)))"#,
        "call $files",
    );
    assert_eq!(
        reason("import wasi:filesystem/types@0.2.6;", &core),
        "the component was stopped: it called `wasi:filesystem/types` function `no-such-thing`, \
         which no operator is given"
    );
}

#[test]
fn sockets_are_not_given() {
    let core = core_with(
        r#"(import "wasi:sockets/tcp@0.2.6" "connect" (func $connect))"#,
        "(call $connect) unreachable",
    );
    let component = component("import wasi:sockets/tcp@0.2.6;", PACKAGES, &core);
    let error = runtime().load(&component).expect_err("no sockets");
    assert!(matches!(error, LoadError::Import { .. }), "{error:?}");
    let said = "imports `wasi:sockets/tcp@0.2.6`, which no operator is given";
    assert!(error.to_string().contains(said), "{error}");
}
