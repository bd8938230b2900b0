//! Breaks the contract in secret: it keeps a state. After the record `insult` the same instance
//! traps on every record to come.

use std::cell::Cell;

thread_local! {
    static INSULTED: Cell<bool> = const { Cell::new(false) };
}

hostile_support::operator!("grudge", |input| each(input, |value| {
    assert!(!INSULTED.get(), "it was insulted before");
    INSULTED.set(value == b"insult");
    vec![value.to_vec()]
}));
hostile_support::each!();
