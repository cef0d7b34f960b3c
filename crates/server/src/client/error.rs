//! Why a call to the daemon did not succeed.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::problem::{Problem, Trouble};

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("no daemon listens on {}", .0.display())]
    NotRunning(PathBuf),
    #[error("the daemon's socket {} cannot be reached: {source}", socket.display())]
    Unreachable { socket: PathBuf, source: io::Error },
    /// The daemon does not want this caller.
    #[error("the daemon refuses: {}", .0.detail)]
    Refused(Box<Problem>),
    #[error("the daemon is ostler {daemon} and this is ostler {own}")]
    Skew { daemon: String, own: String },
    /// The daemon says why.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    #[error("the daemon did not answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The connection had ended before anything was asked, so nothing was done.
    #[error("the daemon has closed the connection")]
    Closed,
    /// The connection ended in the middle, or what came back makes no sense. Whether the daemon did what was asked is open.
    #[error("the talk with the daemon broke off: {0}")]
    Broken(String),
}

impl ClientError {
    /// Hyper's own words are few; what lies below them says more.
    pub(super) fn broken(error: &hyper::Error) -> Self {
        let cause = error.source().map_or_else(String::new, |source| format!(": {source}"));
        Self::Broken(format!("{error}{cause}"))
    }
}

impl From<Problem> for ClientError {
    fn from(problem: Problem) -> Self {
        let is_refusal = problem.is(Trouble::StrangerRefused) || problem.is(Trouble::AgentRefused);
        let problem = Box::new(problem);
        if is_refusal { Self::Refused(problem) } else { Self::Problem(problem) }
    }
}
