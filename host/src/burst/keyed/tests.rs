//! Claims about the schedule, each in a story of a few events.

use super::*;
use crate::burst::Order;

/// Records by number, of ten bytes each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Numbers(Vec<u32>);

impl Chunk for Numbers {
    fn records(&self) -> usize {
        self.0.len()
    }
    fn bytes(&self) -> usize {
        self.0.len() * 10
    }
}

const ALL: Take = Take {
    most_keys: usize::MAX,
    most_records: usize::MAX,
    most_bytes: usize::MAX,
    prefer: Prefer::Oldest,
};
const NONE: i64 = i64::MIN;

type Schedule = KeySchedule<Numbers>;

fn batch(schedule: &mut Schedule, keys: &[(&[u8], &[u32])]) {
    schedule.begin_batch();
    for (key, numbers) in keys {
        schedule.add(key, Numbers(numbers.to_vec()));
    }
}

fn take(schedule: &mut Schedule) -> Lease<Numbers> {
    schedule.take(ALL, |_| 0).expect("a key is ready")
}

fn one(schedule: &mut Schedule) -> Lease<Numbers> {
    schedule.take(Take { most_keys: 1, ..ALL }, |_| 0).expect("a key is ready")
}

fn names(lease: &Lease<Numbers>) -> Vec<&[u8]> {
    lease.keys.iter().map(|key| &*key.key).collect()
}

fn numbers(lease: &Lease<Numbers>, key: usize) -> Vec<u32> {
    lease.keys[key].chunks.iter().flat_map(|chunk| chunk.chunk.0.clone()).collect()
}

/// The watermarks of each step: before and after.
fn steps(lease: &Lease<Numbers>) -> Vec<(i64, i64)> {
    lease.steps.iter().map(|step| (step.watermark, step.then_watermark)).collect()
}

fn release(schedule: &mut Schedule, lease: &Lease<Numbers>, first_timer: Option<i64>) {
    for key in &lease.keys {
        schedule.release(lease.token, &key.key, first_timer).expect("it is leased");
    }
}

#[test]
fn what_comes_for_a_key_that_is_away_waits_until_it_is_back() {
    let mut schedule = Schedule::new(Order::PerKey);
    batch(&mut schedule, &[(b"a", &[1, 2]), (b"b", &[3])]);
    let lease = take(&mut schedule);
    assert_eq!(names(&lease), [b"a", b"b"]);
    batch(&mut schedule, &[(b"a", &[4])]);
    batch(&mut schedule, &[(b"a", &[5]), (b"c", &[6])]);
    assert_eq!(schedule.ready(), Ready { keys: 1, records: 1, bytes: 10 });
    assert_eq!(schedule.waiting(), Ready { keys: 2, records: 3, bytes: 30 });
    let other = take(&mut schedule);
    assert_eq!(names(&other), [b"c"]);
    assert!(schedule.take(ALL, |_| 0).is_none(), "a is away");
    release(&mut schedule, &lease, None);
    let next = take(&mut schedule);
    assert_eq!((names(&next), numbers(&next, 0)), (vec![&b"a"[..]], vec![4, 5]));
}

#[test]
fn nobody_releases_a_key_with_the_token_of_an_older_lease() {
    let mut schedule = Schedule::new(Order::PerKey);
    batch(&mut schedule, &[(b"a", &[1])]);
    let first = take(&mut schedule);
    release(&mut schedule, &first, None);
    assert_eq!(schedule.release(first.token, b"a", None), Err(Stale(first.token)));
    batch(&mut schedule, &[(b"a", &[2])]);
    assert_eq!(schedule.release(first.token, b"a", None), Err(Stale(first.token)));
    let second = take(&mut schedule);
    assert_eq!(schedule.release(first.token, b"a", None), Err(Stale(first.token)));
    assert!(schedule.is_leased(b"a"));
    release(&mut schedule, &second, None);
    assert!(schedule.is_idle());
}

#[test]
fn records_see_the_watermark_that_was_there_when_they_came() {
    let mut schedule = Schedule::new(Order::PerKey);
    batch(&mut schedule, &[(b"a", &[1])]);
    schedule.advance(10);
    batch(&mut schedule, &[(b"a", &[2]), (b"b", &[3])]);
    schedule.advance(20);
    batch(&mut schedule, &[(b"b", &[4])]);
    let lease = take(&mut schedule);
    assert_eq!(steps(&lease), [(NONE, 10), (10, 20), (20, 20)]);
    let groups: Vec<_> = lease.groups().iter().map(|g| (g.step, g.key, g.chunks.len())).collect();
    assert_eq!(groups, [(0, 0, 1), (1, 0, 1), (1, 1, 1), (2, 1, 1)]);
    assert_eq!(lease.last_watermark(), 20);
}

