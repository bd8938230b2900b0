//! Work and answers that know exactly which records they stand for.

use overspill::burst::{Answer, Work};

use super::driver::Simulated;

/// A run of numbered records of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) record_bytes: usize,
}

/// The answer for the records of these runs, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Processed {
    pub(crate) runs: Vec<(u64, u64)>,
    /// A lying target says another number than it did.
    pub(crate) claims: Option<usize>,
}

impl Processed {
    fn new(from: u64, to: u64) -> Self {
        Self { runs: vec![(from, to)], claims: None }
    }
}

impl Work for Numbered {
    type Answer = Processed;

    fn records(&self) -> usize {
        (self.to - self.from) as usize
    }

    fn bytes(&self) -> usize {
        // Some records are twice as big as the others.
        (self.from..self.to).map(|n| self.record_bytes * (1 + usize::from(n % 7 == 3))).sum()
    }

    fn slice(&self, from: usize, to: usize) -> Self {
        assert!(from <= to && to <= self.records(), "{from}..{to} of {self:?}");
        Self { from: self.from + from as u64, to: self.from + to as u64, ..*self }
    }

    fn key_mask(&self) -> u128 {
        // Few batches have many keys.
        (self.from..self.to.min(self.from + self.from % 3 + 1))
            .map(|n| 1 << (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60))
            .fold(0, |mask, bit: u128| mask | bit)
    }
}

impl Simulated for Numbered {
    fn place(&self) -> u64 {
        self.from
    }

    fn answer(&self, pieces: usize) -> Processed {
        Processed::new(self.from, self.from + pieces as u64)
    }

    fn lie(&self, claims: usize) -> Processed {
        Processed { claims: Some(claims), ..Processed::new(self.from, self.to) }
    }

    fn weight_of(answer: &Processed) -> usize {
        answer.runs.iter().map(|(from, to)| (to - from) as usize).sum()
    }
}

impl Answer for Processed {
    fn records(&self) -> usize {
        self.claims.unwrap_or(Numbered::weight_of(self))
    }

    fn join(parts: Vec<Self>) -> Result<Self, String> {
        if parts.is_empty() {
            return Err("there is nothing to join".into());
        }
        Ok(Self { runs: parts.into_iter().flat_map(|part| part.runs).collect(), claims: None })
    }
}
