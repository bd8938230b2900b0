//! Keeps the greatest and the number of the records, as `GREATEST/COUNT`, unless it is set to break
//! a law of aggregates.

use std::cell::Cell;

hostile_support::aggregate_bindings!();
hostile_support::lawless!("lawless-aggregate", Kind::Aggregate);
hostile_support::aggregate_functions!(accumulate, merge, finish);
export!(Guest);

thread_local! {
    static GROUPS: Cell<u32> = const { Cell::new(0) };
}

/// The greatest record and how many there are.
type Partial = (Vec<u8>, u64);

fn read(partial: &[u8]) -> Partial {
    let slash = partial.iter().rposition(|&byte| byte == b'/').unwrap();
    let count = std::str::from_utf8(&partial[slash + 1..]).unwrap().parse().unwrap();
    (partial[..slash].to_vec(), count)
}

fn write((greatest, count): Partial) -> Vec<u8> {
    [&greatest[..], b"/", count.to_string().as_bytes()].concat()
}

fn accumulate(input: Groups) -> Partials {
    let lists = lists(strings(&input.records.values), &input.record_ends);
    let many = lists.len() > 1;
    let values = lists.into_iter().map(|records| {
        GROUPS.set(GROUPS.get() + 1);
        let mut count = records.len() as u64;
        if breaks("accumulate") && count > 3 {
            count += 1;
        }
        if breaks("keys") && many {
            count += 10;
        }
        if breaks("place") {
            count += u64::from(GROUPS.get());
        }
        write((records.into_iter().max().unwrap_or_default(), count))
    });
    Partials { values: column(values), rejected: Vec::new() }
}

fn merge(partials: Column, ends: Vec<u32>) -> Column {
    let groups = lists(strings(&partials), &ends);
    column(groups.into_iter().map(|group| {
        let single = group.len() == 1;
        let mut parts = group.iter().map(|partial| read(partial));
        let mut merged = parts.next().unwrap();
        if breaks("one") && single {
            merged.1 += 1;
        }
        for (greatest, count) in parts {
            if breaks("commutative") {
                // The later one wins.
                merged.0 = greatest;
            } else {
                merged.0 = merged.0.max(greatest);
            }
            // A mean of means, as one does it by mistake: commutative, not associative.
            merged.1 = match breaks("associative") {
                true => (merged.1 + count) * 7 / 2,
                false => merged.1 + count,
            };
        }
        write(merged)
    }))
}

fn finish(_: Column, partials: Column, _: i64) -> Results {
    let ends = (1..=partials.ends.len() as u32).collect();
    Results { records: Batch { values: partials, keys: None, timestamps: None }, ends }
}
