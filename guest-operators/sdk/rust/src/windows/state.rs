//! The open windows of a key, and how they become bytes.

use std::marker::PhantomData;

use super::TimeWindow;
use crate::StateCodec;

/// The open windows of a key.
#[derive(Debug)]
pub struct OpenWindows<A> {
    /// The earliest timer that is set. There is always one that is no later than what is next to
    /// be done; it may find that there is nothing to do yet.
    pub(super) timer: Option<i64>,
    /// By rising start, then end.
    pub(super) windows: Vec<OpenWindow<A>>,
}

/// A window that has records, and isn't gone.
#[derive(Debug)]
pub(super) struct OpenWindow<A> {
    pub(super) window: TimeWindow,
    /// Whether it has fired, and is kept for the allowed lateness.
    pub(super) fired: bool,
    pub(super) gathered: A,
}

impl<A> Default for OpenWindows<A> {
    fn default() -> Self {
        Self { timer: None, windows: Vec::new() }
    }
}

impl<A: Default> OpenWindows<A> {
    /// The place of a window, which is opened if it isn't.
    pub(super) fn open(&mut self, window: TimeWindow) -> usize {
        // The newest is what most records are for, and it is the last.
        let before = self.windows.iter().rposition(|open| open.window <= window);
        match before {
            Some(place) if self.windows[place].window == window => place,
            _ => {
                let place = before.map_or(0, |before| before + 1);
                let open = OpenWindow { window, fired: false, gathered: A::default() };
                self.windows.insert(place, open);
                place
            }
        }
    }
}

/// The windows' bytes: numbers of as many bytes as they need, and what each window has gathered in
/// the form of `C`.
#[derive(Debug)]
pub struct WindowCodec<C>(PhantomData<C>);

impl<A, C: StateCodec<A>> StateCodec<OpenWindows<A>> for WindowCodec<C> {
    fn encode(state: &OpenWindows<A>, out: &mut Vec<u8>) {
        let base = state.windows.first().map_or(0, |first| first.window.start);
        put(zigzag(base), out);
        // Relative to the first window, most numbers take one to three bytes. Zero stands for none.
        let timer = state.timer.map_or(0, |timer| zigzag(timer.wrapping_sub(base)).wrapping_add(1));
        put(timer, out);
        let mut gathered = Vec::new();
        for open in &state.windows {
            let TimeWindow { start, end } = open.window;
            put(start.wrapping_sub(base) as u64, out);
            put(end.wrapping_sub(start) as u64, out);
            gathered.clear();
            C::encode(&open.gathered, &mut gathered);
            put((gathered.len() as u64) << 1 | u64::from(open.fired), out);
            out.extend_from_slice(&gathered);
        }
    }

    fn decode(mut bytes: &[u8]) -> Result<OpenWindows<A>, String> {
        let bytes = &mut bytes;
        let base = unzigzag(take(bytes)?);
        let timer = match take(bytes)? {
            0 => None,
            timer => Some(base.wrapping_add(unzigzag(timer - 1))),
        };
        let mut windows = Vec::new();
        while !bytes.is_empty() {
            let start = base.wrapping_add(take(bytes)? as i64);
            let end = start.wrapping_add(take(bytes)? as i64);
            let len = take(bytes)?;
            let (fired, len) = (len & 1 == 1, usize::try_from(len >> 1).unwrap_or(usize::MAX));
            let (gathered, rest) =
                bytes.split_at_checked(len).ok_or("it ends in the middle of a window")?;
            let gathered = C::decode(gathered)?;
            *bytes = rest;
            windows.push(OpenWindow { window: TimeWindow { start, end }, fired, gathered });
        }
        Ok(OpenWindows { timer, windows })
    }
}

/// Appends a number, seven bits a byte, the lowest first.
fn put(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or("it ends in the middle of a number")?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("it has a number of more than ten bytes".to_owned())
}

/// Numbers near zero become small ones.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
