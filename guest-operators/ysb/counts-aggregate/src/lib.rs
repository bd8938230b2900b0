//! The second half of the Yahoo Streaming Benchmark, in parts that merge: the views of each
//! campaign in each ten seconds.
//!
//! The host makes the windows: give the operator `window = { tumbling = "10s" }`. The rows are those
//! of `ysb-counts`.

use overspill_operator::{
    Aggregate, Description, Emitter, KeyedRecord, Postcard, Rejection, SettingError, Settings,
};
use serde::{Deserialize, Serialize};

/// The second half of the benchmark.
#[derive(Debug)]
pub struct Counts;

/// The views of a part of a window.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Views {
    views: u64,
    /// The window's start in milliseconds since 1970, if there are views.
    window: Option<i64>,
}

const WINDOW: i64 = 10_000;

impl Aggregate for Counts {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).state_schema(1);
    type Partial = Views;
    type Codec = Postcard;

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn accumulate(&self, record: KeyedRecord<'_>, views: &mut Views) -> Result<(), Rejection> {
        let time = record.timestamp;
        let time = time.ok_or_else(|| Rejection::new("expected a view with an event time"))?;
        views.add(1, Some(time.saturating_sub(time.rem_euclid(WINDOW))));
        Ok(())
    }

    fn merge(&self, views: &mut Views, other: Views) {
        views.add(other.views, other.window);
    }

    fn finish(&self, campaign: &[u8], views: Views, time: i64, out: &mut Emitter) {
        // The ids of campaigns are UUIDs, which JSON takes as they are.
        let mut row = out.value_writer();
        row.push(b"{\"campaign_id\":\"");
        row.push(campaign);
        row.push(b"\",\"window_time\":");
        row.push(itoa::Buffer::new().format(views.window.unwrap_or(time)).as_bytes());
        row.push(b",\"seen_count\":");
        row.push(itoa::Buffer::new().format(views.views).as_bytes());
        row.push(b"}");
        row.finish();
    }
}

impl Views {
    /// Adds views of a window. It is one and the same where the host makes the windows; elsewhere
    /// the earliest, so that parts still merge in any order.
    fn add(&mut self, views: u64, window: Option<i64>) {
        self.views += views;
        self.window = self.window.into_iter().chain(window).min();
    }
}

overspill_operator::export!(aggregate Counts);

#[cfg(test)]
mod tests {
    use super::*;
    use overspill_operator::{Batch, Column, RecordGroups, testing};

    #[test]
    fn parts_of_a_window_become_one_row() {
        let runner = testing::configure_aggregate::<Counts>(&[]).unwrap();
        let part = |times: &[i64]| {
            let records = Batch {
                values: times.iter().map(|_| "ad").collect(),
                keys: None,
                timestamps: Some(times.to_vec()),
            };
            let keys = Column::from_iter(["c"]);
            let groups = RecordGroups { keys, records, record_ends: vec![times.len() as u32] };
            runner.accumulate(&groups).values.get(0).to_vec()
        };
        let partials = Column::from_iter([part(&[]), part(&[19_999, 10_000]), part(&[12_345])]);
        let merged = runner.merge(&partials, &[3]);
        let results = runner.finish(&Column::from_iter(["c"]), &merged, 19_999);
        let row = r#"{"campaign_id":"c","window_time":10000,"seen_count":3}"#;
        assert_eq!(results.records.values, Column::from_iter([row]));
    }
}
