//! A scripted model, a client for it, and what the client was told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_agent::api::{
    Answer, ApiError, Entry, KeySource, ModelApi, Patience, Piece, Provider, Question, Wire,
};
use ostler_model::usage::Tokens;
use ostler_model::{FailureClass, Message};
use ostler_scripted_model::{RequestRecord, Script, ScriptedModel};
use tokio_util::sync::CancellationToken;

/// No test waits longer than this for anything; it is long because the machine may be busy.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) const ISSUER: &str = "codex_backend";

/// What the scripted model says it has used, if the script does not.
pub(crate) const TOKENS: Tokens =
    Tokens { input: 100, cached_input: 0, output: 10, reasoning_output: 0 };

pub(crate) struct Stage {
    pub(crate) model: ScriptedModel,
    api: Arc<dyn ModelApi>,
}

/// What one question came to, with all that was told on the way.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) answer: Result<Answer, ApiError>,
    pub(crate) pieces: Vec<Piece>,
}

/// No limit, and no pause that a test would have to wait for.
pub(crate) fn calm() -> Patience {
    Patience { pause: Duration::from_millis(1), ..Patience::endless() }
}

impl Stage {
    /// A script with one conversation, `go`, and these answers.
    pub(crate) fn new(wire: Wire, answers: &str) -> Self {
        Self::with(wire, answers, calm(), KeySource::None)
    }

    pub(crate) fn with(wire: Wire, answers: &str, patience: Patience, key: KeySource) -> Self {
        let script = format!("[[conversation]]\nmatch = \"go\"\n{answers}");
        let model = ScriptedModel::start(Script::parse(&script).unwrap()).unwrap();
        let provider = Provider {
            base_url: model.base_url(),
            wire,
            key,
            issuer: ISSUER.to_owned(),
            headers: Vec::new(),
            proxy: None,
        };
        Self { api: provider.connect(patience).unwrap(), model }
    }

    pub(crate) async fn go(&self) -> Asked {
        self.ask(&go(), &CancellationToken::new()).await
    }

    pub(crate) async fn ask(&self, question: &Question, stop: &CancellationToken) -> Asked {
        hear_all(self.api.as_ref(), question, stop).await
    }

    /// Asks, and stops as soon as a piece is as wanted.
    pub(crate) async fn stop_at(&self, wanted: fn(&Piece) -> bool) -> Result<Answer, ApiError> {
        let stop = CancellationToken::new();
        let hear = |piece: Piece| {
            if wanted(&piece) {
                stop.cancel();
            }
        };
        let question = go();
        let answer = tokio::time::timeout(DEADLINE, self.api.ask(&question, &hear, &stop)).await;
        answer.expect("an end in time")
    }

    pub(crate) fn requests(&self) -> Vec<RequestRecord> {
        self.model.requests()
    }
}

/// Asks, and keeps all that is told meanwhile.
pub(crate) async fn hear_all(
    api: &dyn ModelApi,
    question: &Question,
    stop: &CancellationToken,
) -> Asked {
    let told = Mutex::new(Vec::new());
    let hear = |piece: Piece| told.lock().unwrap().push(piece);
    let answer = tokio::time::timeout(DEADLINE, api.ask(question, &hear, stop)).await;
    Asked { answer: answer.expect("an end in time"), pieces: told.into_inner().unwrap() }
}

impl Asked {
    /// The failure's class, the provider's code, and the text that had come.
    pub(crate) fn failure(&self) -> (FailureClass, Option<&str>, Option<&str>) {
        match &self.answer {
            Err(ApiError::Failed { failure, code, partial, .. }) => (
                failure.class.clone(),
                code.as_deref(),
                partial.as_ref().map(|partial| partial.text.as_str()),
            ),
            other => panic!("{other:?} is no failure"),
        }
    }

    pub(crate) fn message(&self) -> String {
        self.answer.as_ref().unwrap_err().to_string()
    }

    /// Why the question was asked again, each time.
    pub(crate) fn again(&self) -> Vec<&str> {
        let again = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Again { reason } => Some(reason.as_str()),
            _ => None,
        });
        again.collect()
    }

    /// The text that a surface shows in the end.
    pub(crate) fn shown(&self) -> String {
        let mut shown = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => shown.push_str(text),
                Piece::Again { .. } => shown.clear(),
                _ => {}
            }
        }
        shown
    }
}

pub(crate) fn go() -> Question {
    Question {
        model: "gpt-5.5".to_owned(),
        instructions: "Be brief.".to_owned(),
        history: vec![entry(Message::user("go".to_owned()))],
        session: "session".to_owned(),
        ..Question::default()
    }
}

pub(crate) fn entry(message: Message) -> Entry {
    Entry { message, images: Vec::new(), replay: None, is_cut: false, tokens: None }
}

/// One answer of a script.
pub(crate) fn answer(lines: &str) -> String {
    format!("[[conversation.answer]]\n{lines}\n")
}

/// One that fails, and then the one that is well.
pub(crate) fn then_well(lines: &str) -> String {
    answer(lines) + &answer("text = \"all is well\"")
}
