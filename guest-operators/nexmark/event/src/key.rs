//! Keys: numbers as decimal digits, so that people can read them.

/// A key of one or two numbers.
#[derive(Debug)]
pub struct Key {
    text: [u8; 48],
    len: usize,
}

impl Key {
    /// The key of a number.
    pub fn of(number: i64) -> Self {
        let mut key = Self { text: [0; 48], len: 0 };
        key.push(itoa::Buffer::new().format(number).as_bytes());
        key
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..self.len]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.text[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// The key of two numbers: `1000|1001`.
pub fn pair(one: i64, other: i64) -> Key {
    let mut key = Key::of(one);
    key.push(b"|");
    key.push(itoa::Buffer::new().format(other).as_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_digits() {
        assert_eq!(Key::of(-7).as_bytes(), b"-7");
        assert_eq!(pair(1000, 1001).as_bytes(), b"1000|1001");
        assert_eq!(pair(i64::MIN, i64::MIN).as_bytes().len(), 41);
    }
}
