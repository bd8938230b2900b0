//! Which door to open.

/// A way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// An HTTP server of our own.
    Http,
}

/// A place whose door isn't built yet.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{variable}` says that this runner was started by {place}, but this version can't be called \
     by {place} yet; run it as a plain HTTP server (without `{variable}`), or use a later version"
)]
pub struct DoorError {
    variable: &'static str,
    place: &'static str,
}

impl Door {
    /// The door that fits the environment, which `variable` looks up by name.
    ///
    /// # Errors
    /// When the environment asks for a door that this version doesn't have.
    pub fn from_environment(
        variable: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Self, DoorError> {
        for (name, place) in [
            (super::doors::lambda::VARIABLE, "AWS Lambda"),
            (super::doors::azure::VARIABLE, "Azure Functions"),
        ] {
            if variable(name).is_some() {
                return Err(DoorError { variable: name, place });
            }
        }
        Ok(Self::Http)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use super::*;

    #[test]
    fn an_empty_environment_opens_the_http_door() {
        assert_eq!(Door::from_environment(|_| None), Ok(Door::Http));
    }

    #[test]
    fn a_place_without_a_door_is_named() {
        for (variable, place) in [
            ("AWS_LAMBDA_RUNTIME_API", "AWS Lambda"),
            ("FUNCTIONS_CUSTOMHANDLER_PORT", "Azure Functions"),
        ] {
            let error =
                Door::from_environment(|name| (name == variable).then(|| "1".into())).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(variable) && text.contains(place), "{text}");
        }
    }
}
