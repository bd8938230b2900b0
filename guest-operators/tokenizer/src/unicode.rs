//! Words of any text.

use overspill_operator::{Emitter, Rejection};

/// Emits the words of a text.
#[inline(never)]
pub(crate) fn words(text: &[u8], out: &mut Emitter) -> Result<(), Rejection> {
    let text = str::from_utf8(text).map_err(|error| {
        let at = error.valid_up_to();
        Rejection::new(format!("expected UTF-8, found none at byte {at}"))
    })?;
    for word in text.split_whitespace() {
        let mut value = out.value_writer();
        // Only a capital sigma depends on what stands around it.
        if word.contains('Σ') {
            value.push(word.to_lowercase().as_bytes());
        } else {
            for character in word.chars().flat_map(char::to_lowercase) {
                value.push(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        value.finish();
    }
    Ok(())
}
