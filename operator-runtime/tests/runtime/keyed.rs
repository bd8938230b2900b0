//! Shipments through a real component: whole, in slices, and under ceilings and budgets.

use std::time::Duration;

use overspill_operator_runtime::{Call, Limits};
use overspill_protocol::Cause;
use overspill_protocol::keyed::{Shipment, ShipmentAnswer, Timer};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha12Rng;

use crate::common::keyed::{
    fresh, outputs, rejected, rejected_timers, run, shipment, states, step, timers,
};
use crate::common::pool;

const GUEST: &str = "hostile-trap-on-key";

/// A shipment of many keys and steps, with records and timers that trap among others.
fn random(random: &mut ChaCha12Rng) -> Shipment {
    let keys: Vec<(String, Option<&str>, Vec<Timer>)> = (0..random.random_range(1..60))
        .map(|key| {
            let state = [None, None, Some("old"), Some("trap later")][random.random_range(0..4)];
            let timers = (0..random.random_range(0..3)).map(|_| random.random_range(0..30));
            (key.to_string(), state, timers.map(Timer::event).collect())
        })
        .collect();
    let mut watermark = 0;
    let steps = (0..random.random_range(1..5)).map(|_| {
        let words: Vec<(u32, Vec<String>)> = (0..keys.len() as u32)
            .filter(|_| random.random_bool(0.7))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|key| (key, (0..random.random_range(1..4)).map(|_| word(random)).collect()))
            .collect();
        let words: Vec<(u32, Vec<&str>)> = words
            .iter()
            .map(|(key, words)| (*key, words.iter().map(|word| &**word).collect()))
            .collect();
        let words: Vec<(u32, &[&str])> = words.iter().map(|(k, words)| (*k, &**words)).collect();
        let then = watermark + random.random_range(0..30);
        step(std::mem::replace(&mut watermark, then), then, &words)
    });
    let steps = steps.collect();
    let keys: Vec<(&str, Option<&str>, &[Timer])> =
        keys.iter().map(|(key, state, timers)| (&**key, *state, &**timers)).collect();
    // Only the timers that can fire are shipped.
    let keys: Vec<_> = keys
        .iter()
        .map(|(key, state, timers)| {
            let due: Vec<Timer> = timers.iter().copied().filter(|t| t.time <= watermark).collect();
            (*key, *state, due)
        })
        .collect();
    let keys: Vec<_> = keys.iter().map(|(key, state, timers)| (*key, *state, &**timers)).collect();
    shipment(&keys, steps)
}

fn word(random: &mut ChaCha12Rng) -> String {
    match random.random_range(0..12) {
        0 => "trap".to_owned(),
        1 => "trap later".to_owned(),
        2 => "clear".to_owned(),
        3 | 4 => format!("timer {}", random.random_range(0..90)),
        5 => format!("not {}", random.random_range(0..90)),
        6 => format!("tick {}", random.random_range(990..1010)),
        number => number.to_string(),
    }
}

/// All that shows of an answer.
fn shown(answer: &ShipmentAnswer) -> impl PartialEq + std::fmt::Debug {
    let lists = [answer.set(), answer.cancelled(), answer.fired()];
    let timers: Vec<_> =
        lists.iter().flat_map(|list| (0..answer.len()).map(|key| timers(list, key))).collect();
    (states(answer), outputs(answer), rejected(answer), rejected_timers(answer), timers)
}

#[test]
fn slices_and_parts_give_what_the_whole_gives() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let (mut bad, mut cut) = (0, 0);
    for seed in 0..40 {
        let mut draws = ChaCha12Rng::seed_from_u64(seed);
        let all = random(&mut draws);
        let whole = instance.run_keyed(&all, &Call::default()).expect("a run").answer;
        whole.check(&all).expect("an answer to this shipment");
        bad += whole.rejected().len() + whole.rejected_timers().len();
        let (mut parts, mut done) = (Vec::new(), 0);
        while done < all.len() {
            let end = draws.random_range(done + 1..=all.len());
            let slice = all.slice(done..end);
            let max_output = draws.random_bool(0.5).then(|| draws.random_range(2000..9000));
            let budget = draws.random_bool(0.5).then(|| Duration::from_secs(60));
            let call = Call { max_output, budget, ..Call::default() };
            let part = instance.run_keyed(&slice, &call).expect("a run").answer;
            part.check(&slice).expect("an answer to this slice");
            assert!(part.bytes() <= max_output.unwrap_or(usize::MAX), "seed {seed}");
            assert!(!part.is_empty(), "seed {seed}: no progress");
            cut += usize::from(part.len() < slice.len());
            done += part.len();
            parts.push(part);
        }
        let joined = ShipmentAnswer::concat(parts, all.keys()).expect("joined");
        assert_eq!(shown(&joined), shown(&whole), "seed {seed}");
    }
    assert!(bad > 200 && cut > 5, "{bad} bad ones, {cut} answers for a part");
}

#[test]
fn a_key_whose_answer_passes_the_ceiling_alone_is_left_to_others() {
    let pool = pool(GUEST, Limits::default());
    let mut instance = pool.take().expect("an instance");
    let long = "x".repeat(5000);
    let records: &[(u32, &[&str])] = &[(0, &["a"]), (1, &[&long]), (2, &["b"])];
    let all = fresh(&["0", "1", "2"], vec![step(0, 0, records)]);
    let call = Call { max_output: Some(4000), ..Call::default() };
    let run = instance.run_keyed(&all, &call).expect("a run");
    assert_eq!(run.answer.len(), 1);
    let run = instance.run_keyed(&all.slice(1..3), &call).expect("a run");
    assert_eq!((run.answer.len(), rejected(&run.answer)), (0, Vec::new()));
}

#[test]
fn an_answer_has_times_and_the_states_are_those_that_came_last() {
    let due = [Timer::event(40), Timer::processing(900)];
    let keys = [("0", Some("s"), &due[..]), ("1", Some("t"), &[])];
    let steps = vec![step(10, 50, &[(0, &["a"]), (1, &["clear"])]), step(50, 50, &[(0, &["b"])])];
    let run = run(GUEST, Limits::default(), &shipment(&keys, steps));
    let expected = [Some("sa@40/50b@900/50".to_owned()), Some(String::new())];
    assert_eq!(states(&run.answer), expected);
    let no_time = i64::MIN;
    assert_eq!(run.answer.records().timestamps().expect("times")[..], [no_time, 40, no_time, 900]);
    assert_eq!(rejected(&run.answer), Vec::<(u32, u32, u32, Cause)>::new());
    assert!(run.report.guest_calls == 4 && run.report.traps == 0, "{:?}", run.report);
}
