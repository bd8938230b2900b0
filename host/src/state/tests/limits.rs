//! Limits name themselves, the key, what there is and what to do.

use super::*;

#[test]
fn a_state_that_is_too_long_is_refused_with_advice() {
    let mut keyed = open(StateOptions { max_state: 10, ..options() });
    put(&mut keyed, b"user\x00\xff", 0, b"0123456789").unwrap();
    let error = put(&mut keyed, b"user\x00\xff", 0, b"0123456789a").unwrap_err();
    assert_eq!(
        error.to_string(),
        "OS0023: operator `count`: key \"user\\x00\\xff\" would pass the limit on the state of one \
         key (`state.max_key`), 10 bytes: there are 10 now, 11 would be needed; raise \
         `state.max_key` of the operator in the pipeline file, or keep less in a key"
    );
    assert_eq!(keyed.get(b"user\x00\xff", 0).unwrap().version, 1);
    verify(&keyed);
}

#[test]
fn a_long_key_is_cut_in_messages() {
    let mut keyed = open(StateOptions { max_state: 0, ..options() });
    let error = put(&mut keyed, &[b'k'; 5000], 0, b"1").unwrap_err().to_string();
    assert!(error.contains("kkk... (4920 bytes more)"), "{error}");
    assert!(error.len() < 500);
}

#[test]
fn everything_together_is_limited_wherever_it_is() {
    let limits = StateOptions { max_total: 10_000, memory: 4096, ..options() };
    let mut keyed = open_with(limits, FakeStore::well());
    let mut put_until_full = |length: usize| {
        let state = vec![7; length];
        (0..1000_u32).find_map(|key| put(&mut keyed, &key.to_le_bytes(), 0, &state).err())
    };
    let error = put_until_full(96).expect("it gets full");
    assert!(
        matches!(
            error,
            StateError::Limit {
                limit: StateLimit::Total,
                allowed: 10_000,
                current: 10_000,
                requested: 10_100,
                ..
            }
        ),
        "{error}"
    );
    // A key that shrinks makes room.
    put_until_full(46).expect("it gets full again");
    assert_eq!(keyed.stats().bytes, 10_000);
    assert!(keyed.stats().spilled_bytes > 5000);
    verify(&keyed);
}

#[test]
fn one_commit_cannot_pass_the_limit_by_many_small_steps() {
    let mut keyed = open(StateOptions { max_total: 100, ..options() });
    let new = NewState::Replaced(&[0; 30]);
    let changes = [change(b"a", 0, new), change(b"b", 0, new), change(b"c", 0, new)];
    keyed.commit(0, &changes).unwrap();
    let mut bigger = changes.map(|it| KeyChange { version: 1, ..it });
    bigger[0].state = NewState::Replaced(&[0; 40]);
    let error = keyed.commit(0, &bigger).unwrap_err();
    assert!(matches!(error, StateError::Limit { limit: StateLimit::Total, .. }), "{error}");
    // What another key of the commit gives up counts.
    bigger[1].state = NewState::Cleared;
    bigger.swap(0, 1);
    keyed.commit(0, &bigger).unwrap();
    verify(&keyed);
}

#[test]
fn timers_may_not_fill_the_memory() {
    let mut keyed = open(StateOptions { memory: 64 << 10, ..options() });
    let refused = (0..10_000_u32).find_map(|key| {
        let (key, set) = (key.to_le_bytes(), [at(1), clock_at(2)]);
        keyed.commit(0, &[KeyChange { set: &set, ..change(&key, 0, NewState::Unchanged) }]).err()
    });
    let error = refused.expect("it gets full");
    assert!(matches!(error, StateError::Limit { limit: StateLimit::Timers, .. }), "{error}");
    assert!(error.to_string().contains("`state.memory`: raise it"), "{error}");
    assert!(keyed.stats().memory_bytes <= 48 << 10);
    // States go on working.
    for key in 20_000..21_000_u32 {
        put(&mut keyed, &key.to_le_bytes(), 0, &[1; 100]).unwrap();
    }
    verify(&keyed);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for (wrong, setting) in [
        (StateOptions { key_groups: 0, ..options() }, "state.key_groups"),
        (StateOptions { max_state: usize::MAX, ..options() }, "state.max_key"),
        (StateOptions { ttl: Some(std::time::Duration::ZERO), ..options() }, "state.ttl"),
    ] {
        let error = KeyedState::open(wrong).unwrap_err().to_string();
        assert!(error.contains(setting), "{error}");
    }
}
