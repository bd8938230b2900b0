//! Encodes sound messages of any shape and decodes them again.

#![no_main]

use std::time::Duration;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use overspill_protocol::{
    Batch, CallLimits, Cause, Column, Compression, Digest, Emission, FailCode, Invocation, Limits,
    RejectCode, Rejection, Reply, Report, Response,
};

#[derive(Arbitrary, Debug)]
struct Records {
    values: Vec<Vec<u8>>,
    keys: Option<Vec<u8>>,
    timestamps: Option<i64>,
    /// The message may hold a slice from the middle.
    skip: u8,
    drop: u8,
}

impl Records {
    fn batch(&self) -> Batch {
        let len = self.values.len();
        let keys = self
            .keys
            .as_ref()
            .map(|key| Column::from_values((0..len).map(|i| &key[i % (key.len() + 1)..])));
        let timestamps = self.timestamps.map(|first| {
            (0..len as i64).map(|i| first.wrapping_mul(i + 1)).collect::<Vec<_>>().into()
        });
        let all = Batch::new(Column::from_values(&self.values), keys, timestamps).unwrap();
        let begin = usize::from(self.skip).min(len);
        let end = len.saturating_sub(self.drop.into()).max(begin);
        all.slice(begin..end)
    }
}

#[derive(Arbitrary, Debug)]
enum Message {
    Invocation {
        module: [u8; 32],
        settings: Vec<(String, String)>,
        processing_time: i64,
        deadline: Duration,
        max_reply: usize,
        /// Deadline, memory, output and state of a call.
        limits: (Duration, usize, usize, usize),
        records: Records,
    },
    Done {
        records: Records,
        /// For each input record, how many output records it takes, or why it was rejected.
        inputs: Vec<Result<u8, (u8, String)>>,
        partial: bool,
        compute: Duration,
        cold: bool,
        memory: u64,
        max_reply: u16,
    },
    NeedModule([u8; 32]),
    NeedState(Vec<u32>),
    Rejected(u8, String),
    Overloaded(Duration),
    Failed(u8, String),
}

const CAUSES: [Cause; 7] = [
    Cause::Operator,
    Cause::Trap,
    Cause::Deadline,
    Cause::Memory,
    Cause::Output,
    Cause::Contract,
    Cause::State,
];

fn emission(records: &Records, inputs: &[Result<u8, (u8, String)>]) -> Emission {
    let records = records.batch();
    let (mut ends, mut rejected, mut end) = (Vec::new(), Vec::new(), 0);
    for (index, input) in inputs.iter().enumerate() {
        match input {
            Ok(outputs) => end = (end + usize::from(*outputs)).min(records.len()),
            Err((cause, reason)) => rejected.push(Rejection {
                index: index as u32,
                cause: CAUSES[usize::from(*cause) % CAUSES.len()],
                reason: reason.clone(),
            }),
        }
        ends.push(end as u32);
    }
    Emission::new(inputs.len(), records.slice(0..end), ends, rejected).unwrap()
}

fuzz_target!(|input: (u64, Message)| {
    let (id, message) = input;
    let limits = Limits::default();
    let compressions = [Compression::None, Compression::Lz4, Compression::Auto];
    let reply = match message {
        Message::Invocation {
            module,
            settings,
            processing_time,
            deadline,
            max_reply,
            limits: (call_deadline, memory, output, state),
            records,
        } => {
            let invocation = Invocation {
                id,
                module: Digest::from_bytes(module),
                settings,
                processing_time,
                deadline,
                max_reply,
                limits: CallLimits { deadline: call_deadline, memory, output, state },
                work: records.batch().into(),
            };
            for compression in compressions {
                let decoded = Invocation::decode(invocation.encode(compression), &limits);
                assert_eq!(decoded.as_ref(), Ok(&invocation));
            }
            return;
        }
        Message::Done { records, inputs, partial, compute, cold, memory, max_reply } => {
            let emission = emission(&records, &inputs);
            let report = Report { compute, cold, memory };
            let max_reply = max_reply.into();
            let inputs = Column::from_values(vec![b""; emission.inputs()]);
            let asked = Invocation {
                id,
                module: Digest::from_bytes([0; 32]),
                settings: Vec::new(),
                processing_time: 0,
                deadline: Duration::ZERO,
                max_reply,
                limits: CallLimits::default(),
                work: Batch::from_values(inputs).into(),
            };
            let cut = Reply::answer(&asked, Response::FlatMap(emission.clone()), report);
            if let Reply::Done { answer: Response::FlatMap(part), .. }
            | Reply::Partial { answer: Response::FlatMap(part), .. } = &cut
            {
                assert!(cut.encoded_len() <= max_reply);
                assert_eq!(*part, emission.slice(0..part.inputs()));
                // The rest answers the rest.
                let rest = emission.slice(part.inputs()..emission.inputs());
                let joined = Emission::concat_resolved(vec![part.clone(), rest]).unwrap();
                match emission.records().is_empty() {
                    // Records that aren't there have no columns.
                    true => assert_eq!(joined.rejected(), emission.rejected()),
                    false => assert_eq!(joined, emission),
                }
            }
            let answer = Response::FlatMap(emission);
            match partial {
                true => Reply::Partial { id, answer, report },
                false => Reply::Done { id, answer, report },
            }
        }
        Message::NeedState(mut keys) => {
            keys.sort_unstable();
            keys.dedup();
            Reply::NeedState { id, keys }
        }
        Message::NeedModule(module) => Reply::NeedModule { id, module: Digest::from_bytes(module) },
        Message::Rejected(code, reason) => {
            let code = RejectCode::ALL[usize::from(code) % RejectCode::ALL.len()];
            Reply::Rejected { id, code, reason }
        }
        Message::Overloaded(retry_after) => Reply::Overloaded { id, retry_after },
        Message::Failed(code, reason) => {
            let code = FailCode::ALL[usize::from(code) % FailCode::ALL.len()];
            Reply::Failed { id, code, reason }
        }
    };
    for compression in compressions {
        assert_eq!(Reply::decode(reply.encode(compression), &limits).as_ref(), Ok(&reply));
    }
});