#[test]
fn a_watermark_goes_on_behind_the_last_work_of_before_it() {
    let mut schedule = Schedule::new(Order::PerKey);
    batch(&mut schedule, &[(b"a", &[1])]);
    let away = take(&mut schedule);
    schedule.advance(10);
    assert_eq!(schedule.passed(), None, "a is away with a record of before it");
    batch(&mut schedule, &[(b"b", &[2])]);
    schedule.advance(20);
    release(&mut schedule, &away, None);
    assert_eq!(schedule.passed(), Some(10), "b waits with a record of before 20");
    let lease = take(&mut schedule);
    release(&mut schedule, &lease, None);
    assert_eq!(schedule.passed(), Some(20));
    assert_eq!(schedule.remembered_steps(), 1);
}

#[test]
fn a_timer_that_fires_while_its_key_is_away_fires_at_the_same_watermark_afterwards() {
    let mut schedule = Schedule::new(Order::PerKey);
    batch(&mut schedule, &[(b"a", &[1])]);
    let away = take(&mut schedule);
    assert_eq!(steps(&away), [(NONE, NONE)], "its step has not ended");
    for watermark in [10, 20, 30] {
        schedule.advance(watermark);
    }
    release(&mut schedule, &away, Some(15));
    assert_eq!(schedule.passed(), Some(10));
    let firing = take(&mut schedule);
    assert_eq!(steps(&firing), [(10, 20), (20, 30)], "15 fires with 20, and more may follow");
    assert!(firing.keys[0].chunks.is_empty());
    release(&mut schedule, &firing, Some(35));
    assert_eq!(schedule.passed(), Some(30));
    assert!(schedule.is_idle());
    schedule.advance(40);
    schedule.fire(b"a", 35);
    assert_eq!(schedule.passed(), None);
    assert_eq!(steps(&take(&mut schedule)), [(30, 40)]);
}

#[test]
fn a_timer_that_was_set_too_late_fires_with_the_next_watermark() {
    for order in [Order::PerKey, Order::Total] {
        let mut schedule = Schedule::new(order);
        schedule.advance(10);
        batch(&mut schedule, &[(b"a", &[1])]);
        let lease = take(&mut schedule);
        release(&mut schedule, &lease, Some(5));
        assert!(schedule.take(ALL, |_| 0).is_none());
        assert_eq!(schedule.passed(), Some(10));
        batch(&mut schedule, &[(b"b", &[2])]);
        schedule.advance(20);
        let lease = take(&mut schedule);
        assert_eq!(steps(&lease).last(), Some(&(10, 20)));
        assert_eq!(names(&lease), [b"b", b"a"]);
        release(&mut schedule, &lease, None);
        assert_eq!(schedule.passed(), Some(20));
        assert_eq!(schedule.keys.len(), 0);
    }
}

#[test]
fn a_key_with_a_timer_that_was_set_too_late_goes_in_no_lease_that_begins_earlier() {
    let mut schedule = Schedule::new(Order::PerKey);
    batch(&mut schedule, &[(b"a", &[1])]);
    schedule.advance(10);
    let away = one(&mut schedule);
    schedule.advance(20);
    batch(&mut schedule, &[(b"b", &[2])]);
    let b = take(&mut schedule);
    release(&mut schedule, &b, Some(15));
    batch(&mut schedule, &[(b"b", &[3])]);
    schedule.advance(30);
    release(&mut schedule, &away, Some(12));
    let a = take(&mut schedule);
    assert_eq!((names(&a), steps(&a)), (vec![&b"a"[..]], vec![(10, 20), (20, 30)]));
    let b = take(&mut schedule);
    assert_eq!(steps(&b), [(20, 30)], "15 fires with 30, not with 20");
}

#[test]
fn a_lease_ends_before_many_steps_in_which_nothing_is_known_to_happen() {
    let mut schedule = Schedule::new(Order::PerKey).with_step_limits(100, 3);
    batch(&mut schedule, &[(b"a", &[1])]);
    for watermark in 1..=10 {
        schedule.advance(watermark);
    }
    batch(&mut schedule, &[(b"a", &[2])]);
    let lease = take(&mut schedule);
    assert_eq!(steps(&lease), [(NONE, 1)]);
    assert_eq!(schedule.waiting(), Ready { keys: 1, records: 1, bytes: 10 });
    release(&mut schedule, &lease, Some(8));
    assert_eq!(schedule.passed(), Some(7));
    let lease = take(&mut schedule);
    assert_eq!(steps(&lease), [(7, 8), (8, 9), (9, 10), (10, 10)], "8 fires with 8");
    assert_eq!(numbers(&lease, 0), [2]);
}

#[test]
fn a_key_whose_work_begins_after_the_end_of_a_lease_stays() {
    let mut schedule = Schedule::new(Order::PerKey).with_step_limits(100, 3);
    batch(&mut schedule, &[(b"a", &[1])]);
    (1..=10).for_each(|watermark| schedule.advance(watermark));
    batch(&mut schedule, &[(b"b", &[2])]);
    assert_eq!(names(&take(&mut schedule)), [b"a"]);
    assert_eq!(names(&take(&mut schedule)), [b"b"]);
}

