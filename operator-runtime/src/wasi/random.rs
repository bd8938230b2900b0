//! `wasi:random`: bytes that are drawn from the batch, the same on every machine.

use overspill_protocol::{Batch, Column};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use sha2::{Digest as _, Sha256};
use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;

use super::{Refused, wasi};
use crate::instance::State;

/// More than any library asks for at once, in bytes.
const MOST_AT_ONCE: u64 = 1 << 20;

/// The random bytes of one call.
#[derive(Default)]
pub(super) struct Random {
    /// What the bytes are drawn from; absent before the first batch.
    call: Option<(Vec<Batch>, i64)>,
    /// Made when the first byte is asked for: few calls do.
    generator: Option<ChaCha12Rng>,
}

impl Random {
    pub(super) fn reseed(&mut self, given: Vec<Batch>, processing_time: i64) {
        self.call = Some((given, processing_time));
        self.generator = None;
    }

    fn generator(&mut self) -> &mut ChaCha12Rng {
        let call = &self.call;
        self.generator.get_or_insert_with(|| ChaCha12Rng::from_seed(seed(call.as_ref())))
    }
}

fn seed(call: Option<&(Vec<Batch>, i64)>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(b"overspill random 1");
    if let Some((given, processing_time)) = call {
        hasher.update(processing_time.to_le_bytes());
        for batch in given {
            column(&mut hasher, Some(batch.values()));
            column(&mut hasher, batch.keys());
            hasher.update([u8::from(batch.timestamps().is_some())]);
            for time in batch.timestamps().into_iter().flat_map(|times| times.iter()) {
                hasher.update(time.to_le_bytes());
            }
        }
    }
    hasher.finalize().into()
}

fn column(hasher: &mut Sha256, column: Option<&Column>) {
    hasher.update([u8::from(column.is_some())]);
    let Some(column) = column else { return };
    hasher.update((column.len() as u64).to_le_bytes());
    for end in column.ends().iter() {
        hasher.update(end.to_le_bytes());
    }
    hasher.update(column.data());
}

/// Defines a function of one of the interfaces; false when it isn't known. The insecure bytes
/// are as good as the others.
pub(super) fn function(
    definitions: &mut LinkerInstance<'_, State>,
    name: &str,
) -> wasmtime::Result<bool> {
    type Context<'a> = StoreContextMut<'a, State>;
    match name {
        "get-random-bytes" | "get-insecure-random-bytes" => {
            definitions.func_wrap(name, |mut store: Context<'_>, (len,): (u64,)| {
                if len > MOST_AT_ONCE {
                    return Err(wasmtime::Error::new(Refused(format!(
                        "it asked for {len} random bytes at once; {MOST_AT_ONCE} is the most"
                    ))));
                }
                let mut bytes = vec![0; len as usize];
                wasi(store.data_mut()).random.generator().fill_bytes(&mut bytes);
                Ok((bytes,))
            })?;
        }
        "get-random-u64" | "get-insecure-random-u64" => {
            definitions.func_wrap(name, |mut store: Context<'_>, (): ()| {
                Ok((wasi(store.data_mut()).random.generator().next_u64(),))
            })?;
        }
        "insecure-seed" => {
            definitions.func_wrap(name, |mut store: Context<'_>, (): ()| {
                let generator = wasi(store.data_mut()).random.generator();
                Ok(((generator.next_u64(), generator.next_u64()),))
            })?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
