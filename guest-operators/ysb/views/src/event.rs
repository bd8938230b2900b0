//! Reads the benchmark's events.

use std::borrow::Cow;

use overspill_operator::Rejection;
use serde::Deserialize;

use crate::View;
use crate::campaigns::id;

/// The fields of an event that the query needs.
#[derive(Deserialize)]
struct Event<'a> {
    ad_id: &'a str,
    #[serde(borrow)]
    event_type: Cow<'a, str>,
    #[serde(borrow)]
    event_time: Cow<'a, str>,
}

/// The view that an event in JSON is, if it is one.
pub(crate) fn json(value: &[u8]) -> Result<Option<View<'_>>, Rejection> {
    let event: Event<'_> = serde_json::from_slice(value).map_err(|error| {
        Rejection::new(format!("expected an event of the benchmark as JSON: {error}"))
    })?;
    if event.event_type != "view" {
        return Ok(None);
    }
    let ad = event.ad_id.as_bytes();
    let id = id(ad).ok_or_else(|| {
        Rejection::new(format!("expected an `ad_id` that is a UUID, found `{}`", event.ad_id))
    })?;
    let time = event.event_time.parse().map_err(|_| {
        Rejection::new(format!(
            "expected an `event_time` in milliseconds since 1970, found `{}`",
            event.event_time
        ))
    })?;
    Ok(Some(View { ad, id, time }))
}

const BYTES: usize = 62;
const VIEW: u8 = 0;

/// The view that an event of 62 bytes is, if it is one: the source `ysb` says which byte is what.
pub(crate) fn binary(value: &[u8]) -> Result<Option<View<'_>>, Rejection> {
    let event: &[u8; BYTES] = value.try_into().map_err(|_| {
        Rejection::new(format!("expected an event of {BYTES} bytes, found {}", value.len()))
    })?;
    if event[57] != VIEW {
        return Ok(None);
    }
    let (mut id, mut time) = ([0; 16], [0; 8]);
    id.copy_from_slice(&event[32..48]);
    time.copy_from_slice(&event[48..56]);
    let (id, time) = (u128::from_be_bytes(id), i64::from_le_bytes(time));
    Ok(Some(View { ad: &value[32..48], id, time }))
}
