//! Requests and responses, whatever their kind.

use super::columns::{batch_len, read_batch, write_batch};
use super::emission::{emission_len, read_emission, write_emission};
use super::keyed::{
    answer_len, keyed_records_len, partials_len, read_answer, read_keyed_records, read_partials,
    read_shipment, shipment_len, write_answer, write_keyed_records, write_partials, write_shipment,
};
use super::{Reader, Writer};
use crate::{Request, Response, WireError};

/// Bytes of the number that says which kind of work follows.
const KIND: usize = 8;

const FLAT_MAP: u64 = 0;
const KEYED: u64 = 1;
const ACCUMULATE: u64 = 2;

pub(crate) fn request_len(request: &Request) -> usize {
    KIND + match request {
        Request::FlatMap(batch) => batch_len(batch),
        Request::Keyed(shipment) => shipment_len(shipment),
        Request::Accumulate(records) => keyed_records_len(records),
    }
}

pub(crate) fn write_request(out: &mut Writer, request: &Request) {
    match request {
        Request::FlatMap(batch) => {
            out.u64(FLAT_MAP);
            write_batch(out, batch);
        }
        Request::Keyed(shipment) => {
            out.u64(KEYED);
            write_shipment(out, shipment);
        }
        Request::Accumulate(records) => {
            out.u64(ACCUMULATE);
            write_keyed_records(out, records);
        }
    }
}

pub(crate) fn read_request(from: &mut Reader<'_>) -> Result<Request, WireError> {
    match from.u64("work")? {
        FLAT_MAP => Ok(Request::FlatMap(read_batch(from)?)),
        KEYED => Ok(Request::Keyed(read_shipment(from)?)),
        ACCUMULATE => Ok(Request::Accumulate(read_keyed_records(from)?)),
        found => Err(unknown("work", found)),
    }
}

pub(crate) fn response_len(response: &Response) -> usize {
    KIND + match response {
        Response::FlatMap(emission) => emission_len(emission, emission.inputs()),
        Response::Keyed(answer) => answer_len(answer, answer.len()),
        Response::Accumulate(partials) => {
            partials_len(partials, partials.len(), partials.rejected().len())
        }
    }
}

/// The bytes that the first `units` of the answer to `asked` take.
pub(crate) fn response_len_of(response: &Response, units: usize, asked: &Request) -> usize {
    KIND + match response {
        Response::FlatMap(emission) => emission_len(emission, units),
        Response::Keyed(answer) => answer_len(answer, units),
        Response::Accumulate(partials) => {
            let rejected = match asked {
                Request::Accumulate(records) => partials.rejected_in_first(units, records),
                Request::FlatMap(_) | Request::Keyed(_) => partials.rejected().len(),
            };
            partials_len(partials, units, rejected)
        }
    }
}

pub(crate) fn write_response(out: &mut Writer, response: &Response) {
    match response {
        Response::FlatMap(emission) => {
            out.u64(FLAT_MAP);
            write_emission(out, emission);
        }
        Response::Keyed(answer) => {
            out.u64(KEYED);
            write_answer(out, answer);
        }
        Response::Accumulate(partials) => {
            out.u64(ACCUMULATE);
            write_partials(out, partials);
        }
    }
}

pub(crate) fn read_response(from: &mut Reader<'_>) -> Result<Response, WireError> {
    match from.u64("answer")? {
        FLAT_MAP => Ok(Response::FlatMap(read_emission(from)?)),
        KEYED => Ok(Response::Keyed(read_answer(from)?)),
        ACCUMULATE => Ok(Response::Accumulate(read_partials(from)?)),
        found => Err(unknown("answer", found)),
    }
}

fn unknown(field: &'static str, found: u64) -> WireError {
    let expected = "0 (flatmap), 1 (keyed) or 2 (accumulate)";
    WireError::Value { field, found, expected }
}
