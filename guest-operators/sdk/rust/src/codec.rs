//! How a state becomes bytes, and bytes a state.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Turns values of type `T` into bytes and back.
///
/// The form must be stable: a state written by one build of an operator is read by the next. When
/// it changes, so does [`crate::Description::state_schema`].
pub trait StateCodec<T> {
    /// Appends the value to `out`.
    fn encode(value: &T, out: &mut Vec<u8>);

    /// Reads a value that takes up all of `bytes`.
    ///
    /// # Errors
    /// When the bytes are none that [`Self::encode`] writes: what was expected.
    fn decode(bytes: &[u8]) -> Result<T, String>;
}

/// Any type that serde knows, in the compact and documented form of postcard: numbers take as
/// many bytes as they need, and structs have no names.
#[derive(Debug)]
pub struct Postcard;

/// Bytes as they are.
#[derive(Debug)]
pub struct Raw;

/// A whole number as eight bytes, the lowest first.
#[derive(Debug)]
pub struct LittleEndian;

impl<T: Serialize + DeserializeOwned> StateCodec<T> for Postcard {
    fn encode(value: &T, out: &mut Vec<u8>) {
        let taken = std::mem::take(out);
        *out = postcard::to_extend(value, taken).expect("a state can be written by serde");
    }

    fn decode(bytes: &[u8]) -> Result<T, String> {
        match postcard::take_from_bytes(bytes) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(format!("{} bytes too many", rest.len())),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl StateCodec<Vec<u8>> for Raw {
    fn encode(value: &Vec<u8>, out: &mut Vec<u8>) {
        out.extend_from_slice(value);
    }

    fn decode(bytes: &[u8]) -> Result<Vec<u8>, String> {
        Ok(bytes.to_vec())
    }
}

macro_rules! little_endian {
    ($($number:ty),*) => { $(
        impl StateCodec<$number> for LittleEndian {
            #[inline]
            fn encode(value: &$number, out: &mut Vec<u8>) {
                out.extend_from_slice(&value.to_le_bytes());
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<$number, String> {
                let found = bytes.len();
                let bytes = bytes.try_into();
                bytes.map(<$number>::from_le_bytes)
                    .map_err(|_| format!("expected 8 bytes, found {found}"))
            }
        }
    )* };
}

little_endian!(u64, i64);

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded<C: StateCodec<T>, T>(value: &T) -> Vec<u8> {
        let mut bytes = b"before ".to_vec();
        C::encode(value, &mut bytes);
        bytes.split_off(7)
    }

    #[test]
    fn a_value_comes_back_as_it_was() {
        let value = (7_u32, "text".to_owned(), vec![-1_i64]);
        let bytes = encoded::<Postcard, _>(&value);
        assert_eq!(bytes, b"\x07\x04text\x01\x01");
        assert_eq!(Postcard::decode(&bytes), Ok(value));
        assert_eq!(encoded::<LittleEndian, _>(&258_u64), [2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(LittleEndian::decode(&[255; 8]), Ok(-1_i64));
        assert_eq!(Raw::decode(&encoded::<Raw, _>(&vec![1, 2])), Ok(vec![1, 2]));
    }

    #[test]
    fn bytes_of_another_form_are_refused() {
        assert_eq!(
            <LittleEndian as StateCodec<u64>>::decode(b"abc"),
            Err("expected 8 bytes, found 3".to_owned())
        );
        assert_eq!(
            <Postcard as StateCodec<u32>>::decode(&[1, 2]),
            Err("1 bytes too many".to_owned())
        );
        assert!(<Postcard as StateCodec<String>>::decode(&[9]).is_err());
    }
}
