//! Who may call.

use overspill_protocol::Digest;
use subtle::{Choice, ConstantTimeEq as _};

/// The shortest token that is taken: long enough that nobody guesses it.
const SHORTEST: usize = 16;

/// The bearer tokens that callers may show. Several, so that they can be changed without a gap.
///
/// Only their digests are kept, which also makes the time of a comparison independent of a
/// token's length.
#[derive(Clone, Debug)]
pub struct Tokens(Vec<Digest>);

/// Why a text can't be a token.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TokenError {
    /// Nothing there.
    #[error(
        "there is no token in it; expected one token a line, each at least {SHORTEST} characters"
    )]
    None,
    /// Too easy to guess.
    #[error(
        "token {number} has {found} characters, expected at least {SHORTEST}; \
         `openssl rand -hex 32` makes a good one"
    )]
    Short {
        /// Which, counted from 1.
        number: usize,
        /// Its length.
        found: usize,
    },
    /// It can't stand in a header.
    #[error(
        "token {number} has characters that can't stand in an HTTP header; use letters and digits"
    )]
    Characters {
        /// Which, counted from 1.
        number: usize,
    },
}

impl Tokens {
    /// The tokens in `text`, parted by white space.
    ///
    /// # Errors
    /// When there is none, or one is too short or has characters that no header can hold.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let mut tokens = Vec::new();
        for (index, token) in text.split_whitespace().enumerate() {
            let number = index + 1;
            if token.len() < SHORTEST {
                return Err(TokenError::Short { number, found: token.len() });
            }
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(TokenError::Characters { number });
            }
            tokens.push(Digest::of(token.as_bytes()));
        }
        match tokens.is_empty() {
            true => Err(TokenError::None),
            false => Ok(Self(tokens)),
        }
    }

    /// Whether the value of an `Authorization` header shows one of the tokens. It takes as long
    /// for a token that is almost right as for one that is all wrong.
    pub fn admit(&self, authorization: &[u8]) -> bool {
        let Some((scheme, token)) = authorization.split_at_checked(7) else { return false };
        if !scheme.eq_ignore_ascii_case(b"Bearer ") {
            return false;
        }
        let shown = Digest::of(token);
        let mut found = Choice::from(0);
        for token in &self.0 {
            found |= token.as_bytes().ct_eq(shown.as_bytes());
        }
        found.into()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn any_of_several_tokens_is_admitted() {
        let tokens = Tokens::parse(&format!("{TOKEN}\nfedcba9876543210\n")).unwrap();
        assert!(tokens.admit(b"Bearer 0123456789abcdef"));
        assert!(tokens.admit(b"bearer fedcba9876543210"));
    }

    #[test]
    fn nothing_else_is_admitted() {
        let tokens = Tokens::parse(TOKEN).unwrap();
        for shown in ["", "Bearer", "Bearer ", "Bearer 0123456789abcde", "Basic 0123456789abcdef"] {
            assert!(!tokens.admit(shown.as_bytes()), "{shown}");
        }
        assert!(!tokens.admit(b"Bearer 0123456789abcdef "));
        assert!(!tokens.admit(TOKEN.as_bytes()));
    }

    #[test]
    fn weak_tokens_are_refused() {
        assert_eq!(Tokens::parse(" \n").unwrap_err(), TokenError::None);
        assert_eq!(
            Tokens::parse(&format!("{TOKEN} secret")).unwrap_err(),
            TokenError::Short { number: 2, found: 6 }
        );
        assert_eq!(
            Tokens::parse("0123456789abcdé\u{7f}").unwrap_err(),
            TokenError::Characters { number: 1 }
        );
    }

    #[test]
    fn a_token_does_not_show_when_printed() {
        assert!(!format!("{:?}", Tokens::parse(TOKEN).unwrap()).contains(TOKEN));
    }
}
