//! Records by key over random faults: exactly the bad records are missing from the partials.

use std::collections::BTreeMap;

use overspill_protocol::keyed::KeyedRecords;
use overspill_protocol::{Batch, Cause, Column, Rejection};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha12Rng;

use super::{Aggregate, Merge, accumulate, merge};
use crate::Fault;
use crate::calls::{Effort, Failed};

/// Adds up the bytes of records. A record that begins with 255 traps, one with 254 is rejected.
/// Calls fail and are cut for no reason.
struct Sums {
    random: ChaCha12Rng,
}

impl Sums {
    fn fail(&mut self, alone: bool) -> Result<(), Failed> {
        match self.random.random_bool(0.15) {
            // Nothing that is alone fails twice.
            true => Err(Self::fault(alone)),
            false => Ok(()),
        }
    }

    fn fault(stale: bool) -> Failed {
        let (cause, reason) = (Cause::Trap, "trap".to_owned());
        let fault = Fault { cause, reason, limit: None, stderr: String::new() };
        Failed::Fault { fault, fresh: !stale }
    }
}

fn sum(values: impl Iterator<Item = u64>) -> Vec<u8> {
    values.sum::<u64>().to_le_bytes().to_vec()
}

fn number(partial: &[u8]) -> u64 {
    u64::from_le_bytes(partial.try_into().expect("eight bytes"))
}

impl Aggregate for Sums {
    fn fit(&self, records: usize, _: bool) -> usize {
        self.random.clone().random_range(1..=2 * records.max(1)).min(records.max(1))
    }

    fn is_over(&self, _: usize) -> bool {
        false
    }

    fn room(&self) -> usize {
        usize::MAX
    }

    fn answered(&mut self, _: usize) {}

    fn accumulate(
        &mut self,
        keys: &Column,
        records: &Batch,
        ends: &[u32],
        effort: Effort,
    ) -> Result<(Column, Vec<Rejection>), Failed> {
        self.fail(effort.alone)?;
        let (mut begin, mut sums, mut rejected) = (0, Vec::new(), Vec::new());
        for &end in ends {
            let mut good = Vec::new();
            for index in std::mem::replace(&mut begin, end)..end {
                let value = records.values().value(index as usize);
                match value[0] {
                    255 => return Err(Self::fault(false)),
                    254 => rejected.push(Rejection {
                        index,
                        cause: Cause::Operator,
                        reason: String::new(),
                    }),
                    _ => good.push(value.iter().map(|&byte| u64::from(byte)).sum()),
                }
            }
            sums.push(sum(good.into_iter()));
        }
        assert_eq!(keys.len(), ends.len());
        Ok((Column::from_values(sums), rejected))
    }
}

impl Merge for Sums {
    fn merge(&mut self, partials: &Column, ends: &[u32], effort: Effort) -> Result<Column, Failed> {
        self.fail(effort.alone)?;
        let mut begin = 0;
        let groups = ends.iter().map(|&end| {
            let group = std::mem::replace(&mut begin, end) as usize..end as usize;
            sum(group.map(|index| number(partials.value(index))))
        });
        Ok(Column::from_values(groups.collect::<Vec<_>>()))
    }
}

#[test]
fn over_random_groups_exactly_the_bad_records_are_missing() {
    for seed in 0..2000 {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let share = [0.0, 0.1, 0.9][random.random_range(0..3)];
        let (mut values, mut ends) = (Vec::new(), Vec::new());
        let (mut sums, mut bad) = (Vec::new(), BTreeMap::new());
        for _ in 0..random.random_range(0..6) {
            let mut good = 0;
            for _ in 0..random.random_range(1..8) {
                let first = match random.random_bool(share) {
                    true => random.random_range(254..=255),
                    false => random.random_range(0..254),
                };
                match first {
                    255 => drop(bad.insert(values.len() as u32, Cause::Trap)),
                    254 => drop(bad.insert(values.len() as u32, Cause::Operator)),
                    _ => good += u64::from(first) + 1,
                }
                values.push([first, 1]);
            }
            ends.push(values.len() as u32);
            sums.push(good);
        }
        let keys = Column::from_values((0..ends.len()).map(|key| key.to_string()));
        let records = Batch::from_values(Column::from_values(values));
        let records = KeyedRecords::new(keys, records, ends).expect("groups");
        let mut process = Sums { random: ChaCha12Rng::from_rng(&mut random) };
        let partials = accumulate::run(&mut process, &records).expect("partials");
        partials.check(&records).expect("an answer to these groups");
        let found: Vec<u64> = partials.values().iter().map(number).collect();
        assert_eq!(found, sums, "seed {seed}");
        let rejected: BTreeMap<u32, Cause> =
            partials.rejected().iter().map(|r| (r.index, r.cause)).collect();
        assert_eq!(rejected, bad, "seed {seed}");
    }
}

#[test]
fn merging_is_the_same_however_often_it_fails() {
    for seed in 0..2000 {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let (mut partials, mut ends, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..random.random_range(0..6) {
            let group: Vec<u64> =
                (0..random.random_range(1..9)).map(|_| random.random_range(0..1000)).collect();
            sums.push(group.iter().sum::<u64>());
            partials.extend(group.into_iter().map(|value| value.to_le_bytes()));
            ends.push(partials.len() as u32);
        }
        let partials = Column::from_values(partials);
        merge::check(&partials, &ends).expect("groups");
        let mut process = Sums { random: ChaCha12Rng::from_rng(&mut random) };
        let merged = merge::run(&mut process, &partials, &ends).expect("merged");
        assert_eq!(merged.iter().map(number).collect::<Vec<_>>(), sums, "seed {seed}");
    }
}
