//! Cuts emissions and joins them.

use overspill_protocol::{Batch, Column, ColumnBuilder, Emission};

/// What stands for "no event time" in a column that has one for other records: the least value,
/// as in the contract.
const NO_TIME: i64 = i64::MIN;

/// The answer for the first `inputs` input records of `emission`.
pub(crate) fn cut(emission: &Emission, inputs: usize) -> Emission {
    let outputs = inputs.checked_sub(1).map_or(0, |last| emission.outputs_of(last).end);
    let rejected =
        emission.rejected().iter().take_while(|r| (r.index as usize) < inputs).cloned().collect();
    Emission::new(
        inputs,
        emission.records().slice(0..outputs),
        emission.ends().slice(0, inputs),
        rejected,
    )
    .expect("the first part of an emission is an emission")
}

/// The answer for `batch`, of which `parts` are the answers in order.
///
/// An absent key or time column means "inherited from the input". When it is absent in one part
/// and present in another, the inherited entries are spelled out. When they are too long for one
/// column, the answer is that of the first part alone.
pub(crate) fn join(mut parts: Vec<Emission>, batch: &Batch) -> Emission {
    match parts.len() {
        0 => return Emission::empty(),
        1 => return parts.remove(0),
        _ => {}
    }
    let with_records = || parts.iter().filter(|part| !part.records().is_empty());
    let some_keys = with_records().any(|part| part.records().keys().is_some());
    let some_times = with_records().any(|part| part.records().timestamps().is_some());
    let first = parts[0].clone();
    let mut begin = 0;
    let parts: Option<Vec<Emission>> = parts
        .iter()
        .map(|part| {
            let input = batch.slice(begin..begin + part.inputs());
            begin += part.inputs();
            spell_out(part, &input, some_keys, some_times)
        })
        .collect();
    parts.and_then(|parts| Emission::concat(parts).ok()).unwrap_or(first)
}

fn spell_out(part: &Emission, input: &Batch, keys: bool, times: bool) -> Option<Emission> {
    let records = part.records();
    let lacks_keys = keys && records.keys().is_none();
    let lacks_times = times && records.timestamps().is_none();
    if records.is_empty() || !(lacks_keys || lacks_times) {
        return Some(part.clone());
    }
    // The input record that made each output record.
    let makers = || (0..part.inputs()).flat_map(|input| part.outputs_of(input).map(move |_| input));
    let keys = match records.keys() {
        None if lacks_keys => Some(inherited_keys(input.keys(), makers())?),
        keys => keys.cloned(),
    };
    let times = match records.timestamps() {
        None if lacks_times => {
            let time = |maker: usize| input.timestamps().map_or(NO_TIME, |times| times[maker]);
            Some(makers().map(time).collect::<Vec<_>>().into())
        }
        times => times.cloned(),
    };
    let records = Batch::new(records.values().clone(), keys, times)
        .expect("there is an entry for each output record");
    let emission =
        Emission::new(part.inputs(), records, part.ends().clone(), part.rejected().to_vec());
    Some(emission.expect("only columns were added"))
}

fn inherited_keys(keys: Option<&Column>, makers: impl Iterator<Item = usize>) -> Option<Column> {
    let mut inherited = ColumnBuilder::default();
    for maker in makers {
        let key = keys.map_or(&[][..], |keys| keys.value(maker));
        i32::try_from(inherited.bytes() + key.len()).ok()?;
        inherited.push(key);
    }
    Some(inherited.finish())
}
