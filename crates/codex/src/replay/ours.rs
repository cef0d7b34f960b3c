//! What our side said in a recording: inputs, interrupts, and answers to asks.

use ostler_model::thread::{IfBusy, InputKind, Signal};
use ostler_model::{Decision, InputId, Moment, ThreadId, TurnId};
use serde::Deserialize;
use serde_json::Value;

use super::Player;
use crate::driver::hear::ask_id;
use crate::driver::perform::rpc_failure;
use crate::peer::RpcError;
use crate::protocol::request::initialize::Initialized;
use crate::protocol::turn::Turn;
use crate::protocol::user_input::UserInput;
use crate::protocol::{CodexVersion, ask, lenient, parse_server_request};
use crate::wire::{Call, Reply, RequestId};

/// A request of ours that matters to a thread.
pub(super) enum Request {
    Initialize,
    /// A turn, a review or a compaction.
    Submit(ThreadId, InputId),
    Steer(ThreadId, InputId),
}

/// The fields of our requests that a replay needs.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    #[serde(default, deserialize_with = "lenient::option")]
    thread_id: Option<ThreadId>,
    #[serde(default, deserialize_with = "lenient::objects")]
    input: Vec<UserInput>,
    #[serde(default, deserialize_with = "lenient::option")]
    client_user_message_id: Option<InputId>,
}

#[derive(Default, Deserialize)]
struct Started {
    #[serde(default, deserialize_with = "lenient::object_or_default")]
    turn: Turn,
}

impl Player {
    pub(super) fn requested(&mut self, now: Moment, id: RequestId, call: &Call) {
        if &*call.method == "initialize" {
            self.requests.insert(id, Request::Initialize);
            return;
        }
        let params: Params = lenient::message(call.params_json()).unwrap_or_default();
        let Some(thread) = params.thread_id else { return };
        let named = params.client_user_message_id;
        let input = named.unwrap_or_else(|| InputId::new(format!("request {}", id.as_json())));
        let texts: Vec<&str> = params.input.iter().filter_map(UserInput::as_text).collect();
        let message = InputKind::Message { text: texts.join("\n") };
        let (kind, request) = match &*call.method {
            "turn/start" => (message, Request::Submit(thread.clone(), input.clone())),
            "turn/steer" => (message, Request::Steer(thread.clone(), input.clone())),
            "review/start" | "thread/compact/start" => {
                (InputKind::Order, Request::Submit(thread.clone(), input.clone()))
            }
            "turn/interrupt" => {
                let by = "the recorded client".to_owned();
                return self.step(now, &thread, Signal::Interrupt { by });
            }
            _ => return,
        };
        self.requests.insert(id, request);
        // Codex steers a turn that is sent while one runs.
        self.step(now, &thread, Signal::Send { input, kind, if_busy: IfBusy::Steer });
    }

    pub(super) fn answered(&mut self, now: Moment, request: Request, reply: Reply) {
        match (request, reply.outcome) {
            (Request::Initialize, Ok(result)) => {
                let greeting: Option<Initialized> = serde_json::from_slice(&result).ok();
                let version = greeting.and_then(|greeting| greeting.version());
                self.version = self.version.take().or(version);
            }
            (Request::Initialize, Err(_)) => {}
            (Request::Submit(thread, input), Ok(result)) => {
                let started: Started = serde_json::from_slice(&result).unwrap_or_default();
                let turn: Option<TurnId> = started.turn.id;
                self.step(now, &thread, Signal::Submitted { input, turn });
            }
            (Request::Steer(thread, input), Ok(_)) => {
                self.step(now, &thread, Signal::Steered { input });
            }
            (Request::Submit(thread, input) | Request::Steer(thread, input), Err(error)) => {
                let why = rpc_failure(&RpcError::from(error));
                self.step(now, &thread, Signal::GiveFailed { input, why });
            }
        }
    }

    /// An answer of ours to an ask. Which decision it was is found by trying those that were offered.
    pub(super) fn decided(&mut self, now: Moment, reply: Reply) {
        let Some((thread, call)) = self.asked.remove(&reply.id) else { return };
        let id = ask_id(1, &reply.id);
        let request = parse_server_request(&call.method, call.params_json());
        let version = self.version.clone().or_else(|| CodexVersion::parse("0.166.0"));
        let given: Option<Value> =
            reply.outcome.ok().and_then(|result| serde_json::from_slice(&result).ok());
        let offers = ask::ask(&request).offers;
        let gives = |decision: &&Decision| match (&version, &given) {
            (Some(version), Some(given)) => {
                ask::answer(&request, decision, version).ok().as_ref() == Some(given)
            }
            _ => false,
        };
        if let Some(decision) = offers.iter().find(gives).cloned() {
            let by = "the recorded client".to_owned();
            self.step(now, &thread, Signal::Decide { ask: id.clone(), decision, by });
        }
        self.step(now, &thread, Signal::Answered { ask: id });
    }
}

/// The text by which an echo of the input is known.
pub(super) fn text(kind: &InputKind) -> String {
    match kind {
        InputKind::Message { text } => text.clone(),
        InputKind::Order => String::new(),
    }
}
