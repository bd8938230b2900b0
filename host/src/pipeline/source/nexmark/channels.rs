//! The channels that bids come by, and their URLs: an extension of Nexmark by its Flink variant.

use super::java_random::JavaRandom;
use super::text;

/// How many ordinary channels there are.
const CHANNELS: i32 = 10_000;
/// The channels that half of all bids come by.
const HOT: [&str; 4] = ["Google", "Facebook", "Baidu", "Apple"];

/// The JSON text for each channel, `"channel":"...","url":"..."`, made once: bids are many.
pub(super) struct Channels {
    hot: Vec<Vec<u8>>,
    others: Vec<Vec<u8>>,
}

impl Channels {
    pub(super) fn new() -> Self {
        let json = |name: &str, url: &str| {
            format!("\"channel\":\"{name}\",\"url\":\"{url}\"").into_bytes()
        };
        let hot = |(index, name): (usize, &&str)| {
            json(name, &base_url(&mut JavaRandom::new(CHANNELS as u64 + index as u64)))
        };
        let other = |number: i32| {
            let mut random = JavaRandom::new(number as u64);
            let mut url = base_url(&mut random);
            // One in ten has no channel in its URL.
            if random.below(10) > 0 {
                // The absolute value in Java's arithmetic, in which it can overflow.
                let id = number.reverse_bits().wrapping_abs();
                url.push_str(&format!("&channel_id={id}"));
            }
            json(&format!("channel-{number}"), &url)
        };
        Self {
            hot: HOT.iter().enumerate().map(hot).collect(),
            others: (0..CHANNELS).map(other).collect(),
        }
    }

    /// The channel and URL of a bid, as JSON.
    pub(super) fn draw(&self, random: &mut JavaRandom) -> &[u8] {
        match random.below(2) > 0 {
            true => &self.hot[random.below(HOT.len() as i32) as usize],
            false => &self.others[random.below(CHANNELS) as usize],
        }
    }
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
