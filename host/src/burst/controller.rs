//! The controller: whether local lanes will do, and if not, how much must go elsewhere.
//!
//! Functions of their arguments alone. With λ the arrival rate, μ the service rate of all local
//! lanes, Q the backlog (all in records) and D the latency target:
//!
//! - a record that arrives now will be done after Q/μ; above D, the target is missed;
//! - **the fluid bound** λ − μ + Q/D is the rate that must be served elsewhere for the backlog to
//!   be gone within D. It sizes the runners;
//! - **which work goes**: what stands in the queue behind more records than local lanes can
//!   process before a target would answer (or in half of D, when the target is faster than
//!   that). What stands further ahead is served sooner here. So no more than the excess leaves,
//!   and local lanes always have work while anything is sent.

use std::time::Duration;

/// How long the wait must stay below half of the latency target before a burst has ended.
pub(super) const CALM: Duration = Duration::from_secs(1);

/// What the controller looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// D.
    pub latency_target: Duration,
    /// λ, records a second.
    pub arrival_rate: f64,
    /// μ, records a second of all local lanes together; `None` until something is known of it.
    pub service_rate: Option<f64>,
    /// Records in the queue.
    pub waiting: u64,
    /// Records that local lanes have been given and not done yet.
    pub on_local_lanes: f64,
    /// Whether a burst is under way.
    pub bursting: bool,
}

/// What follows from an [`Observation`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assessment {
    /// After how long a record that arrives now would be done by local lanes alone.
    pub predicted_wait: Duration,
    /// Records a second that should be served elsewhere; 0 when there is no pressure.
    pub fluid_bound: f64,
    /// How hard it is.
    pub pressure: Pressure,
}

/// How hard it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    /// Local lanes keep the wait below half of the latency target.
    None,
    /// They don't, but the latency target is met.
    Some,
    /// The same, and more arrives than local lanes can process: the target will be missed.
    Rising,
    /// The latency target will be missed.
    Over,
}

impl Observation {
    /// What it means.
    pub fn assess(&self) -> Assessment {
        let backlog = self.waiting as f64 + self.on_local_lanes;
        let target = self.latency_target.as_secs_f64().max(1e-6);
        let Some(service_rate) = self.service_rate.filter(|rate| *rate > 0.0) else {
            return Assessment {
                predicted_wait: Duration::ZERO,
                fluid_bound: 0.0,
                pressure: Pressure::None,
            };
        };
        let wait = backlog / service_rate;
        let pressure = if wait > target {
            Pressure::Over
        } else if wait <= target / 2.0 {
            Pressure::None
        } else if self.arrival_rate > service_rate {
            Pressure::Rising
        } else {
            Pressure::Some
        };
        let fluid_bound = if pressure == Pressure::None {
            0.0
        } else {
            self.rate_to_clear_within(self.latency_target)
        };
        Assessment { predicted_wait: Duration::from_secs_f64(wait.min(1e9)), fluid_bound, pressure }
    }

    /// λ − μ plus the backlog over this time: what must be served elsewhere for the backlog to be
    /// gone by then.
    pub fn rate_to_clear_within(&self, time: Duration) -> f64 {
        let backlog = self.waiting as f64 + self.on_local_lanes;
        let service_rate = self.service_rate.unwrap_or(0.0);
        (self.arrival_rate - service_rate + backlog / time.as_secs_f64().max(1e-6)).max(0.0)
    }

    /// Whether work may leave now. A burst begins above the latency target, and lasts until
    /// [`CALM`] after the wait has fallen below half of it.
    pub fn wants_targets(&self, assessment: &Assessment) -> bool {
        self.bursting || assessment.pressure == Pressure::Over
    }

    /// How many waiting records, from the head of the queue on, local lanes serve sooner than a
    /// target that answers after `remote`.
    pub fn local_share(&self, remote: Duration) -> u64 {
        let horizon = remote.max(self.latency_target / 2).as_secs_f64();
        match self.service_rate {
            Some(rate) => (horizon * rate - self.on_local_lanes).clamp(0.0, 1e18) as u64,
            None => u64::MAX,
        }
    }

