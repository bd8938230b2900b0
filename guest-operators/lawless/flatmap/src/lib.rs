//! Emits each record as it is, unless it is set to break a law of flatmap operators.

use std::cell::Cell;

hostile_support::bindings!();
hostile_support::lawless!("lawless-flatmap", Kind::Flatmap);
hostile_support::each!();
hostile_support::flatmap!(flat_map);
export!(Guest);

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

fn flat_map(input: Batch) -> Emission {
    let count = input.values.ends.len();
    CALLS.set(CALLS.get() + 1);
    each(input, |value| {
        // A large value in a large batch alone, so that there is something to shrink.
        let cut = breaks("cut") && count > 2 && value.len() > 1;
        // Only where the instance has been used before.
        let again = breaks("again") && CALLS.get() > 1;
        match cut || again {
            true => vec![value.to_vec(), b"more".to_vec()],
            false => vec![value.to_vec()],
        }
    })
}
