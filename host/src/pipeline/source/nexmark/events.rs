//! Makes Nexmark's events as JSON, each from its number alone.

use super::channels::Channels;
use super::ids::{
    AUCTIONS, FIRST_ID, Kind, ROUND, RUNNING_AUCTIONS, hot_auction, hot_bidder, hot_seller,
    last_auction, last_person, some_auction, some_person,
};
use super::text;
use crate::pipeline::source::java_random::JavaRandom;
use crate::pipeline::source::time_text;

/// 2015-07-15T00:00:00 UTC in milliseconds: when event 0 happens.
const START: i64 = 1_436_918_400_000;
const PERSON_BYTES: usize = 200;
const AUCTION_BYTES: usize = 500;
const BID_BYTES: usize = 100;
/// One auction in so many is not by the hot seller.
const HOT_SELLER_RATIO: i32 = 4;
/// One bid in so many is not by the hot bidder.
const HOT_BIDDER_RATIO: i32 = 4;
/// One bid in so many is not for the hot auction.
const HOT_AUCTION_RATIO: i32 = 2;
const FIRST_CATEGORY: u64 = 10;
const CATEGORIES: i32 = 5;
const FIRST_NAMES: [&str; 11] = [
    "Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter",
];
const LAST_NAMES: [&str; 9] =
    ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"];
const CITIES: [&str; 10] = [
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
];
const STATES: [&str; 6] = ["AZ", "CA", "ID", "OR", "WA", "WY"];

/// Makes events.
pub(in crate::pipeline) struct Events {
    seed: u64,
    /// Microseconds of event time from one event to the next.
    spacing: u64,
    channels: Channels,
}

impl Events {
    /// Events of stream `seed`, so many per second of event time.
    pub(in crate::pipeline) fn new(seed: u64, event_time_rate: u64) -> Self {
        // Spread by the golden ratio, so that the events of two seeds have little in common.
        let seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // As Beam has it: a whole number of microseconds, half a microsecond rounded up.
        let spacing = (1_000_000 + event_time_rate / 2) / event_time_rate;
        Self { seed, spacing, channels: Channels::new() }
    }

    /// When an event happens, in milliseconds since 1970-01-01T00:00:00 UTC.
    pub(super) fn time(&self, event: u64) -> i64 {
        START + (event.wrapping_mul(self.spacing) / 1_000) as i64
    }

    /// Appends an event as JSON and returns when it happens.
    pub(super) fn write(&self, event: u64, out: &mut Vec<u8>) -> i64 {
        let mut random = JavaRandom::new(event ^ self.seed);
        let time = self.time(event);
        match Kind::of(event) {
            Kind::Person => person(event, time, &mut random, out),
            Kind::Auction => self.auction(event, time, &mut random, out),
            Kind::Bid => self.bid(event, time, &mut random, out),
        }
        time
    }

    fn bid(&self, event: u64, time: i64, random: &mut JavaRandom, out: &mut Vec<u8>) {
        let auction = match random.below(HOT_AUCTION_RATIO) > 0 {
            true => hot_auction(event),
            false => some_auction(event, random),
        };
        let bidder = match random.below(HOT_BIDDER_RATIO) > 0 {
            true => hot_bidder(event),
            false => some_person(event, random),
        };
        let price = text::price(random);
        // The fields of Beam first, so that they are Beam's to the byte: `extra` is drawn where it
        // goes, and the channel after it.
        number(b"{\"event_type\":2,\"bid\":{\"auction\":", FIRST_ID + auction, out);
        number(b",\"bidder\":", FIRST_ID + bidder, out);
        number(b",\"price\":", price, out);
        out.push(b',');
        let mut extra = Vec::with_capacity(BID_BYTES);
        text::extra(random, 4 * 8, BID_BYTES, &mut extra);
        out.extend_from_slice(self.channels.draw(random));
        date_time(time, out);
        string(b",\"extra\":\"", &extra, out);
        out.extend_from_slice(b"}}");
    }

    fn auction(&self, event: u64, time: i64, random: &mut JavaRandom, out: &mut Vec<u8>) {
        let seller = match random.below(HOT_SELLER_RATIO) > 0 {
            true => hot_seller(event),
            false => some_person(event, random),
        };
        let category = FIRST_CATEGORY + random.below(CATEGORIES) as u64;
        let initial_bid = text::price(random);
        // It runs, on average, until as many auctions have come as run at one time.
        let horizon = self.time(event + RUNNING_AUCTIONS * ROUND / AUCTIONS) - time;
        let length = 1 + i64::from(random.below((horizon * 2).max(1) as i32));
        let id = FIRST_ID + last_auction(event) as u64;
        number(b"{\"event_type\":1,\"auction\":{\"id\":", id, out);
        out.extend_from_slice(b",\"itemName\":\"");
        let name = out.len();
        text::words(random, 20, b' ', out);
        let name = out.len() - name;
        out.extend_from_slice(b"\",\"description\":\"");
        let description = out.len();
        text::words(random, 100, b' ', out);
        let description = out.len() - description;
        number(b"\",\"initialBid\":", initial_bid, out);
        number(b",\"reserve\":", initial_bid + text::price(random), out);
        date_time(time, out);
        out.extend_from_slice(b",\"expires\":\"");
        time_text::write(time + length, out);
        number(b"\",\"seller\":", FIRST_ID + seller, out);
        number(b",\"category\":", category, out);
        out.extend_from_slice(b",\"extra\":\"");
        text::extra(random, 6 * 8 + name + description, AUCTION_BYTES, out);
        out.extend_from_slice(b"\"}}");
    }
}

fn person(event: u64, time: i64, random: &mut JavaRandom, out: &mut Vec<u8>) {
    number(b"{\"event_type\":0,\"person\":{\"id\":", FIRST_ID + last_person(event), out);
    let start = out.len();
    let mut frame = 0;
    let mut framed = |part: &[u8], out: &mut Vec<u8>| {
        frame += part.len();
        out.extend_from_slice(part);
    };
    let pick = |words: &[&'static str], random: &mut JavaRandom| {
        words[random.below(words.len() as i32) as usize].as_bytes()
    };
    framed(b",\"name\":\"", out);
    out.extend_from_slice(pick(&FIRST_NAMES, random));
    out.push(b' ');
    out.extend_from_slice(pick(&LAST_NAMES, random));
    framed(b"\",\"emailAddress\":\"", out);
    text::words(random, 7, b' ', out);
    out.push(b'@');
    text::words(random, 5, b' ', out);
    out.extend_from_slice(b".com");
    framed(b"\",\"creditCard\":\"", out);
    for group in 0..4 {
        if group > 0 {
            out.push(b' ');
        }
        let digits = random.below(10_000);
        for divisor in [1_000, 100, 10, 1] {
            out.push(b'0' + (digits / divisor % 10) as u8);
        }
    }
    framed(b"\",\"city\":\"", out);
    out.extend_from_slice(pick(&CITIES, random));
    framed(b"\",\"state\":\"", out);
    out.extend_from_slice(pick(&STATES, random));
    // What is between the marks of JSON is what counts for the size.
    let size = 8 + out.len() - start - frame;
    out.push(b'"');
    date_time(time, out);
    out.extend_from_slice(b",\"extra\":\"");
    text::extra(random, size, PERSON_BYTES, out);
    out.extend_from_slice(b"\"}}");
}

fn number(before: &[u8], number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(before);
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn string(before: &[u8], text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(before);
    out.extend_from_slice(text);
    out.push(b'"');
}

fn date_time(time: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"dateTime\":\"");
    time_text::write(time, out);
    out.push(b'"');
}

#[cfg(test)]
mod tests;
