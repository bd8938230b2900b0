//! Versions are fencing tokens, and commits are all or nothing.

use super::*;

#[test]
fn a_key_without_a_commit_has_no_state_and_version_0() {
    let mut keyed = open(options());
    assert_eq!(keyed.get(b"a", 0).unwrap(), Versioned { state: None, version: 0 });
    assert_eq!(keyed.version(b"a").unwrap(), 0);
    assert_eq!(keyed.stats(), StateStats::default());
}

#[test]
fn every_commit_raises_the_version_by_one_whatever_it_changes() {
    let mut keyed = open(options());
    let states = [NewState::Replaced(b"1"), NewState::Unchanged, NewState::Cleared];
    for (version, state) in (0..).zip(states) {
        keyed.commit(0, &[change(b"a", version, state)]).unwrap();
        assert_eq!(keyed.version(b"a").unwrap(), version + 1);
        verify(&keyed);
    }
    assert_eq!(keyed.get(b"a", 0).unwrap(), Versioned { state: None, version: 3 });
}

#[test]
fn an_answer_that_started_from_an_older_version_changes_nothing() {
    let mut keyed = open(options());
    put(&mut keyed, b"a", 0, b"1").unwrap();
    let late = keyed.commit(0, &[change(b"a", 0, NewState::Replaced(b"zombie"))]);
    let error = late.unwrap_err();
    assert!(matches!(error, StateError::Fenced { found: 0, current: 1, .. }), "{error}");
    assert_eq!(keyed.get(b"a", 0).unwrap(), Versioned { state: Some(b"1"), version: 1 });
}

#[test]
fn a_second_answer_for_a_key_that_was_cleared_since_changes_nothing() {
    let mut keyed = open(options());
    keyed.commit(0, &[change(b"a", 0, NewState::Cleared)]).unwrap();
    let second = keyed.commit(0, &[change(b"a", 0, NewState::Replaced(b"1"))]);
    assert!(matches!(second, Err(StateError::Fenced { .. })));
    assert_eq!(keyed.stats().keys, 0);
}

#[test]
fn one_key_that_is_fenced_stops_the_whole_commit() {
    let mut keyed = open(options());
    put(&mut keyed, b"b", 0, b"old").unwrap();
    let new = NewState::Replaced(b"new");
    let set = [at(5)];
    let changes = [
        KeyChange { set: &set, ..change(b"a", 0, new) },
        change(b"b", 1, new),
        change(b"c", 7, new),
    ];
    assert!(matches!(keyed.commit(0, &changes), Err(StateError::Fenced { .. })));
    assert_eq!(state_of(&mut keyed, b"a", 0), None);
    assert_eq!(state_of(&mut keyed, b"b", 0).as_deref(), Some(&b"old"[..]));
    assert_eq!(keyed.stats().keys, 1);
    assert_eq!(keyed.next_event_timer(), None);
    verify(&keyed);
}

#[test]
fn a_key_that_comes_twice_in_a_commit_is_refused() {
    let mut keyed = open(options());
    let twice = [change(b"a", 0, NewState::Cleared), change(b"a", 0, NewState::Unchanged)];
    assert!(matches!(keyed.commit(0, &twice), Err(StateError::Twice { .. })));
    put(&mut keyed, b"a", 0, b"1").unwrap();
    let twice = [change(b"a", 1, NewState::Cleared), change(b"a", 1, NewState::Unchanged)];
    assert!(matches!(keyed.commit(0, &twice), Err(StateError::Twice { .. })));
    assert_eq!(state_of(&mut keyed, b"a", 0).as_deref(), Some(&b"1"[..]));
    verify(&keyed);
}

#[test]
fn a_key_that_was_forgotten_never_gets_a_version_it_had() {
    let mut keyed = open(StateOptions { memory: 16 << 10, ..options() });
    let mut last = 0;
    for round in 0..20_u64 {
        // Life and death of a key, then enough others that its version is forgotten.
        for _ in 0..round % 5 {
            put(&mut keyed, b"a", 0, b"1").unwrap();
        }
        let version = keyed.get(b"a", 0).unwrap().version;
        assert!(version >= last, "version {version} after {last}");
        keyed.commit(0, &[change(b"a", version, NewState::Cleared)]).unwrap();
        last = version + 1;
        for other in 0..40_u32 {
            let key = other.to_le_bytes();
            let version = keyed.get(&key, 0).unwrap().version;
            keyed.commit(0, &[change(&key, version, NewState::Cleared)]).unwrap();
        }
        verify(&keyed);
    }
    assert!(keyed.slots.iter().count() < 50, "versions are remembered without end");
}

#[test]
fn a_version_given_out_before_others_were_forgotten_is_good_still() {
    let mut keyed = open(StateOptions { memory: 16 << 10, ..options() });
    let leased = keyed.get(b"a", 0).unwrap().version;
    for other in 0..40_u32 {
        keyed.commit(0, &[change(&other.to_le_bytes(), 0, NewState::Cleared)]).unwrap();
    }
    assert!(keyed.get(b"a", 0).unwrap().version > leased);
    keyed.commit(0, &[change(b"a", leased, NewState::Replaced(b"1"))]).unwrap();
    assert_eq!(keyed.get(b"a", 0).unwrap(), Versioned { state: Some(b"1"), version: leased + 1 });
}

#[test]
fn an_empty_state_is_a_state() {
    let mut keyed = open(options());
    put(&mut keyed, b"", 0, b"").unwrap();
    assert_eq!(keyed.get(b"", 0).unwrap(), Versioned { state: Some(b""), version: 1 });
    assert_eq!(keyed.stats().keys, 1);
    verify(&keyed);
}
