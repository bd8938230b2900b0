//! Makes the benchmark's events, each from its number alone.

use crate::pipeline::definition::YsbFormat;
use crate::pipeline::source::java_random::JavaRandom;

/// 2016-01-01T00:00:00 UTC in milliseconds: when event 0 happens.
const START: i64 = 1_451_606_400_000;
const CAMPAIGNS: usize = 100;
/// Advertisements of a campaign.
const ADS: usize = 10;
const USERS: usize = 100;
const PAGES: usize = 100;
const AD_TYPES: [&str; 5] = ["banner", "modal", "sponsored-search", "mail", "mobile"];
const EVENT_TYPES: [&str; 3] = ["view", "click", "purchase"];
/// One event in so many is late, with skew.
const LATE_ONE_IN: i32 = 100_000;
/// By how much less than this, in milliseconds.
const LATEST: i32 = 60_000;
const BINARY_BYTES: usize = 62;

/// Makes events.
pub(in crate::pipeline) struct YsbEvents {
    seed: u64,
    /// Nanoseconds of event time from one event to the next.
    period: u64,
    skew: bool,
    format: YsbFormat,
    /// The ten of the first campaign, then those of the second, and so on.
    ads: Vec<Id>,
    pages: Vec<Id>,
    users: Vec<Id>,
}

/// A random UUID.
struct Id {
    bytes: [u8; 16],
    text: [u8; 36],
}

impl Id {
    fn draw(random: &mut JavaRandom) -> Self {
        let mut bytes = [0; 16];
        for part in bytes.chunks_mut(4) {
            part.copy_from_slice(&random.any().to_be_bytes());
        }
        // Version 4 and the variant of RFC 9562: what `UUID.randomUUID` gives.
        bytes[6] = bytes[6] & 0x0F | 0x40;
        bytes[8] = bytes[8] & 0x3F | 0x80;
        let mut text = [b'-'; 36];
        let mut at = 0;
        for (index, byte) in bytes.iter().enumerate() {
            if [4, 6, 8, 10].contains(&index) {
                at += 1;
            }
            for digit in [byte >> 4, byte & 0xF] {
                text[at] = b"0123456789abcdef"[usize::from(digit)];
                at += 1;
            }
        }
        Self { bytes, text }
    }
}

impl YsbEvents {
    /// Events of stream `seed`, so many per second of event time.
    pub(in crate::pipeline) fn new(
        seed: u64,
        event_time_rate: u64,
        skew: bool,
        format: YsbFormat,
    ) -> Self {
        // Spread by the golden ratio, so that the events of two seeds have little in common.
        let seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = id_random(seed);
        // No event shows its campaign.
        draw(CAMPAIGNS, &mut random);
        Self {
            seed,
            period: 1_000_000_000 / event_time_rate,
            skew,
            format,
            ads: draw(CAMPAIGNS * ADS, &mut random),
            pages: draw(PAGES, &mut random),
            users: draw(USERS, &mut random),
        }
    }

    /// The most bytes of an event.
    pub(super) fn longest(&self) -> usize {
        match self.format {
            YsbFormat::Json => 264,
            YsbFormat::Binary => BINARY_BYTES,
        }
    }

    /// Appends an event and returns when it happens, in milliseconds since 1970.
    pub(super) fn write(&self, event: u64, out: &mut Vec<u8>) -> i64 {
        let mut random = JavaRandom::new(event ^ self.seed);
        let mut time = START + (event.wrapping_mul(self.period) / 1_000_000) as i64;
        if self.skew {
            time += i64::from(50 - below(&mut random, 100));
            if below(&mut random, LATE_ONE_IN) == 0 {
                time -= i64::from(below(&mut random, LATEST));
            }
        }
        // In the order in which the original draws them.
        let user = one_of(&self.users, &mut random);
        let page = one_of(&self.pages, &mut random);
        let ad = one_of(&self.ads, &mut random);
        let ad_type = below(&mut random, AD_TYPES.len() as i32) as usize;
        let event_type = below(&mut random, EVENT_TYPES.len() as i32) as usize;
        match self.format {
            YsbFormat::Json => {
                let mut time_text = itoa::Buffer::new();
                for part in [
                    &b"{\"user_id\": \""[..],
                    &user.text,
                    b"\", \"page_id\": \"",
                    &page.text,
                    b"\", \"ad_id\": \"",
                    &ad.text,
                    b"\", \"ad_type\": \"",
                    AD_TYPES[ad_type].as_bytes(),
                    b"\", \"event_type\": \"",
                    EVENT_TYPES[event_type].as_bytes(),
                    b"\", \"event_time\": \"",
                    time_text.format(time).as_bytes(),
                    b"\", \"ip_address\": \"1.2.3.4\"}",
                ] {
                    out.extend_from_slice(part);
                }
            }
            YsbFormat::Binary => {
                let mut bytes = [0; BINARY_BYTES];
                bytes[..16].copy_from_slice(&user.bytes);
                bytes[16..32].copy_from_slice(&page.bytes);
                bytes[32..48].copy_from_slice(&ad.bytes);
                bytes[48..56].copy_from_slice(&time.to_le_bytes());
                bytes[56..58].copy_from_slice(&[ad_type as u8, event_type as u8]);
                bytes[58..].copy_from_slice(&[1, 2, 3, 4]);
                out.extend_from_slice(&bytes);
            }
        }
        time
    }
}

