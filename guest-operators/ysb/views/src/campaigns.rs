//! Which campaign an advertisement belongs to.

use std::fmt;

/// The campaigns of the source `ysb` with seed 0.
const OF_SEED_0: &str = include_str!("../../../../bench/ysb/ad-to-campaign-ids.txt");

/// The campaign of each advertisement: a hash table that is twice as large as it need be, in which
/// what doesn't fit its place lies in the next free one. Ids are random, so their last bits are the
/// hash.
pub(crate) struct Campaigns {
    places: Vec<Option<(u128, u32)>>,
    names: Vec<Box<[u8]>>,
}

impl Campaigns {
    pub(crate) fn of_seed_0() -> Result<Self, String> {
        Self::read(OF_SEED_0)
    }

    /// Reads lines of `{"ADVERTISEMENT": "CAMPAIGN"}`, the original's form.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let size = (2 * lines.clone().count()).next_power_of_two();
        let mut campaigns = Self { places: vec![None; size], names: Vec::new() };
        for (number, line) in lines.enumerate() {
            let mut quoted = line.split('"').skip(1).step_by(2);
            let (Some(ad), Some(name), None) = (quoted.next(), quoted.next(), quoted.next()) else {
                return Err(format!(
                    "expected {{\"AD\": \"CAMPAIGN\"}} in line {}, found `{line}`",
                    number + 1
                ));
            };
            let ad = id(ad.as_bytes()).ok_or_else(|| {
                format!("expected an advertisement's UUID in line {}, found `{ad}`", number + 1)
            })?;
            campaigns.insert(ad, name);
        }
        Ok(campaigns)
    }

    fn insert(&mut self, ad: u128, name: &str) {
        // A campaign's advertisements tend to stand together.
        if self.names.last().is_none_or(|last| **last != *name.as_bytes()) {
            self.names.push(name.as_bytes().into());
        }
        let mut place = self.first_place(ad);
        while self.places[place].is_some_and(|(other, _)| other != ad) {
            place = (place + 1) % self.places.len();
        }
        self.places[place] = Some((ad, self.names.len() as u32 - 1));
    }

    /// The campaign of an advertisement.
    #[inline]
    pub(crate) fn of(&self, ad: u128) -> Option<&[u8]> {
        let mut place = self.first_place(ad);
        loop {
            match self.places[place] {
                None => return None,
                Some((found, name)) if found == ad => return Some(&self.names[name as usize]),
                Some(_) => place = (place + 1) & (self.places.len() - 1),
            }
        }
    }

    fn first_place(&self, ad: u128) -> usize {
        ad as usize & (self.places.len() - 1)
    }
}

impl fmt::Debug for Campaigns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} campaigns", self.names.len())
    }
}

/// A UUID's text as a number.
#[inline]
pub(crate) fn id(text: &[u8]) -> Option<u128> {
    let text: &[u8; 36] = text.try_into().ok()?;
    let mut id = 0;
    for (index, &byte) in text.iter().enumerate() {
        let digit = match byte {
            b'-' if [8, 13, 18, 23].contains(&index) => continue,
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return None,
        };
        id = id << 4 | u128::from(digit);
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_advertisement_of_seed_0_has_its_campaign() {
        let campaigns = Campaigns::of_seed_0().unwrap();
        assert_eq!(campaigns.names.len(), 100);
        for line in OF_SEED_0.lines() {
            let words: Vec<&str> = line.split('"').collect();
            let found = campaigns.of(id(words[1].as_bytes()).unwrap());
            assert_eq!(found, Some(words[3].as_bytes()), "{line}");
        }
        assert_eq!(campaigns.of(7), None);
    }

    #[test]
    fn ids_are_read() {
        let text = b"01234567-89ab-cdef-FEDC-ba9876543210";
        assert_eq!(id(text), Some(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210));
        assert_eq!(id(b"01234567-89ab-cdef-FEDC-ba987654321-"), None);
        assert_eq!(id(b"01234567"), None);
    }
}
