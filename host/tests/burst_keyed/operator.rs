//! A keyed operator that notices everything: what it makes of a record depends on all that the
//! key has seen before, on the watermark, and on each timer that fired.

use super::input::Record;

/// A timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    Event(i64),
    /// Microseconds since the run began.
    Processing(i64),
}

/// What it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Record { number: u64, hash: u64 },
    Timer { time: i64, hash: u64 },
    Processing { time: i64 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) hash: u64,
    seen: u32,
    timer: Option<i64>,
}

/// What it asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    Set(Timer),
    Cancel(Timer),
}

fn mix(a: u64, b: u64, c: u64) -> u64 {
    let mut hash = a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ c.rotate_left(32);
    hash = (hash ^ (hash >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash ^ (hash >> 29)
}

/// One call for one key.
pub(crate) fn process(
    state: &mut Option<State>,
    records: &[Record],
    fired: &[i64],
    watermark: i64,
    outputs: &mut Vec<Output>,
) -> Vec<Request> {
    let mut requests = Vec::new();
    for record in records {
        let mut now = state.take().unwrap_or_default();
        let hash = mix(now.hash, record.number, watermark as u64);
        (now.hash, now.seen) = (hash, now.seen + 1);
        outputs.push(Output::Record { number: record.number, hash });
        let some = (hash >> 8) as i64 & 31;
        let mut set = |now: &mut State, time: i64| {
            now.timer = Some(time);
            requests.push(Request::Set(Timer::Event(time)));
        };
        match hash % 8 {
            0 => set(&mut now, record.time + some),
            1 => set(&mut now, record.time.max(watermark) - some),
            2 => set(&mut now, record.time + 100),
            3 | 4 => {
                if let Some(timer) = now.timer.take() {
                    requests.push(Request::Cancel(Timer::Event(timer)));
                }
            }
            5 => {
                let number = record.number as i64;
                let time = number + number * 7919 % 50 * 10_000;
                requests.push(Request::Set(Timer::Processing(time)));
            }
            _ => {}
        }
        *state = (!hash.is_multiple_of(11) || now.seen < 3).then_some(now);
    }
    for time in fired {
        let mut now = state.take().unwrap_or_default();
        now.hash = mix(now.hash, *time as u64, !watermark as u64);
        outputs.push(Output::Timer { time: *time, hash: now.hash });
        if now.hash.is_multiple_of(4) {
            let later = time + 1 + ((now.hash >> 8) & 31) as i64;
            now.timer = Some(later);
            requests.push(Request::Set(Timer::Event(later)));
        }
        *state = Some(now);
    }
    requests
}
