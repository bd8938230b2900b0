//! AWS Lambda's runtime API. This version has no such door: [`crate::door`] refuses to start
//! where it would be needed.

/// Set by Lambda for every custom runtime: where its runtime API listens.
pub const VARIABLE: &str = "AWS_LAMBDA_RUNTIME_API";
