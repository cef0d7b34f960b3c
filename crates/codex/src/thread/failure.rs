//! Stand-in until the table of classes is merged.
use crate::protocol::error::TurnError;
use crate::protocol::limits::RateLimits;
use ostler_model::{Failure, FailureClass};
pub fn failure(error: &TurnError, _limits: Option<&RateLimits>) -> Failure {
    Failure::new(FailureClass::Unknown { word: None }, error.message.clone())
}
