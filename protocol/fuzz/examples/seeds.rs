//! Writes the seeds of the two decoders' fuzz targets anew, after a change of the format:
//! `cargo run --release --example seeds`, in the folder `protocol/fuzz`.

use std::time::Duration;
use std::{fs, io};

use bytes::Bytes;
use overspill_protocol::{
    Batch, Cause, Column, Compression, Digest, Emission, FailCode, Invocation, RejectCode,
    Rejection, Reply, Report,
};

fn main() -> io::Result<()> {
    let batch = |values: &[&str], keys: Option<&[&str]>, timestamps: Option<Vec<i64>>| {
        let keys = keys.map(Column::from_values);
        Batch::new(Column::from_values(values), keys, timestamps.map(Into::into)).expect("sound")
    };
    let columns = batch(&["a line", "", "of text"], Some(&["k", "key", ""]), Some(vec![1, -2, 3]));
    let invocation = |settings: &[(&str, &str)], batch| Invocation {
        id: 7,
        module: Digest::of(b"a component"),
        settings: settings.iter().map(|&(name, value)| (name.into(), value.into())).collect(),
        processing_time: 1_700_000_000_000,
        deadline: Duration::from_millis(10_500),
        max_reply: 6 << 20,
        batch,
    };
    let long = batch(&["the same words, again and again, "; 20], None, None);
    for (name, invocation) in [
        ("empty", invocation(&[], Batch::empty())),
        ("columns", invocation(&[("language", "en"), ("größe", "5")], columns.clone())),
        ("long", invocation(&[], long)),
    ] {
        let encode = |compression| invocation.encode(compression);
        write("invocation", name, encode)?;
    }

    let rejected = |index, cause| Rejection { index, cause, reason: "not UTF-8".into() };
    let rejected = vec![rejected(1, Cause::Operator), rejected(3, Cause::Deadline)];
    let emission = Emission::new(4, columns, vec![2, 2, 3, 3], rejected).expect("sound");
    let report = Report { compute: Duration::from_micros(40), cold: true, memory: 1 << 20 };
    let reason = || "a reason".to_owned();
    for (name, reply) in [
        ("done", Reply::Done { id: 7, emission: Emission::empty(), report }),
        ("partial", Reply::Partial { id: 7, emission, report }),
        ("need_module", Reply::NeedModule { id: 7, module: Digest::of(b"a component") }),
        ("rejected", Reply::Rejected { id: 7, code: RejectCode::Untrusted, reason: reason() }),
        ("overloaded", Reply::Overloaded { id: 7, retry_after: Duration::from_millis(250) }),
        ("failed", Reply::Failed { id: 7, code: FailCode::Internal, reason: reason() }),
    ] {
        write("reply", name, |compression| reply.encode(compression))?;
    }
    Ok(())
}

/// Writes a message as it is, and its body in the form that the target puts a header before.
fn write(target: &str, name: &str, encode: impl Fn(Compression) -> Bytes) -> io::Result<()> {
    let folder = format!("seeds/{target}");
    fs::create_dir_all(&folder)?;
    let plain = encode(Compression::None);
    let (kind, body) = (plain[6], &plain[40..]);
    fs::write(format!("{folder}/{name}"), [&[0], &plain[..]].concat())?;
    fs::write(format!("{folder}/{name}_body"), [&[kind, 0], body].concat())?;
    let lz4 = encode(Compression::Lz4);
    let length = (body.len() as u32).to_le_bytes();
    fs::write(format!("{folder}/{name}_lz4"), [&[kind, 1], &length[..], &lz4[40..]].concat())
}
