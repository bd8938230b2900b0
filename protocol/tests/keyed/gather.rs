//! Records from several batches, put together.

use overspill_protocol::{Batch, Column, NO_EVENT_TIME, Piece};
use rand::RngExt as _;

use crate::common::{batch, rng};
use crate::random::rows;

#[test]
fn gathered_records_are_those_of_the_pieces_with_what_absence_means_filled_in() {
    for seed in 0..500 {
        let mut rng = rng(seed);
        let sources: Vec<Batch> = (0..3).map(|_| batch(&mut rng, 10)).collect();
        let pieces: Vec<Piece> = (0..rng.random_range(0..8))
            .map(|_| {
                let begin = rng.random_range(0..10);
                let range = begin..rng.random_range(begin..=10);
                Piece { source: rng.random_range(0..3), range }
            })
            .collect();
        let used = || pieces.iter().filter(|piece| !piece.range.is_empty());
        let has_keys = used().any(|piece| sources[piece.source].keys().is_some());
        let has_times = used().any(|piece| sources[piece.source].timestamps().is_some());
        let mut expected = Vec::new();
        for piece in &pieces {
            for (value, key, time) in rows(&sources[piece.source].slice(piece.range.clone())) {
                let key = has_keys.then(|| key.unwrap_or_default());
                expected.push((value, key, has_times.then(|| time.unwrap_or(NO_EVENT_TIME))));
            }
        }
        let gathered = Batch::gather(&sources, &pieces).unwrap();
        assert_eq!(rows(&gathered), expected, "seed {seed}");
    }
}

#[test]
fn what_lies_side_by_side_is_not_copied() {
    let source = Batch::from_values(Column::from_values(["a", "b", "c", "d"]));
    let piece = |range| Piece { source: 0, range };
    let gathered =
        Batch::gather(std::slice::from_ref(&source), &[piece(1..2), piece(2..2), piece(2..4)])
            .unwrap();
    assert_eq!(gathered.values().data().as_ptr(), source.slice(1..4).values().data().as_ptr());
}
