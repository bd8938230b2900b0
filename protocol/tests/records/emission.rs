use std::time::Duration;

use overspill_protocol::{
    Batch, CallLimits, Cause, Column, Digest, Emission, EmissionError, FailCode, Invocation,
    Rejection, Reply, Report, Response,
};

fn records(values: &[&str]) -> Batch {
    Batch::from_values(Column::from_values(values))
}

fn rejection(index: u32) -> Rejection {
    Rejection { index, cause: Cause::Operator, reason: format!("record {index} is wrong") }
}

/// Five input records: two outputs, none, rejected, one, rejected.
fn emission() -> Emission {
    let rejected = vec![rejection(2), rejection(4)];
    Emission::new(5, records(&["a", "b", "c"]), vec![2, 2, 2, 3, 3], rejected).unwrap()
}

#[test]
fn an_emission_knows_which_input_made_which_output() {
    let emission = emission();
    assert_eq!(emission.inputs(), 5);
    let outputs: Vec<_> = (0..5).map(|input| emission.outputs_of(input)).collect();
    assert_eq!(outputs, [0..2, 2..2, 2..2, 2..3, 3..3]);
}

#[test]
fn every_breach_of_the_contract_is_named() {
    let new = |ends: &[u32], rejected: &[u32]| {
        let rejected = rejected.iter().copied().map(rejection).collect();
        Emission::new(3, records(&["a", "b"]), ends.to_vec(), rejected).unwrap_err()
    };
    for (error, expected, text) in [
        (
            new(&[1, 2], &[]),
            EmissionError::Inputs { found: 2, inputs: 3 },
            "`ends` has 2 entries for 3 input records",
        ),
        (
            new(&[2, 1, 2], &[]),
            EmissionError::Decreasing { index: 1, begin: 2, end: 1 },
            "input record 1 is said to end its output at 1, before it begins at 2",
        ),
        (
            new(&[0, 1, 1], &[]),
            EmissionError::Coverage { end: 1, records: 2 },
            "`ends` covers 1 output records, but there are 2",
        ),
        (
            new(&[0, 1, u32::MAX], &[]),
            EmissionError::Coverage { end: u32::MAX, records: 2 },
            "`ends` covers 4294967295 output records, but there are 2",
        ),
        (
            new(&[0, 0, 2], &[1, 0]),
            EmissionError::Unordered { index: 0, previous: 1 },
            "rejection of record 0 comes after that of record 1",
        ),
        (
            new(&[0, 0, 2], &[1, 1]),
            EmissionError::Unordered { index: 1, previous: 1 },
            "rejection of record 1 comes after that of record 1",
        ),
        (
            new(&[0, 0, 2], &[3]),
            EmissionError::Unknown { index: 3, inputs: 3 },
            "record 3 was rejected, but there are only 3 input records",
        ),
        (
            new(&[0, 0, 2], &[0, 2]),
            EmissionError::RejectedWithOutput { index: 2, outputs: 2 },
            "record 2 was rejected, and yet it made 2 output records",
        ),
    ] {
        assert_eq!(error, expected);
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_slice_counts_from_its_own_beginning() {
    let slice = emission().slice(2..5);
    let rejected = slice.rejected().iter().map(|r| (r.index, r.reason.as_str()));
    assert!(rejected.eq([(0, "record 2 is wrong"), (2, "record 4 is wrong")]));
    assert_eq!(&slice.ends()[..], [0, 1, 1]);
    assert_eq!(slice.records(), &records(&["c"]));
    assert_eq!(emission().slice(2..2), Emission::empty());
}

#[test]
fn parts_join_to_what_they_were_cut_from() {
    let emission = emission();
    for first in 0..=5 {
        for second in first..=5 {
            let parts = [0..first, first..second, second..5].map(|part| emission.slice(part));
            assert_eq!(Emission::concat(parts.to_vec()).unwrap(), emission);
            // Each part is sound by itself.
            for part in parts {
                let (records, ends) = (part.records().clone(), part.ends().clone());
                let rejected = part.rejected().to_vec();
                assert_eq!(Emission::new(part.inputs(), records, ends, rejected), Ok(part));
            }
        }
    }
    assert_eq!(Emission::concat(Vec::new()), Ok(Emission::empty()));
}

#[test]
fn more_records_than_can_be_counted_are_refused() {
    let empty = Batch::from_values(Column::from_values(vec![b""; 1 << 20]));
    let many = Emission::new(1, empty, vec![1 << 20], Vec::new()).unwrap();
    let one = Emission::new(1, records(&["a"]), vec![1], Vec::new()).unwrap();
    let error = Emission::concat([vec![many; 1 << 12], vec![one]].concat()).unwrap_err();
    assert_eq!(error, EmissionError::TooMany { of: "output", records: (1 << 32) + 1 });
}

#[test]
fn a_reply_is_cut_to_what_it_may_take() {
    let emission = emission();
    let report = Report::default();
    let answer = |inputs, max_reply| {
        let asked = Invocation {
            id: 7,
            module: Digest::of(b""),
            settings: vec![],
            processing_time: 0,
            deadline: Duration::ZERO,
            max_reply,
            limits: CallLimits::default(),
            work: records(&vec![""; inputs]).into(),
        };
        Reply::answer(&asked, Response::FlatMap(emission.clone()), report)
    };
    let all = || Response::FlatMap(emission.clone());
    let whole = Reply::Done { id: 7, answer: all(), report };
    let len = whole.encoded_len();
    assert_eq!(answer(5, len), whole);
    // The runtime stopped early: the batch had more records.
    let partial = Reply::Partial { id: 7, answer: all(), report };
    assert_eq!(answer(6, len), partial);

    let mut seen = Vec::new();
    for max in (0..len).rev() {
        match answer(5, max) {
            Reply::Partial { id: 7, answer: Response::FlatMap(part), .. } => {
                assert_eq!(part, emission.slice(0..part.inputs()));
                let inputs = part.inputs();
                let reply = Reply::Partial { id: 7, answer: Response::FlatMap(part), report };
                assert!(reply.encoded_len() <= max);
                seen.push(inputs);
            }
            Reply::Failed { id: 7, code: FailCode::ReplyTooLarge, reason } => {
                assert!(reason.contains(&format!("and {max} are allowed")), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    seen.dedup();
    // As many as fit. Padding makes the lengths for 1 and 2 input records the same, and those for
    // 3 and 4.
    assert_eq!(seen, [4, 2]);
}
