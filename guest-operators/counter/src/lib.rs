//! Counts the records of each key: for examples, tests and benchmarks of keyed state.
//!
//! Each record becomes the number of records that its key has had so far, as decimal digits. The
//! state is that number as eight bytes, the lowest first, and then as much padding as the setting
//! `pad` asks for, which does not compress.

use overspill_operator::{
    Context, Description, KeyState, Keyed, KeyedRecord, Rejection, Setting, SettingError, Settings,
    StateCodec,
};

/// Counts the records of each key.
#[derive(Debug)]
pub struct Counter {
    state_bytes: usize,
    rounds: u64,
}

/// How many records a key has had, and how many bytes its state takes.
#[derive(Debug, PartialEq, Eq)]
pub struct Count {
    count: u64,
    bytes: usize,
}

/// The form of the state.
#[derive(Debug)]
pub struct PaddedCount;

const COUNT_BYTES: usize = 8;

impl Keyed for Counter {
    const DESCRIPTION: Description =
        Description::new("counter", env!("CARGO_PKG_VERSION")).state_schema(1).settings(&[
            Setting::with_default(
                "pad",
                "How many bytes the state of a key takes, at least 8.",
                "0",
            ),
            Setting::with_default(
                "iterations-per-record",
                "How many rounds of a hash each record costs.",
                "0",
            ),
        ]);
    type State = Count;
    type Codec = PaddedCount;

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        let pad: usize = settings.parse("pad")?;
        let rounds = settings.parse("iterations-per-record")?;
        Ok(Self { state_bytes: pad.max(COUNT_BYTES), rounds })
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Count>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        if self.rounds > 0 {
            std::hint::black_box(spin(record.value, self.rounds));
        }
        let state = state.get_or_insert_with(|| Count { count: 0, bytes: 0 });
        state.count = state.count.wrapping_add(1);
        state.bytes = self.state_bytes;
        context.emit(itoa::Buffer::new().format(state.count).as_bytes());
        Ok(())
    }
}

impl StateCodec<Count> for PaddedCount {
    #[inline]
    fn encode(state: &Count, out: &mut Vec<u8>) {
        out.extend_from_slice(&state.count.to_le_bytes());
        if state.bytes > COUNT_BYTES {
            pad(state.count, state.bytes - COUNT_BYTES, out);
        }
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Result<Count, String> {
        let count = bytes.first_chunk().map(|&count| u64::from_le_bytes(count));
        let count = count.ok_or_else(|| format!("expected 8 bytes, found {}", bytes.len()))?;
        Ok(Count { count, bytes: bytes.len() })
    }
}

/// Appends bytes that look random, and follow from the seed.
fn pad(seed: u64, bytes: usize, out: &mut Vec<u8>) {
    let end = out.len() + bytes;
    let mut word = seed ^ 0x9e37_79b9_7f4a_7c15;
    while out.len() < end {
        word = word.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word ^= word >> 29;
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.truncate(end);
}

/// A hash of the bytes, after so many more rounds, each of which needs the one before it.
fn spin(bytes: &[u8], rounds: u64) -> u64 {
    let seed = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (0..rounds)
        .fold(seed, |hash, round| (hash ^ (hash >> 29) ^ round).wrapping_mul(0xbf58_476d_1ce4_e5b9))
}

overspill_operator::export!(keyed Counter);

#[cfg(test)]
mod tests {
    use super::*;
    use overspill_operator::testing::KeyedHost;

    #[test]
    fn each_record_becomes_the_count_of_its_key() {
        for records in [1, 2, 100] {
            let mut counter = KeyedHost::<Counter>::new(&[]).unwrap().calls_of(records);
            for key in ["a", "b", "a", "a"] {
                counter.record(key, "", None);
            }
            let outputs = counter.take();
            let of = |key| outputs.iter().filter(move |output| output.key == key);
            assert!(of("a").map(|output| output.value.as_str()).eq(["1", "2", "3"]));
            assert!(of("b").map(|output| output.value.as_str()).eq(["1"]));
            assert_eq!(counter.state("a"), Some(3_u64.to_le_bytes().to_vec()));
        }
    }

    #[test]
    fn a_state_is_as_large_as_it_is_told_to_be() {
        let settings = [("pad", "1000"), ("iterations-per-record", "3")];
        let mut counter = KeyedHost::<Counter>::new(&settings).unwrap();
        counter.record("a", "", None);
        counter.record("a", "", None);
        assert_eq!(counter.take_values(), ["1", "2"]);
        let state = counter.state("a").unwrap();
        assert_eq!((state.len(), state[0]), (1000, 2));
    }
}
