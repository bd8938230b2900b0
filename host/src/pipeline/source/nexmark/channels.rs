//! The channels that bids come by, and their URLs: an extension of Nexmark by its Flink variant.

use std::cell::OnceCell;

use super::text;
use crate::pipeline::source::java_random::JavaRandom;

/// How many ordinary channels there are.
const CHANNELS: i32 = 10_000;
/// The channels that half of all bids come by.
const HOT: [&str; 4] = ["Google", "Facebook", "Baidu", "Apple"];

/// The JSON text for each channel, `"channel":"...","url":"..."`. Each is made when it is first
/// drawn: all of them at once would hold up the start of a run.
pub(super) struct Channels {
    hot: Vec<Vec<u8>>,
    others: Vec<OnceCell<Vec<u8>>>,
}

impl Channels {
    pub(super) fn new() -> Self {
        let hot = |(index, name): (usize, &&str)| {
            json(name, &base_url(&mut JavaRandom::new(CHANNELS as u64 + index as u64)))
        };
        Self {
            hot: HOT.iter().enumerate().map(hot).collect(),
            others: vec![OnceCell::new(); CHANNELS as usize],
        }
    }

    /// The channel and URL of a bid, as JSON.
    pub(super) fn draw(&self, random: &mut JavaRandom) -> &[u8] {
        if random.below(2) > 0 {
            return &self.hot[random.below(HOT.len() as i32) as usize];
        }
        let number = random.below(CHANNELS);
        self.others[number as usize].get_or_init(|| ordinary(number))
    }
}

fn json(name: &str, url: &str) -> Vec<u8> {
    format!("\"channel\":\"{name}\",\"url\":\"{url}\"").into_bytes()
}

fn ordinary(number: i32) -> Vec<u8> {
    let mut random = JavaRandom::new(number as u64);
    let mut url = base_url(&mut random);
    // One in ten has no channel in its URL.
    if random.below(10) > 0 {
        // The absolute value in Java's arithmetic, in which it can overflow.
        let id = number.reverse_bits().wrapping_abs();
        url.push_str(&format!("&channel_id={id}"));
    }
    json(&format!("channel-{number}"), &url)
}

fn base_url(random: &mut JavaRandom) -> String {
    let mut url = b"https://www.nexmark.com/".to_vec();
    for _ in 0..3 {
        text::words(random, 5, b'_', &mut url);
        url.push(b'/');
    }
    url.extend_from_slice(b"item.htm?query=1");
    String::from_utf8(url).expect("words are ASCII")
}
