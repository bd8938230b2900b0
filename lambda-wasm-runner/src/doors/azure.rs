//! Azure Functions' custom handlers. This version has no such door: [`crate::door`] refuses to
//! start where it would be needed.

/// Set by the Functions host for every custom handler: the port to listen on.
pub const VARIABLE: &str = "FUNCTIONS_CUSTOMHANDLER_PORT";
