//! Components that no compiler makes: written by hand, to do what a language wouldn't let them.

use overspill_operator_runtime::{Call, Limits, LoadError};
use overspill_protocol::{Cause, Digest};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::common::{batch, rejected, runtime};

/// The description, the exports that every operator has, and the memory that they are in.
/// `describe` gives the record at 512; strings are at 256 and 272; 1024 and up is free.
const COMMON: &str = r#"
    (memory (export "memory") 20)
    (data (i32.const 256) "odd")
    (data (i32.const 272) "0.1.0")
    (data (i32.const 512)
        "\00\01\00\00\03\00\00\00"      ;; name
        "\10\01\00\00\05\00\00\00"      ;; version
        "\00\00\00\00"                  ;; kind: flatmap
        "\10\01\00\00\05\00\00\00"      ;; contract
        "\00\00\00\00"                  ;; state schema
        "\00\00\00\00\00\00\00\00"      ;; settings
        "\00\00\00\00\00\00\00\00"      ;; inputs
        "\00\00\00\00\00\00\00\00")     ;; side outputs
    (func (export "overspill:operator/describe@0.1.0#describe") (result i32) i32.const 512)
    (func (export "overspill:operator/configure@0.1.0#configure") (param i32 i32) (result i32)
        ;; A result of zeroes is `ok`.
        i32.const 1024)
    ;; Everything the host hands over goes to the same place.
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 65536)
"#;

const FLAT_MAP: &str = "(func (export \"overspill:operator/flatmap@0.1.0#flat-map\")
    (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)";

/// A flatmap operator out of a core module. `imports` are lines of its world, `packages` what
/// they come from.
pub(crate) fn component(imports: &str, packages: &str, core: &str) -> Vec<u8> {
    let mut module = wat::parse_str(format!("(module {core})")).expect("a core module");
    let mut resolve = Resolve::new();
    resolve.push_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../wit")).expect("the contract");
    let world = format!(
        "package test:odd;
        world odd {{ include overspill:operator/flatmap-operator@0.1.0; {imports} }}
        {packages}"
    );
    let package = resolve.push_str("odd.wit", &world).expect("a world");
    let world = resolve.select_world(&[package], Some("odd")).expect("the world");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .expect("its metadata");
    let encoder = ComponentEncoder::default().validate(true).module(&module);
    encoder.expect("the module").encode().expect("a component")
}

/// The operator with that `flat-map`.
fn with_flat_map(body: &str) -> Vec<u8> {
    component("", "", &format!("{COMMON} {FLAT_MAP} {body})"))
}

/// The same, as a part of [`component`]'s core module.
pub(crate) fn core_with(imports: &str, flat_map: &str) -> String {
    format!("{imports} {COMMON} {FLAT_MAP} {flat_map})")
}

fn run(component: &[u8], limits: Limits) -> overspill_operator_runtime::Run {
    let operator = runtime().load(component).expect("an operator");
    let pool = operator.pool(&[], limits).expect("a pool");
    let mut instance = pool.take().expect("an instance");
    instance.run(&batch(&["a"]), &Call::default()).expect("a run")
}

#[test]
fn a_table_grab_is_stopped() {
    let grab = "(loop (drop (table.grow (ref.null func) (i32.const 1000))) (br 0)) unreachable";
    let core = core_with("(table 1 funcref)", grab);
    let run = run(&component("", "", &core), Limits::default());
    assert_eq!(rejected(&run.emission), [(0, Cause::Memory)]);
    let reason = &run.emission.rejected()[0].reason;
    assert!(
        reason.starts_with("limit `table elements` exceeded: limit 100000 elements, current 99"),
        "{reason}"
    );
}

#[test]
fn an_answer_that_names_the_same_bytes_many_times_is_not_copied_many_times() {
    // A list of 50,000 rejections, the reason of each the same 500 KB of memory: 25 GB.
    let emission = "
        (local $at i32) (local $index i32)
        (local.set $at (i32.const 131072))
        (loop
            (i32.store (local.get $at) (local.get $index))
            (i32.store offset=4 (local.get $at) (i32.const 800000))
            (i32.store offset=8 (local.get $at) (i32.const 500000))
            (local.set $at (i32.add (local.get $at) (i32.const 12)))
            (local.set $index (i32.add (local.get $index) (i32.const 1)))
            (br_if 0 (i32.lt_u (local.get $index) (i32.const 50000))))
        (i32.store (i32.const 2104) (i32.const 131072))
        (i32.store (i32.const 2108) (i32.const 50000))
        (i32.const 2048)";
    let run = run(&with_flat_map(emission), Limits::default());
    assert_eq!(rejected(&run.emission), [(0, Cause::Output)]);
}

#[test]
fn an_answer_outside_the_memory_is_found() {
    let run = run(&with_flat_map("(i32.const 0x7ffffff0)"), Limits::default());
    assert_eq!(rejected(&run.emission), [(0, Cause::Contract)]);
    let reason = &run.emission.rejected()[0].reason;
    assert!(reason.starts_with("the component's answer breaks the contract"), "{reason}");
}

#[test]
fn what_is_no_component_is_told_apart() {
    let message = |bytes: &[u8]| runtime().load(bytes).expect_err("no component").to_string();
    let digest = Digest::of(b"").to_string();
    assert_eq!(message(b""), format!("{digest} is no WebAssembly component: there are no bytes"));
    assert!(message(b"#!/bin/sh\n").contains("doesn't begin with the bytes of WebAssembly"));
    let module = wat::parse_str("(module)").expect("a module");
    assert!(message(&module).contains("it is a core module; make a component of it"));
    let mut cut_short = with_flat_map("unreachable");
    cut_short.truncate(cut_short.len() / 2);
    assert!(message(&cut_short).contains("is no WebAssembly component: "));
    let empty = wat::parse_str("(component)").expect("a component");
    assert!(message(&empty).contains("the component is no operator: it exports nothing"));
}

#[test]
fn an_export_of_the_right_name_and_another_type_is_found() {
    let wrong = r#"(component
        (core module $m (func (export "f")))
        (core instance $i (instantiate $m))
        (func $f (canon lift (core func $i "f")))
        (instance $none (export "f" (func $f)))
        (export "overspill:operator/describe@0.1.0" (instance $none))
        (export "overspill:operator/configure@0.1.0" (instance $none))
        (export "overspill:operator/flatmap@0.1.0" (instance $none)))"#;
    let bytes = wat::parse_str(wrong).expect("a component");
    let error = runtime().load(&bytes).expect_err("the wrong type");
    assert!(matches!(error, LoadError::Instance(_)), "{error:?}");
    assert!(error.to_string().contains("has no function `describe`"), "{error}");
}