#[test]
fn a_hot_key_is_taken_with_all_that_waits_for_it_as_far_as_it_fits() {
    let mut schedule = Schedule::new(Order::PerKey);
    for n in 0..10 {
        batch(&mut schedule, &[(b"hot", &[n * 2, n * 2 + 1])]);
        if n % 4 == 3 {
            schedule.advance(i64::from(n));
        }
    }
    let mut twin = schedule.clone();
    assert_eq!(numbers(&take(&mut twin), 0), (0..20).collect::<Vec<_>>());
    let want = Take { most_records: 6, ..ALL };
    let lease = schedule.take(want, |_| 0).expect("it is ready");
    assert_eq!(numbers(&lease, 0), [0, 1, 2, 3, 4, 5]);
    assert_eq!(steps(&lease), [(NONE, NONE)], "the rest of its step still waits");
    batch(&mut schedule, &[(b"hot", &[20])]);
    release(&mut schedule, &lease, Some(1));
    assert_eq!(schedule.passed(), None);
    let lease = schedule.take(Take { most_records: 2, ..ALL }, |_| 0).expect("it is ready");
    assert_eq!((numbers(&lease, 0), steps(&lease)), (vec![6, 7], vec![(NONE, 3)]));
}

#[test]
fn keys_with_small_states_against_their_work_go_first() {
    let mut schedule = Schedule::new(Order::PerKey);
    batch(&mut schedule, &[(b"a", &[1]), (b"b", &[1]), (b"c", &[1, 2, 3, 4]), (b"d", &[1])]);
    let bytes = |key: &[u8]| match key {
        b"a" => 1000,
        b"c" => 5000,
        _ => 10,
    };
    let want = Take { most_keys: 2, prefer: Prefer::SmallState, ..ALL };
    let lease = schedule.take(want, bytes).expect("they are ready");
    assert_eq!(names(&lease), [b"b", b"d"]);
    let lease = schedule.take(want, bytes).expect("they are ready");
    assert_eq!(names(&lease), [b"a", b"c"]);
}

#[test]
fn a_lease_holds_no_more_bytes_than_wanted_states_included() {
    let mut schedule = Schedule::new(Order::PerKey);
    batch(&mut schedule, &[(b"a", &[1]), (b"b", &[1]), (b"c", &[1])]);
    for prefer in [Prefer::Oldest, Prefer::SmallState] {
        let want = Take { most_bytes: 2 * (10 + 100 + 33), prefer, ..ALL };
        let lease = schedule.clone().take(want, |_| 100).expect("they are ready");
        assert_eq!(names(&lease), [b"a", b"b"]);
        let want = Take { most_bytes: 1, prefer, ..ALL };
        let lease = schedule.clone().take(want, |_| 100).expect("one goes in any case");
        assert_eq!(names(&lease), [b"a"]);
    }
}

#[test]
fn a_processing_time_timer_makes_a_key_ready_without_records() {
    let mut schedule = Schedule::new(Order::PerKey);
    schedule.advance(10);
    schedule.fire_processing(b"a");
    schedule.fire_processing(b"a");
    let lease = take(&mut schedule);
    assert!(lease.fire_processing);
    assert_eq!(steps(&lease), [(10, 10)]);
    schedule.fire_processing(b"a");
    release(&mut schedule, &lease, None);
    assert!(schedule.is_idle());
}

#[test]
fn the_total_order_is_that_of_the_input_whoever_is_first() {
    let mut schedule = Schedule::new(Order::Total);
    let mut order = TotalOrder::new();
    batch(&mut schedule, &[(b"b", &[1]), (b"a", &[2])]);
    schedule.advance(10);
    batch(&mut schedule, &[(b"a", &[3])]);
    let (b, a) = (one(&mut schedule), one(&mut schedule));
    assert_eq!(
        (steps(&b), steps(&a)),
        (vec![(NONE, NONE), (NONE, 10)], vec![(NONE, NONE), (NONE, 10), (10, 10)],)
    );
    let commit =
        |schedule: &mut Schedule, order: &mut TotalOrder<String>, lease: &Lease<Numbers>| {
            for step in 0..lease.steps.len() {
                let name = String::from_utf8_lossy(&lease.keys[0].key);
                let place = lease.place(0, step).expect("they are in the lease");
                order.add(place, format!("{name}{}", lease.steps[step].id.0));
            }
            release(schedule, lease, None);
            let frontier = schedule.frontier();
            order.drain(frontier).collect::<Vec<_>>()
        };
    assert_eq!(commit(&mut schedule, &mut order, &a), Vec::<String>::new());
    assert_eq!(schedule.passed(), None);
    assert_eq!(commit(&mut schedule, &mut order, &b), ["b0", "a0", "a1", "b1", "a2"]);
    assert_eq!(schedule.passed(), Some(10));
    assert!(order.is_empty());
}

#[test]
fn what_is_kept_is_what_waits() {
    let mut schedule = Schedule::new(Order::PerKey);
    for n in 0..10_000_u32 {
        batch(&mut schedule, &[(&n.to_le_bytes(), &[n]), (b"hot", &[n])]);
        schedule.advance(i64::from(n));
        if n % 7 == 0 {
            let lease = take(&mut schedule);
            release(&mut schedule, &lease, Some(i64::from(n) + 1));
            schedule.passed();
        }
        assert!(schedule.keys.len() <= 9 && schedule.remembered_steps() <= 9);
    }
}
