//! Whether a question is asked again, and how: no I/O, no clock.

use std::time::Duration;

use ostler_model::{Failure, FailureClass};

use super::patience::Patience;
use super::report::Report;

/// Why an attempt came to nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Trouble {
    /// The connection could not be made, or broke.
    Broken(String),
    /// Nothing came for too long, and the connection was given up.
    Silent(String),
    /// The stream ended in order and had nothing in it.
    Empty,
    Reported(Report),
    /// The time for the whole question is over.
    Late(String),
    /// What came is no answer of a model.
    Senseless(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    Again { change: Change, pause: Duration },
    GiveUp,
}

/// What is different when the question is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Nothing,
    /// The credential is fetched anew.
    Credential,
    /// Reasoning of earlier answers is left out.
    NoReasoning,
}

/// What has been tried for one question. Each remedy is tried once: whoever asks knows better what to do after that.
#[derive(Debug)]
pub(crate) struct Recovery {
    reconnect: Remedy,
    wait: Remedy,
    refresh: Remedy,
    strip: Remedy,
    silence: Silence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy {
    Left,
    Used,
}

/// Whether it is worth asking again a provider that says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    AskAgain,
    /// It has been silent so often in a row that another attempt would only cost its time.
    GiveUp,
}

impl Recovery {
    pub(crate) fn new(silence: Silence) -> Self {
        let left = Remedy::Left;
        Self { reconnect: left, wait: left, refresh: left, strip: left, silence }
    }

    pub(crate) fn next(&mut self, trouble: &Trouble, patience: &Patience) -> Next {
        let (remedy, change, pause) = match trouble {
            Trouble::Silent(_) if self.silence == Silence::GiveUp => return Next::GiveUp,
            Trouble::Broken(_) | Trouble::Silent(_) | Trouble::Empty => {
                (&mut self.reconnect, Change::Nothing, Duration::ZERO)
            }
            Trouble::Reported(report) if report.is_about_encrypted_reasoning() => {
                (&mut self.strip, Change::NoReasoning, Duration::ZERO)
            }
            Trouble::Reported(report) => match report.failure.class {
                FailureClass::Auth => (&mut self.refresh, Change::Credential, Duration::ZERO),
                FailureClass::RateLimit { .. }
                | FailureClass::Overload
                | FailureClass::Network
                | FailureClass::ServerError => {
                    let pause = report.retry_after.unwrap_or(patience.pause);
                    if pause > patience.longest_pause {
                        return Next::GiveUp;
                    }
                    (&mut self.wait, Change::Nothing, pause)
                }
                _ => return Next::GiveUp,
            },
            Trouble::Late(_) | Trouble::Senseless(_) => return Next::GiveUp,
        };
        match std::mem::replace(remedy, Remedy::Used) {
            Remedy::Left => Next::Again { change, pause },
            Remedy::Used => Next::GiveUp,
        }
    }
}

impl Trouble {
    /// For people: why it is asked again, or why not.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Broken(message)
            | Self::Silent(message)
            | Self::Late(message)
            | Self::Senseless(message) => message.clone(),
            Self::Empty => "the provider ended the stream without an answer".to_owned(),
            Self::Reported(report) => report.failure.message.clone(),
        }
    }

    pub(crate) fn into_report(self) -> Report {
        let message = self.message();
        let class = match self {
            Self::Reported(report) => return report,
            Self::Broken(_) => FailureClass::Network,
            Self::Silent(_) | Self::Late(_) => FailureClass::TimedOut,
            Self::Empty | Self::Senseless(_) => FailureClass::ServerError,
        };
        let failure = Failure::new(class, message);
        Report { failure, code: None, param: None, retry_after: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report;
    use super::*;

    fn again(change: Change, pause: u64) -> Next {
        Next::Again { change, pause: Duration::from_secs(pause) }
    }

    fn reported(status: u16, code: &str, wait: Option<u64>) -> Trouble {
        let body = format!(r#"{{"error":{{"code":"{code}","message":"m"}}}}"#);
        Trouble::Reported(report::of_response(status, wait.map(Duration::from_secs), &body, 0))
    }

    #[test]
    fn each_remedy_is_tried_once() {
        let patience = Patience::default();
        let broken = || Trouble::Broken(String::new());
        for (trouble, first) in [
            (broken(), again(Change::Nothing, 0)),
            (Trouble::Silent(String::new()), again(Change::Nothing, 0)),
            (Trouble::Empty, again(Change::Nothing, 0)),
            (reported(401, "", None), again(Change::Credential, 0)),
            (reported(400, "invalid_encrypted_content", None), again(Change::NoReasoning, 0)),
            (reported(429, "", Some(5)), again(Change::Nothing, 5)),
            (reported(500, "", None), again(Change::Nothing, 1)),
            (reported(503, "", None), again(Change::Nothing, 1)),
            (reported(408, "", None), again(Change::Nothing, 1)),
        ] {
            let mut recovery = Recovery::new(Silence::AskAgain);
            let tried = [0, 1].map(|_| recovery.next(&trouble, &patience));
            assert_eq!(tried, [first, Next::GiveUp], "{trouble:?}");
        }
    }

    #[test]
    fn what_does_not_pass_is_not_tried_again() {
        for trouble in [
            reported(429, "", Some(6)),
            reported(429, "usage_limit_reached", None),
            reported(400, "", None),
            reported(403, "", None),
            reported(404, "model_not_found", None),
            reported(400, "context_length_exceeded", None),
            Trouble::Late(String::new()),
            Trouble::Senseless(String::new()),
        ] {
            let mut recovery = Recovery::new(Silence::AskAgain);
            assert_eq!(recovery.next(&trouble, &Patience::default()), Next::GiveUp, "{trouble:?}");
        }
    }

    #[test]
    fn a_provider_that_is_known_to_be_silent_is_not_waited_for_twice() {
        let mut recovery = Recovery::new(Silence::GiveUp);
        let next = recovery.next(&Trouble::Silent(String::new()), &Patience::default());
        assert_eq!(next, Next::GiveUp);
    }
}