/// The generator of the ids: those of the campaigns come first. Its seed is no number that an
/// event is drawn by.
fn id_random(seed: u64) -> JavaRandom {
    JavaRandom::new(!seed)
}

fn draw(count: usize, random: &mut JavaRandom) -> Vec<Id> {
    (0..count).map(|_| Id::draw(random)).collect()
}

/// Clojure's `rand-int`: from 0 and below `bound`.
fn below(random: &mut JavaRandom, bound: i32) -> i32 {
    (f64::from(bound) * random.fraction()) as i32
}

/// Clojure's `rand-nth`.
fn one_of<'i>(ids: &'i [Id], random: &mut JavaRandom) -> &'i Id {
    &ids[below(random, ids.len() as i32) as usize]
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panic")]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::path::Path;

    use serde_json::Value;

    use super::*;

    fn event(events: &YsbEvents, number: u64) -> (i64, String) {
        let mut text = Vec::new();
        let time = events.write(number, &mut text);
        assert!(text.len() <= events.longest(), "{} bytes", text.len());
        (time, String::from_utf8(text).unwrap())
    }

    fn json(skew: bool) -> YsbEvents {
        YsbEvents::new(0, 10_000, skew, YsbFormat::Json)
    }

    #[test]
    fn an_event_is_the_originals_text() {
        let (time, text) = event(&json(false), 12_345);
        assert_eq!(time, START + 1_234);
        let value: Value = serde_json::from_str(&text).unwrap();
        let original = format!(
            "{{\"user_id\": {}, \"page_id\": {}, \"ad_id\": {}, \"ad_type\": {}, \"event_type\": {}, \
             \"event_time\": \"{time}\", \"ip_address\": \"1.2.3.4\"}}",
            value["user_id"],
            value["page_id"],
            value["ad_id"],
            value["ad_type"],
            value["event_type"]
        );
        assert_eq!(text, original);
    }

    #[test]
    fn the_committed_table_has_the_campaigns_of_seed_0() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let path = root.join("bench/ysb/ad-to-campaign-ids.txt");
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        let text = |id: &Id| String::from_utf8_lossy(&id.text).into_owned();
        let campaigns = draw(CAMPAIGNS, &mut id_random(0));
        let line = |(index, ad)| {
            // The original's form.
            format!("{{ \"{}\": \"{}\"}}\n", text(ad), text(&campaigns[index / ADS]))
        };
        let table: String = json(false).ads.iter().enumerate().map(line).collect();
        assert!(committed == table, "{} is not it", path.display());
    }

    #[test]
    fn everything_is_drawn_and_evenly() {
        let events = json(false);
        let mut seen: HashMap<&str, HashMap<String, u32>> = HashMap::new();
        for number in 0..100_000 {
            let value: Value = serde_json::from_str(&event(&events, number).1).unwrap();
            for name in ["user_id", "page_id", "ad_id", "ad_type", "event_type"] {
                let found = value[name].as_str().unwrap().to_owned();
                *seen.entry(name).or_default().entry(found).or_default() += 1;
            }
        }
        for (name, kinds) in [
            ("user_id", 100),
            ("page_id", 100),
            ("ad_id", 1_000),
            ("ad_type", 5),
            ("event_type", 3),
        ] {
            let counts = &seen[name];
            assert_eq!(counts.len(), kinds, "{name}");
            let even = 100_000.0 / kinds as f64;
            // Six standard deviations.
            let most = 6.0 * even.sqrt();
            assert!(counts.values().all(|count| (f64::from(*count) - even).abs() < most), "{name}");
        }
    }

    #[test]
    fn skew_strays_by_50_ms_and_rarely_by_a_minute() {
        let (events, straight) = (json(true), json(false));
        let mut late = 0;
        for number in 0..1_000_000 {
            let off = event(&events, number).0 - event(&straight, number).0;
            if off < -49 {
                late += 1;
            }
            assert!((-49 - i64::from(LATEST)..=50).contains(&off), "{off} ms");
        }
        assert!((1..40).contains(&late), "{late} in a million are late");
    }

    #[test]
    fn both_formats_say_the_same() {
        let (text, bytes) = (json(true), YsbEvents::new(0, 10_000, true, YsbFormat::Binary));
        for number in 0..1_000 {
            let (time, text) = event(&text, number);
            let value: Value = serde_json::from_str(&text).unwrap();
            let mut record = Vec::new();
            assert_eq!(bytes.write(number, &mut record), time);
            assert_eq!(record.len(), BINARY_BYTES);
            let ad = value["ad_id"].as_str().unwrap().replace('-', "");
            assert_eq!(hex::encode(&record[32..48]), ad);
            assert_eq!(record[48..56], time.to_le_bytes());
            assert_eq!(value["ad_type"], AD_TYPES[usize::from(record[56])]);
            assert_eq!(value["event_type"], EVENT_TYPES[usize::from(record[57])]);
        }
    }

    #[test]
    fn another_seed_has_other_ids_and_events() {
        let other = YsbEvents::new(1, 10_000, false, YsbFormat::Json);
        let ids = |events: &YsbEvents| -> HashSet<[u8; 16]> {
            let lists = [&events.ads, &events.pages, &events.users];
            lists.into_iter().flatten().map(|id| id.bytes).collect()
        };
        let (first, second) = (ids(&json(false)), ids(&other));
        assert_eq!((first.len(), second.len()), (1_200, 1_200));
        assert!(first.is_disjoint(&second));
    }
}
