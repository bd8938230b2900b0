//! When the records of a source are due: a pure function of the rate profile.
//!
//! Record `i` (from 0) is due when the integral of the rate reaches `i + 1`. Rates are held in
//! thousandths of a record per second and times in microseconds, so that the integral over
//! constant rates is exact; only the sine is rounded.

use std::f64::consts::TAU;
use std::ops::Range;
use std::time::Duration;

use crate::burst::Time;

/// Parts of a record in which the integral counts: thousandths of records per second, times
/// microseconds.
const RECORD: u128 = 1_000_000_000;

/// How a rate changes over the time of a run. Rates are in records per second.
#[derive(Clone, Debug, PartialEq)]
pub struct RateProfile {
    /// The rate at the start.
    pub base: f64,
    /// Lasting changes of the base rate, by rising time.
    pub steps: Vec<Step>,
    /// What swings around the base rate.
    pub sine: Option<Sine>,
    /// Passing changes, by rising time, without overlap. In a spike neither base nor sine counts.
    pub spikes: Vec<Spike>,
}

/// A lasting change of the base rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// When it comes, from the start of the run.
    pub at: Duration,
    /// The base rate from then on.
    pub rate: f64,
}

/// A passing change of the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// When it begins, from the start of the run.
    pub at: Duration,
    /// The rate in it.
    pub rate: f64,
    /// How long it lasts.
    pub duration: Duration,
}

/// A swing around the base rate: `amplitude * sin(2π t / period)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sine {
    /// How far it swings, at most as far as the lowest base rate.
    pub amplitude: f64,
    /// How long one swing takes.
    pub period: Duration,
}

impl RateProfile {
    /// A rate that never changes.
    pub fn constant(rate: f64) -> Self {
        Self { base: rate, steps: Vec::new(), sine: None, spikes: Vec::new() }
    }

    /// The spikes, as times of the run.
    pub fn spike_times(&self) -> Vec<Range<Time>> {
        let span = |spike: &Spike| Time(0) + spike.at..Time(0) + spike.at + spike.duration;
        self.spikes.iter().map(span).collect()
    }
}

/// A rate profile made ready for counting.
#[derive(Clone, Debug)]
pub struct RateSchedule {
    /// Without gaps from time 0 on; the last one never ends.
    segments: Vec<Segment>,
}

/// A stretch of time with one constant rate, and perhaps the sine on top.
#[derive(Clone, Debug)]
struct Segment {
    /// Microseconds.
    start: u64,
    /// What the integral has reached at the start, in parts of a record.
    reached: u128,
    /// Thousandths of a record per second.
    rate: u64,
    sine: Option<Sine>,
}

impl Segment {
    /// What the integral has reached at `time`, in parts of a record.
    fn reached_at(&self, time: u64) -> u128 {
        let constant = u128::from(self.rate) * u128::from(time - self.start);
        let swing = self.sine.map_or(0.0, |sine| {
            let period = sine.period.as_secs_f64();
            let angle = |micros: u64| TAU * (micros as f64 / 1e6) / period;
            let records = sine.amplitude * period / TAU;
            records * (angle(self.start).cos() - angle(time).cos()) * RECORD as f64
        });
        // The sum is never negative, as the amplitude is at most the rate; rounding may be.
        (self.reached + constant).saturating_add_signed(swing as i128)
    }

