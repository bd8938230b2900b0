//! Which people and auctions exist when an event happens, by the event's number alone.
//!
//! Events come in rounds of 50: 1 person, then 3 auctions, then 46 bids. Ids here are counted
//! from 0; the first id of an event is 1,000.

use crate::pipeline::source::java_random::JavaRandom;

/// Events of a round.
pub(super) const ROUND: u64 = 50;
const PEOPLE: u64 = 1;
pub(super) const AUCTIONS: u64 = 3;
/// The first id of people and of auctions.
pub(super) const FIRST_ID: u64 = 1_000;
/// People who take part at one time.
const ACTIVE_PEOPLE: u64 = 1_000;
/// Auctions that run at one time.
pub(super) const RUNNING_AUCTIONS: u64 = 100;
/// How far an event may name people and auctions that don't exist yet.
const LEAD: u64 = 10;
/// One in so many people and auctions may be a hot one.
const HOT_SPACING: u64 = 100;

/// How far apart the events that follow each other in a mixed group are, a prime number.
pub(in crate::pipeline) const GROUP_STRIDE: u64 = 953;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Person,
    Auction,
    Bid,
}

impl Kind {
    pub(super) fn of(event: u64) -> Self {
        match event % ROUND {
            0 => Self::Person,
            1..=AUCTIONS => Self::Auction,
            _ => Self::Bid,
        }
    }

    /// How many of a round's events are such.
    pub(super) fn per_round(self) -> u64 {
        match self {
            Self::Person => PEOPLE,
            Self::Auction => AUCTIONS,
            Self::Bid => ROUND - PEOPLE - AUCTIONS,
        }
    }

    /// The number of the event that is the `index`th of this kind, from 0.
    pub(super) fn nth(self, index: u64) -> u64 {
        let first = match self {
            Self::Person => 0,
            Self::Auction => PEOPLE,
            Self::Bid => PEOPLE + AUCTIONS,
        };
        index / self.per_round() * ROUND + first + index % self.per_round()
    }
}

/// The event that comes as the `index`th, when those of each `group` come in an order of their
/// own. A multiple of 953 would repeat some: the
/// definition of the source rules it out.
pub(super) fn disordered(index: u64, group: u64) -> u64 {
    index - index % group + index % group * GROUP_STRIDE % group
}

/// The newest person at an event.
pub(super) fn last_person(event: u64) -> u64 {
    event / ROUND
}

/// The newest auction at an event; before the first one, that is -1 as Beam has it.
pub(super) fn last_auction(event: u64) -> i64 {
    let (round, offset) = ((event / ROUND) as i64, event % ROUND);
    let before = round * AUCTIONS as i64 - 1;
    before + offset.min(AUCTIONS) as i64
}

/// Some active person, or one who is yet to come.
pub(super) fn some_person(event: u64, random: &mut JavaRandom) -> u64 {
    let people = last_person(event) + 1;
    let active = people.min(ACTIVE_PEOPLE);
    people - active + random.below((active + LEAD) as i32) as u64
}

/// Some running auction, or one that is yet to come.
pub(super) fn some_auction(event: u64, random: &mut JavaRandom) -> u64 {
    let last = last_auction(event);
    let first = (last - RUNNING_AUCTIONS as i64).max(0);
    // Never negative: there is an auction before the first bid.
    first as u64 + random.below((last - first + 1 + LEAD as i64) as i32) as u64
}

/// The seller whom most auctions come from.
pub(super) fn hot_seller(event: u64) -> u64 {
    last_person(event) / HOT_SPACING * HOT_SPACING
}

/// The bidder whom most bids come from: never a hot seller.
pub(super) fn hot_bidder(event: u64) -> u64 {
    hot_seller(event) + 1
}

/// The auction that every other bid is for.
pub(super) fn hot_auction(event: u64) -> u64 {
    last_auction(event) as u64 / HOT_SPACING * HOT_SPACING
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_of_a_kind_is_that_kind_and_none_is_left_out() {
        for kind in [Kind::Person, Kind::Auction, Kind::Bid] {
            let all: Vec<u64> = (0..500).filter(|event| Kind::of(*event) == kind).collect();
            let nth: Vec<u64> = (0..all.len() as u64).map(|index| kind.nth(index)).collect();
            assert_eq!(nth, all);
        }
    }

    #[test]
    fn a_mixed_group_has_each_of_its_events_once() {
        for group in [1, 2, 10, 1_000, 4_096] {
            let mut events: Vec<u64> = (0..3 * group).map(|i| disordered(i, group)).collect();
            assert!(group < 3 || !events.is_sorted());
            for (number, events) in events.chunks_mut(group as usize).enumerate() {
                events.sort_unstable();
                let first = number as u64 * group;
                assert_eq!(events, (first..first + group).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_newest_are_those_that_have_come() {
        let (mut people, mut auctions) = (-1_i64, -1_i64);
        for event in 0..500 {
            match Kind::of(event) {
                Kind::Person => people += 1,
                Kind::Auction => auctions += 1,
                Kind::Bid => {}
            }
            assert_eq!((last_person(event) as i64, last_auction(event)), (people, auctions));
        }
    }
}
