//! Nexmark query 2: the bids for every 123rd auction.
//!
//! A bid whose auction is a multiple of 123 becomes a row `auction, price`.

use nexmark_event::{Row, bid};
use overspill_operator::{
    Description, Emitter, FlatMap, Record, Rejection, SettingError, Settings,
};

/// The query.
#[derive(Debug)]
pub struct Selection;

impl FlatMap for Selection {
    const DESCRIPTION: Description =
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));

    fn new(_: &Settings) -> Result<Self, SettingError> {
        Ok(Self)
    }

    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
        let Some(bid) = bid(&record)? else { return Ok(()) };
        if bid.auction % 123 == 0 {
            Row::new(out).column("auction", bid.auction).column("price", bid.price).finish();
        }
        Ok(())
    }
}

overspill_operator::export!(Selection);

#[cfg(test)]
mod tests {
    use super::*;
    use nexmark_event::testing;

    #[test]
    fn only_bids_for_every_123rd_auction_are_kept() {
        let bids: Vec<String> =
            (1100..1250).map(|n| testing::bid(|bid| bid["auction"] = n.into())).collect();
        let bids: Vec<&str> = bids.iter().map(String::as_str).collect();
        let rows = [r#"{"auction":1107,"price":5000}"#, r#"{"auction":1230,"price":5000}"#];
        assert_eq!(testing::rows::<Selection>(&bids), rows);
    }
}
