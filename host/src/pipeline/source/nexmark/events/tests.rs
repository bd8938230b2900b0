#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::collections::HashMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::*;

fn events(range: std::ops::Range<u64>) -> impl Iterator<Item = Value> {
    let events = Events::new(0, 10_000);
    range.map(move |event| {
        let mut text = Vec::new();
        events.write(event, &mut text);
        serde_json::from_slice(&text).unwrap()
    })
}

/// An event without its channel, with fields in the order of Beam's classes and times in
/// milliseconds.
fn fields(event: &Value) -> String {
    let (names, kind) = match event["event_type"].as_u64().unwrap() {
        0 => (&["id", "name", "emailAddress", "creditCard", "city", "state"][..], "person"),
        1 => (&["id", "itemName", "description", "initialBid", "reserve"][..], "auction"),
        _ => (&["auction", "bidder", "price"][..], "bid"),
    };
    let rest: &[&str] = match kind {
        "auction" => &["dateTime", "expires", "seller", "category", "extra"],
        _ => &["dateTime", "extra"],
    };
    let mut line = event["event_type"].to_string();
    for name in names.iter().chain(rest) {
        line.push('|');
        match &event[kind][name] {
            Value::String(time) if ["dateTime", "expires"].contains(name) => {
                line.push_str(&time_text::parse(time).unwrap().to_string());
            }
            Value::String(text) => line.push_str(text),
            other => line.push_str(&other.to_string()),
        }
    }
    line
}

fn digest(range: std::ops::Range<u64>) -> String {
    let mut digest = Sha256::new();
    for event in events(range) {
        digest.update(fields(&event) + "\n");
    }
    hex::encode(digest.finalize())
}

#[test]
fn events_are_those_of_beams_algorithm_in_java() {
    // Beam's algorithm was run with OpenJDK 17, and its events written as `fields` does.
    for (event, expected) in [
        (
            0,
            r"0|1000|Peter Jones|nhd@xcat.com|7241 7320 9143 4888|Portland|WY|1436918400000|WN_HS_bnpkkiwhwana_L^`KZjdgsid`K]MLU[aaOH`ztxbulvlxtkn_ZZ^T\mqgdjzvlkymsmfrhkfVYSXK_OY[aVYVKa\X^]RO]OYguwiduWJNQLLaMLHOTaHY_J[YKWaUOSJN_VHWXZ]`SgbnjqeVVQ\[[",
        ),
        (
            4,
            r"2|1000|1001|32530001|1436918400000|fdiysaV^]NLVsbolvyqwgticfdrwdyiyofziYMU\Z`UaTQO][NX\RM]WPYTOuwogvszlxjrcNOORM",
        ),
    ] {
        let found = fields(&events(event..event + 1).next().unwrap());
        assert_eq!(found, expected);
    }
    assert_eq!(
        digest(0..100_000),
        "3966f02570c682939fd32e14eb3d30da6732cc7393b9dd70e356c106ed3d3dbe"
    );
    let far = 987_654_321;
    assert_eq!(
        digest(far..far + 5_000),
        "23a4f886e297f2821df3bffc3609ec85a97bad8f76fbadd5321a643f6772f798"
    );
}

#[test]
fn an_event_is_the_same_whenever_it_is_made() {
    let one = Events::new(0, 10_000);
    let other = Events::new(0, 10_000);
    let seeded = Events::new(1, 10_000);
    let text = |events: &Events, event| {
        let mut text = Vec::new();
        events.write(event, &mut text);
        text
    };
    for event in (0..5_000).rev() {
        assert_eq!(text(&one, event), text(&other, event));
    }
    assert_ne!(text(&one, 4), text(&seeded, 4), "another seed is another stream");
}

#[test]
fn proportions_sizes_and_hot_ones_are_as_nexmark_says() {
    const EVENTS: u64 = 50_000;
    let mut counts = [0_u64; 3];
    let (mut hot_auction_bids, mut hot_bidder_bids, mut hot_channel_bids) = (0_u64, 0_u64, 0_u64);
    let mut channel_ids = (0_u64, 0_u64);
    let mut categories: HashMap<u64, u64> = HashMap::new();
    for event in events(0..EVENTS) {
        counts[event["event_type"].as_u64().unwrap() as usize] += 1;
        if let Some(bid) = event.get("bid") {
            hot_auction_bids += u64::from(bid["auction"].as_u64().unwrap() % 100 == 0);
            hot_bidder_bids += u64::from(bid["bidder"].as_u64().unwrap() % 100 == 1);
            let channel = bid["channel"].as_str().unwrap();
            let url = bid["url"].as_str().unwrap();
            assert!(url.starts_with("https://www.nexmark.com/"), "{url}");
            match channel.strip_prefix("channel-") {
                None => {
                    hot_channel_bids += 1;
                    assert!(["Google", "Facebook", "Baidu", "Apple"].contains(&channel));
                    assert!(url.ends_with("/item.htm?query=1"), "{url}");
                }
                Some(number) => {
                    let number: i32 = number.parse().unwrap();
                    let id = format!("&channel_id={}", number.reverse_bits().wrapping_abs());
                    channel_ids.0 += u64::from(url.ends_with(&id));
                    channel_ids.1 += 1;
                }
            }
            let price = bid["price"].as_u64().unwrap();
            assert!((100..=100_000_000).contains(&price), "{price}");
        }
        if let Some(auction) = event.get("auction") {
            *categories.entry(auction["category"].as_u64().unwrap()).or_default() += 1;
        }
    }
    assert_eq!(counts, [EVENTS / 50, EVENTS / 50 * 3, EVENTS / 50 * 46]);
    let share = |part: u64, all: u64| part as f64 / all as f64;
    let bids = counts[2];
    for (name, found, expected) in [
        ("hot auctions", share(hot_auction_bids, bids), 0.5),
        ("hot bidders", share(hot_bidder_bids, bids), 0.75),
        ("hot channels", share(hot_channel_bids, bids), 0.5),
        ("channels in the URL", share(channel_ids.0, channel_ids.1), 0.9),
    ] {
        // The first draws of generators with neighbouring seeds are not independent, in Java too.
        assert!((found - expected).abs() < 0.04, "{name}: {found}, not about {expected}");
    }
    let mut categories: Vec<_> = categories.into_iter().collect();
    categories.sort_unstable();
    assert_eq!(categories.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [10, 11, 12, 13, 14]);
}

#[test]
fn a_channel_always_has_the_same_url() {
    let mut urls: HashMap<String, String> = HashMap::new();
    for event in events(0..20_000) {
        if let Some(bid) = event.get("bid") {
            let text = |name: &str| bid[name].as_str().unwrap().to_owned();
            let url = urls.entry(text("channel")).or_insert_with(|| text("url"));
            assert_eq!(*url, text("url"));
        }
    }
    assert!(urls.len() > 1_000);
}