    /// The numbers, for a sentence.
    pub fn describe(&self, assessment: &Assessment) -> String {
        format!(
            "{:.0} records/s arrive, local lanes process {:.0}/s, {:.0} are waiting or on lanes, \
             so a record that arrives now is done in {:.0} ms; the target is {:.0} ms and the \
             fluid bound {:.0} records/s",
            self.arrival_rate,
            self.service_rate.unwrap_or(f64::NAN),
            self.waiting as f64 + self.on_local_lanes,
            assessment.predicted_wait.as_secs_f64() * 1e3,
            self.latency_target.as_secs_f64() * 1e3,
            assessment.fluid_bound,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(arrival_rate: f64, waiting: u64) -> Observation {
        Observation {
            latency_target: Duration::from_millis(50),
            arrival_rate,
            service_rate: Some(80_000.0),
            waiting,
            on_local_lanes: 0.0,
            bursting: false,
        }
    }

    #[test]
    fn the_fluid_bound_is_arrivals_less_service_plus_the_backlog_over_the_target() {
        let assessment = observation(330_000.0, 8_000).assess();
        assert!((assessment.fluid_bound - 410_000.0).abs() < 1.0);
        assert_eq!(assessment.predicted_wait, Duration::from_millis(100));
        assert_eq!(assessment.pressure, Pressure::Over);
    }

    #[test]
    fn more_backlog_or_more_arrivals_never_mean_less_pressure() {
        let rates = [0.0, 40_000.0, 79_000.0, 81_000.0, 330_000.0];
        let backlogs = [0, 100, 2_000, 2_001, 4_000, 4_001, 100_000];
        for bursting in [false, true] {
            let rows: Vec<Vec<_>> = rates
                .iter()
                .map(|rate| {
                    let assess = |waiting: &u64| {
                        let now = Observation { bursting, ..observation(*rate, *waiting) };
                        let assessment = now.assess();
                        (assessment, now.wants_targets(&assessment))
                    };
                    backlogs.iter().map(assess).collect()
                })
                .collect();
            let grows = |less: &(Assessment, bool), more: &(Assessment, bool)| {
                assert!(less.0.pressure <= more.0.pressure, "{less:?} {more:?}");
                assert!(less.0.fluid_bound <= more.0.fluid_bound, "{less:?} {more:?}");
                assert!(less.0.predicted_wait <= more.0.predicted_wait, "{less:?} {more:?}");
                assert!(less.1 <= more.1, "{less:?} {more:?}");
            };
            for row in &rows {
                row.windows(2).for_each(|pair| grows(&pair[0], &pair[1]));
            }
            for pair in rows.windows(2) {
                pair[0].iter().zip(&pair[1]).for_each(|(less, more)| grows(less, more));
            }
        }
    }

    #[test]
    fn work_that_waits_longer_than_the_target_makes_the_fluid_bound_positive() {
        for rate in [0.0, 10_000.0, 79_999.0] {
            let assessment = observation(rate, 4_001).assess();
            assert_eq!(assessment.pressure, Pressure::Over);
            assert!(assessment.fluid_bound > 0.0);
        }
    }

    #[test]
    fn the_slower_a_target_the_more_stays_here() {
        let now = observation(330_000.0, 100_000);
        assert_eq!(now.local_share(Duration::from_millis(5)), 2_000, "half of the latency target");
        assert_eq!(now.local_share(Duration::from_millis(100)), 8_000);
        assert_eq!(now.local_share(Duration::from_secs(10)), 800_000);
    }

    #[test]
    fn nothing_is_known_before_the_first_batch_and_nothing_leaves() {
        let now = Observation { service_rate: None, ..observation(1e6, 100_000) };
        assert!(!now.wants_targets(&now.assess()));
        assert_eq!(now.local_share(Duration::ZERO), u64::MAX);
    }
}
