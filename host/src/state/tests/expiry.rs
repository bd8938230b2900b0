//! Time to live, on a clock that is set by hand.

use std::time::Duration;

use super::*;

fn with_ttl(memory: usize) -> KeyedState {
    let options = StateOptions { ttl: Some(Duration::from_millis(1000)), memory, ..options() };
    open_with(options, FakeStore::well())
}

#[test]
fn a_state_is_gone_when_its_time_is_over_and_not_before() {
    let mut keyed = with_ttl(1 << 20);
    put(&mut keyed, b"a", 500, b"1").unwrap();
    assert_eq!(state_of(&mut keyed, b"a", 1499).as_deref(), Some(&b"1"[..]));
    assert_eq!(state_of(&mut keyed, b"a", 1500), None);
    assert_eq!(keyed.stats().keys, 0);
}

#[test]
fn a_commit_starts_the_time_again_and_a_look_does_not() {
    let mut keyed = with_ttl(1 << 20);
    put(&mut keyed, b"a", 0, b"1").unwrap();
    put(&mut keyed, b"b", 0, b"1").unwrap();
    let version = keyed.get(b"a", 900).unwrap().version;
    keyed.get(b"b", 900).unwrap();
    keyed.commit(900, &[change(b"a", version, NewState::Unchanged)]).unwrap();
    assert!(state_of(&mut keyed, b"a", 1800).is_some());
    assert!(state_of(&mut keyed, b"b", 1800).is_none());
}

#[test]
fn a_state_that_outlives_its_time_while_the_key_is_away_is_gone_at_the_commit() {
    let mut keyed = with_ttl(1 << 20);
    put(&mut keyed, b"a", 0, b"1").unwrap();
    let version = keyed.get(b"a", 999).unwrap().version;
    keyed.commit(1000, &[change(b"a", version, NewState::Unchanged)]).unwrap();
    assert_eq!(keyed.get(b"a", 1000).unwrap(), Versioned { state: None, version: 2 });
}

#[test]
fn a_key_with_timers_pending_stays() {
    let mut keyed = with_ttl(1 << 20);
    let set = [at(77)];
    let new = KeyChange { set: &set, ..change(b"a", 0, NewState::Replaced(b"1")) };
    keyed.commit(0, &[new]).unwrap();
    assert!(state_of(&mut keyed, b"a", 1_000_000).is_some());
    let fired = KeyChange { fired: &set, ..change(b"a", 1, NewState::Unchanged) };
    keyed.commit(1_000_000, &[fired]).unwrap();
    assert!(state_of(&mut keyed, b"a", 1_000_999).is_some());
    assert!(state_of(&mut keyed, b"a", 1_001_000).is_none());
}

#[test]
fn what_nobody_looks_at_is_swept_away_in_memory_and_on_disk() {
    let mut keyed = with_ttl(64 << 10);
    for key in 0..2000_u32 {
        put(&mut keyed, &key.to_le_bytes(), 0, &[1; 100]).unwrap();
    }
    assert!(keyed.stats().spilled_keys > 1000);
    // One key is used on, and the time passes.
    for now in 0..3500 {
        put(&mut keyed, b"used", now, b"1").unwrap();
    }
    verify(&keyed);
    assert_eq!(keyed.stats().keys, 1);
    assert_eq!(keyed.spill.scan(&[], 10_000).unwrap().len(), 0, "records are left on disk");
}

#[test]
fn a_key_that_expired_on_disk_never_gets_a_version_it_had() {
    let mut keyed = with_ttl(64 << 10);
    for _ in 0..5 {
        put(&mut keyed, b"a", 0, &[1; 100]).unwrap();
    }
    for key in 0..2000_u32 {
        put(&mut keyed, &key.to_le_bytes(), 0, &[1; 100]).unwrap();
    }
    for now in 1000..3500 {
        put(&mut keyed, b"used", now, b"1").unwrap();
    }
    assert!(keyed.get(b"a", 3500).unwrap().version >= 5);
}

#[test]
fn a_clock_that_goes_back_drops_nothing() {
    let mut keyed = with_ttl(1 << 20);
    put(&mut keyed, b"a", 5000, b"1").unwrap();
    assert!(state_of(&mut keyed, b"a", i64::MIN).is_some());
    assert!(state_of(&mut keyed, b"a", 0).is_some());
    assert!(state_of(&mut keyed, b"a", 5999).is_some());
}