    /// The first microsecond at which the integral has reached `goal`, if it ever does.
    fn time_of(&self, goal: u128, end: Option<u64>) -> Option<u64> {
        if self.sine.is_none() {
            let missing = goal.saturating_sub(self.reached);
            return match self.rate {
                0 => (missing == 0).then_some(self.start),
                rate => Some(self.start + missing.div_ceil(rate.into()) as u64),
            };
        }
        // With a sine there is no closed inverse: halve the interval that holds it.
        let mut low = self.start;
        let mut high = match end {
            Some(end) => end,
            None => {
                let mut span = 1_000_000;
                while self.reached_at(low + span) < goal {
                    if span > u64::MAX / 8 {
                        return None;
                    }
                    span *= 2;
                }
                low + span
            }
        };
        while low < high {
            let middle = low + (high - low) / 2;
            match self.reached_at(middle) >= goal {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        Some(low)
    }
}

impl RateSchedule {
    /// Makes a profile ready.
    pub fn new(profile: &RateProfile) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let mut starts = vec![0];
        starts.extend(profile.steps.iter().map(|step| micros(step.at)));
        for spike in &profile.spikes {
            starts.extend([micros(spike.at), micros(spike.at + spike.duration)]);
        }
        starts.sort_unstable();
        starts.dedup();
        let mut segments: Vec<Segment> = Vec::with_capacity(starts.len());
        for start in starts {
            let spike = profile.spikes.iter().find(|spike| {
                (micros(spike.at)..micros(spike.at + spike.duration)).contains(&start)
            });
            let step = profile.steps.iter().rev().find(|step| micros(step.at) <= start);
            let (rate, sine) = match spike {
                Some(spike) => (spike.rate, None),
                None => (step.map_or(profile.base, |step| step.rate), profile.sine),
            };
            let reached = segments.last().map_or(0, |segment| segment.reached_at(start));
            segments.push(Segment { start, reached, rate: (rate * 1e3).round() as u64, sine });
        }
        Self { segments }
    }

    /// How many records are due by `time`, counted from the start of the run.
    pub fn due_by(&self, time: Time) -> u64 {
        let after = self.segments.partition_point(|segment| segment.start <= time.0);
        (self.segments[after - 1].reached_at(time.0) / RECORD) as u64
    }

    /// When record `index` is due; `None` when the rate falls to zero for good before that.
    pub fn due_at(&self, index: u64) -> Option<Time> {
        let goal = (u128::from(index) + 1) * RECORD;
        let after = self.segments.partition_point(|segment| segment.reached < goal);
        let segment = &self.segments[after - 1];
        let end = self.segments.get(after).map(|next| next.start);
        segment.time_of(goal, end).map(Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn spiky() -> RateProfile {
        RateProfile {
            spikes: vec![Spike { at: seconds(10), rate: 330_000.0, duration: seconds(20) }],
            ..RateProfile::constant(60_000.0)
        }
    }

    /// Each record is due at the first microsecond at which the count includes it.
    fn check_inverse(profile: &RateProfile, indices: impl Iterator<Item = u64>) {
        let schedule = RateSchedule::new(profile);
        let mut previous = Time(0);
        for index in indices {
            let due = schedule.due_at(index).expect("the rate never stays zero");
            assert!(schedule.due_by(due) > index, "record {index} at {due:?}");
            assert!(schedule.due_by(Time(due.0 - 1)) <= index, "record {index} at {due:?}");
            assert!(due >= previous, "record {index} is due before the one in front of it");
            previous = due;
        }
    }

    #[test]
    fn a_constant_rate_is_exact_to_the_record() {
        let schedule = RateSchedule::new(&RateProfile::constant(3.0));
        assert_eq!(schedule.due_by(Time(333_333)), 0);
        assert_eq!(schedule.due_by(Time(333_334)), 1);
        assert_eq!(schedule.due_by(Time(1_000_000)), 3);
        assert_eq!(schedule.due_by(Time(3_600_000_000 * 1_000)), 3 * 3_600 * 1_000);
        assert_eq!(schedule.due_at(0), Some(Time(333_334)));
        assert_eq!(schedule.due_at(2), Some(Time(1_000_000)));
    }

    #[test]
    fn a_spike_adds_what_it_says_and_no_more() {
        let schedule = RateSchedule::new(&spiky());
        assert_eq!(schedule.due_by(Time(10_000_000)), 600_000);
        assert_eq!(schedule.due_by(Time(30_000_000)), 600_000 + 6_600_000);
        assert_eq!(schedule.due_by(Time(50_000_000)), 600_000 + 6_600_000 + 1_200_000);
        assert_eq!(spiky().spike_times(), [Time(10_000_000)..Time(30_000_000)]);
    }

    #[test]
    fn due_times_are_the_inverse_of_the_count() {
        check_inverse(&spiky(), (0..8_000_000).step_by(7_919));
        let fractions = RateProfile::constant(0.007);
        check_inverse(&fractions, 0..100);
        let all = RateProfile {
            base: 1_000.0,
            steps: vec![
                Step { at: seconds(3), rate: 700.5 },
                Step { at: seconds(9), rate: 2_000.0 },
            ],
            sine: Some(Sine { amplitude: 700.5, period: Duration::from_millis(2_300) }),
            spikes: vec![
                Spike { at: seconds(2), rate: 0.0, duration: seconds(2) },
                Spike {
                    at: seconds(8),
                    rate: 10_000.0,
                    duration: Duration::from_micros(1_234_567),
                },
            ],
        };
        check_inverse(&all, 0..30_000);
    }

    #[test]
    fn a_whole_swing_of_the_sine_adds_nothing() {
        let profile = RateProfile {
            sine: Some(Sine { amplitude: 50.0, period: seconds(4) }),
            ..RateProfile::constant(100.0)
        };
        let schedule = RateSchedule::new(&profile);
        let quarter = 100.0 + 50.0 * 4.0 / TAU;
        assert_eq!(schedule.due_by(Time(1_000_000)), quarter as u64);
        assert!(schedule.due_by(Time(4_000_000)).abs_diff(400) <= 1);
    }

    #[test]
    fn nothing_is_due_once_the_rate_is_zero_for_good() {
        let profile = RateProfile {
            steps: vec![Step { at: seconds(1), rate: 0.0 }],
            ..RateProfile::constant(10.0)
        };
        let schedule = RateSchedule::new(&profile);
        assert_eq!(schedule.due_at(9), Some(Time(1_000_000)));
        assert_eq!(schedule.due_at(10), None);
        assert_eq!(schedule.due_by(Time(u64::MAX / 2)), 10);
    }
}
