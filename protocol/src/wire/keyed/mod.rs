//! Keyed work and its answers.

mod aggregate;
mod answer;
mod shipment;
mod timers;

pub(super) use aggregate::{
    keyed_records_len, partials_len, read_keyed_records, read_partials, write_keyed_records,
    write_partials,
};
pub(super) use answer::{answer_len, read_answer, write_answer};
pub(super) use shipment::{read_shipment, shipment_len, write_shipment};
