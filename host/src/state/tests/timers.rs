//! Timers are found by time, and belong to their keys.

use super::*;

fn commit(keyed: &mut KeyedState, key: &[u8], set: &[Timer], cancelled: &[Timer], fired: &[Timer]) {
    let version = keyed.version(key).unwrap();
    let change = KeyChange { set, cancelled, fired, ..change(key, version, NewState::Unchanged) };
    keyed.commit(0, &[change]).unwrap();
    verify(keyed);
}

#[test]
fn keys_with_timers_due_come_once_by_their_first_timer() {
    let mut keyed = open(options());
    commit(&mut keyed, b"late", &[at(30), at(9)], &[], &[]);
    commit(&mut keyed, b"early", &[at(20), at(5), at(8), clock_at(1)], &[], &[]);
    let due = |keyed: &KeyedState, up_to| -> Vec<Vec<u8>> {
        keyed.event_timers_due(up_to).map(<[u8]>::to_vec).collect()
    };
    assert_eq!(due(&keyed, 4), Vec::<Vec<u8>>::new());
    assert_eq!(due(&keyed, 8), [b"early"]);
    assert_eq!(due(&keyed, 100), [&b"early"[..], b"late"]);
    let between = |after, up_to| keyed.event_timers_between(after, up_to).collect::<Vec<_>>();
    assert_eq!(between(4, 9), [&b"early"[..], b"late"]);
    assert_eq!(between(5, 9), [b"late"], "the first timer of early was due before");
    assert_eq!(between(9, i64::MAX), Vec::<&[u8]>::new());
    assert_eq!(keyed.processing_timers_due(1).collect::<Vec<_>>(), [b"early"]);
    assert_eq!(keyed.next_processing_timer(), Some(1));
    assert_eq!(keyed.first_event_timer(b"early"), Some(5));
    assert_eq!(keyed.timers_of(b"early", 8, 0), [at(5), at(8)]);
    assert_eq!(keyed.timers_of(b"early", 4, 1), [clock_at(1)]);
    assert_eq!(keyed.stats().timers, 6);
}

#[test]
fn the_last_processing_timer_is_the_last_of_all_not_of_the_first() {
    let mut keyed = open(options());
    assert_eq!(keyed.last_processing_timer(), None);
    commit(&mut keyed, b"a", &[clock_at(1), clock_at(100), at(500)], &[], &[]);
    commit(&mut keyed, b"b", &[clock_at(50)], &[], &[]);
    assert_eq!(keyed.last_processing_timer(), Some(100));
}

#[test]
fn setting_and_taking_back_twice_is_as_once() {
    let mut keyed = open(options());
    commit(&mut keyed, b"a", &[at(1), at(1), clock_at(1)], &[], &[]);
    commit(&mut keyed, b"a", &[at(1)], &[at(7)], &[]);
    assert_eq!(keyed.stats().timers, 2);
    commit(&mut keyed, b"a", &[], &[at(1)], &[]);
    commit(&mut keyed, b"a", &[], &[at(1)], &[at(1)]);
    assert_eq!(keyed.timers_of(b"a", i64::MAX, i64::MAX), [clock_at(1)]);
    commit(&mut keyed, b"a", &[], &[clock_at(1)], &[]);
    assert_eq!((keyed.stats().timers, keyed.stats().keys), (0, 0));
}

#[test]
fn a_timer_that_fired_can_be_set_again_by_the_same_commit() {
    let mut keyed = open(options());
    commit(&mut keyed, b"a", &[at(1), at(2)], &[], &[]);
    commit(&mut keyed, b"a", &[at(1), at(3)], &[], &[at(1), at(2)]);
    assert_eq!(keyed.timers_of(b"a", i64::MAX, i64::MIN), [at(1), at(3)]);
}

#[test]
fn timers_at_the_ends_of_time_are_timers() {
    let mut keyed = open(options());
    commit(&mut keyed, b"a", &[at(i64::MAX), at(i64::MIN)], &[], &[]);
    assert_eq!(keyed.event_timers_due(i64::MIN).count(), 1);
    assert_eq!(keyed.timers_of(b"a", i64::MAX, i64::MAX), [at(i64::MIN), at(i64::MAX)]);
}

#[test]
fn timers_stay_in_memory_when_the_state_moves_out() {
    let store = FakeStore::well();
    let mut keyed = open_with(StateOptions { memory: 16 << 10, ..options() }, store);
    put(&mut keyed, b"a", 0, &[1; 1000]).unwrap();
    commit(&mut keyed, b"a", &[at(5)], &[], &[]);
    for key in 0..200_u32 {
        put(&mut keyed, &key.to_le_bytes(), 0, &[2; 1000]).unwrap();
    }
    verify(&keyed);
    assert_eq!(keyed.slots.entry(keyed.slots.find(b"a").unwrap()).residence, Residence::Away);
    assert_eq!(keyed.event_timers_due(5).collect::<Vec<_>>(), [b"a"]);
    assert_eq!(keyed.version(b"a").unwrap(), 2);
    assert_eq!(keyed.state_bytes_hint(b"a"), 1000);
    assert_eq!(state_of(&mut keyed, b"a", 0).unwrap(), [1; 1000]);
    verify(&keyed);
}
