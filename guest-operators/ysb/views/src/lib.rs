//! The first half of the Yahoo Streaming Benchmark: the views of advertisements, by their campaign.
//!
//! An event that is a view is cut down to its advertisement and its time, and gets the campaign of
//! the advertisement as its key. Other events are dropped, and so are views of advertisements that
//! belong to no campaign, as the original does. The original looks campaigns up in Redis; here they
//! come with the operator, or by its settings. The second half is `ysb-counts`, or
//! `ysb-counts-aggregate`.

mod campaigns;
mod event;

use std::fmt;

use campaigns::Campaigns;
use overspill_operator::{
    Description, Emitter, FlatMap, Output, Record, Rejection, Setting, SettingError, Settings,
};

/// The views, by campaign.
pub struct Views {
    campaigns: Campaigns,
    read: for<'a> fn(&'a [u8]) -> Result<Option<View<'a>>, Rejection>,
}

/// A view of an advertisement.
#[derive(Debug, PartialEq)]
struct View<'a> {
    ad: &'a [u8],
    /// The advertisement's id as a number, by which its campaign is found.
    id: u128,
    time: i64,
}

impl FlatMap for Views {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).settings(&[
            Setting::with_default(
                "format",
                "How events are written: `json`, or `binary` as the source `ysb` does it.",
                "json",
            ),
            Setting::with_default(
                "campaigns",
                "The campaign of each advertisement, a line such as `{\"AD\": \"CAMPAIGN\"}` each; \
                 empty: those of the source `ysb` with seed 0.",
                "",
            ),
        ]);

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        let read = match settings.get("format") {
            "json" => event::json,
            "binary" => event::binary,
            _ => return Err(settings.refuse("format", "expected `json` or `binary`")),
        };
        let campaigns = match settings.get("campaigns") {
            "" => Campaigns::of_seed_0(),
            text => Campaigns::read(text),
        };
        let campaigns =
            campaigns.map_err(|reason| SettingError { name: "campaigns".to_owned(), reason })?;
        Ok(Self { campaigns, read })
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let Some(view) = (self.read)(record.value)? else { return Ok(()) };
        if let Some(campaign) = self.campaigns.of(view.id) {
            let output = Output::new(view.ad).key(campaign);
            out.emit_with(match record.timestamp == Some(view.time) {
                true => output,
                false => output.timestamp(view.time),
            });
        }
        Ok(())
    }
}

impl fmt::Debug for Views {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Views").field("campaigns", &self.campaigns).finish_non_exhaustive()
    }
}

overspill_operator::export!(Views);

#[cfg(test)]
mod tests {
    use super::*;
    use overspill_operator::{Batch, Column, testing};

    const AD: &str = "61cd198b-bd17-425f-9c55-d6ed49e2079d";
    const CAMPAIGN: &str = "44d96cb3-7087-42c3-8324-20178c4bff9e";

    fn json(ad: &str, kind: &str) -> String {
        format!(
            r#"{{"user_id": "u", "page_id": "p", "ad_id": "{ad}", "ad_type": "banner", "event_type": "{kind}", "event_time": "1451606400007", "ip_address": "1.2.3.4"}}"#
        )
    }

    #[test]
    fn views_go_on_by_their_campaign_and_other_events_do_not() {
        let views = testing::configure::<Views>(&[]).unwrap();
        let unknown = "00000000-bd17-425f-9c55-d6ed49e2079d";
        let events = [json(AD, "click"), json(AD, "view"), json(unknown, "view")];
        let emission = testing::run(&views, events);
        assert_eq!(emission.rejected, []);
        assert_eq!(emission.ends, [0, 1, 1]);
        assert_eq!(emission.records.values, Column::from_iter([AD]));
        assert_eq!(emission.records.keys, Some(Column::from_iter([CAMPAIGN])));
        assert_eq!(emission.records.timestamps, Some(vec![1_451_606_400_007]));
    }

    #[test]
    fn binary_events_give_the_same() {
        let settings = [
            ("format", "binary"),
            ("campaigns", "{ \"00000000-0000-0000-0000-00000000000a\": \"c\"}"),
        ];
        let views = testing::configure::<Views>(&settings).unwrap();
        let mut event = [0; 62];
        event[47] = 10;
        event[48..56].copy_from_slice(&77_i64.to_le_bytes());
        let mut click = event;
        click[57] = 1;
        let batch = Batch {
            values: Column::from_iter([&event[..], &click, &event]),
            keys: None,
            timestamps: Some(vec![77, 77, 78]),
        };
        let emission = views.run(&batch);
        assert_eq!(emission.ends, [1, 1, 2]);
        assert_eq!(emission.records.keys, Some(Column::from_iter(["c", "c"])));
        assert_eq!(emission.records.timestamps, Some(vec![77, 77]));
    }

    #[test]
    fn what_is_no_event_is_rejected() {
        let views = testing::configure::<Views>(&[]).unwrap();
        let events = ["", "{}", &json("no-id", "view"), &json(AD, "view").replace("1451", "x")];
        assert_eq!(testing::run(&views, events).rejected.len(), 4);
        let views = testing::configure::<Views>(&[("format", "binary")]).unwrap();
        assert_eq!(testing::run(&views, ["short"]).rejected.len(), 1);
    }

    #[test]
    fn settings_that_mean_nothing_are_refused() {
        assert!(testing::configure::<Views>(&[("format", "xml")]).is_err());
        let error = testing::configure::<Views>(&[("campaigns", "{\"a\": \"b\"}")]).unwrap_err();
        assert!(error.reason.contains("line 1"), "{error}");
    }
}
