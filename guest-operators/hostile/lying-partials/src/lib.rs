//! Breaks the contract of aggregates, each in the way that a record, partial or key names. Else a
//! partial is the records of its key, sorted, with a comma after each.

hostile_support::aggregate!("lying-partials", accumulate, merge, finish);

fn sorted(mut records: Vec<Vec<u8>>) -> Vec<u8> {
    records.sort();
    records.iter().flat_map(|record| [&record[..], b","].concat()).collect()
}

fn accumulate(input: Groups) -> Partials {
    let records = strings(&input.records.values);
    let says = |lie: &str| records.iter().any(|record| record == lie.as_bytes());
    let reject = |indices: &[u32]| {
        let reason = || "because".to_owned();
        indices.iter().map(|&index| Rejection { index, reason: reason() }).collect()
    };
    let rejected = if says("rejects a record that isn't there") {
        reject(&[records.len() as u32])
    } else if says("rejects records out of order") {
        reject(&[1, 0])
    } else {
        Vec::new()
    };
    assert!(!says("trap"), "a record that traps");
    let lists = lists(records.clone(), &input.record_ends);
    let mut values = column(lists.into_iter().map(sorted));
    if says("too few partials") {
        let _ = values.ends.pop();
        values.data.truncate(values.ends.last().map_or(0, |&end| end as usize));
    }
    if says("a partial past its data") {
        *values.ends.last_mut().unwrap() += 1;
    }
    Partials { values, rejected }
}

fn merge(partials: Column, ends: Vec<u32>) -> Column {
    let partials = strings(&partials);
    let says = |lie: &str| {
        let lie = [lie.as_bytes(), b","].concat();
        partials.iter().any(|partial| *partial == lie)
    };
    assert!(!says("trap on merging"), "a partial that traps");
    let too_few = says("too few merged");
    let merged = lists(partials, &ends).into_iter().map(|group| {
        let records = group.iter().flat_map(|partial| partial.split(|&byte| byte == b','));
        sorted(records.filter(|record| !record.is_empty()).map(<[u8]>::to_vec).collect())
    });
    column(merged.take(ends.len() - usize::from(too_few)))
}

fn finish(keys: Column, partials: Column, time: i64) -> Results {
    let keys = strings(&keys);
    let says = |lie: &str| keys.iter().any(|key| key == lie.as_bytes());
    assert!(!says("trap on finishing"), "a key that traps");
    let count = keys.len() as u32;
    let mut ends: Vec<u32> = (1..=count).collect();
    if says("ends past the records") {
        *ends.last_mut().unwrap() += 1;
    }
    if says("too few ends") {
        ends.pop();
    }
    let timestamps = says("times of its own").then(|| vec![time + 1; keys.len()]);
    Results { records: Batch { values: partials, keys: None, timestamps }, ends }
}
