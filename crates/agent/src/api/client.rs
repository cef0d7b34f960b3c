//! One client for both APIs: a question with all its attempts.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ostler_model::{Failure, FailureClass};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempt::{Attempt, Stopped};
use super::credentials::{Credential, CredentialError};
use super::http::Http;
use super::patience::Patience;
use super::provider::{Provider, ProviderError};
use super::reading::Reading;
use super::recovery::{Change, Next, Recovery, Silence, Trouble};
use super::watch::{Ended, Watch};
use super::{Answer, ApiError, ModelApi, Piece, Question, preflight};

/// What differs between the APIs. Two users: the Responses API and Chat Completions.
pub(crate) trait Dialect: Send + Sync {
    type Reading: Reading;

    /// Behind the base URL.
    const PATH: &'static str;

    fn body(&self, question: &Question, reasoning: OldReasoning) -> Value;

    fn headers(&self, question: &Question) -> Vec<(&'static str, String)>;

    fn reading(&self) -> Self::Reading;
}

/// What becomes of the reasoning in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OldReasoning {
    SentBack,
    LeftOut,
}

/// So many silences in a row are no accident: the next one is not followed by a second attempt.
const SILENCES_IN_A_ROW: u32 = 3;

pub(crate) struct Client<D> {
    dialect: D,
    provider: Provider,
    patience: Patience,
    http: Http,
    /// As it was fetched last.
    credential: Mutex<Option<Credential>>,
    /// The provider could not read its own reasoning once; it is spared it from then on.
    no_reasoning: AtomicBool,
    silences: AtomicU32,
}

/// Who asks, and how they are told.
#[derive(Clone, Copy)]
struct Asker<'ask> {
    question: &'ask Question,
    hear: &'ask (dyn Fn(Piece) + Send + Sync),
    stop: &'ask CancellationToken,
    deadline: Option<Instant>,
}

impl<D: Dialect> ModelApi for Client<D> {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
        hear: &'a (dyn Fn(Piece) + Send + Sync),
        stop: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, ApiError>> {
        let deadline = self.patience.total.map(|total| Instant::now() + total);
        Box::pin(self.ask_until_answered(Asker { question, hear, stop, deadline }))
    }
}

impl<D: Dialect> Client<D> {
    pub(crate) fn new(
        provider: Provider,
        patience: Patience,
        dialect: D,
    ) -> Result<Self, ProviderError> {
        let http = Http::new(&provider, &patience, D::PATH)?;
        Ok(Self {
            dialect,
            provider,
            patience,
            http,
            credential: Mutex::default(),
            no_reasoning: AtomicBool::new(false),
            silences: AtomicU32::new(0),
        })
    }

    async fn ask_until_answered(&self, asker: Asker<'_>) -> Result<Answer, ApiError> {
        if let Some(problem) = preflight::problem(asker.question) {
            return Err(ApiError::BadQuestion(problem));
        }
        let mut recovery = Recovery::new(self.silence());
        let mut last_partial = None;
        loop {
            let mut watch = self.watch(asker);
            let fetched = watch.wait(self.credential()).await;
            let credential = match fetched {
                Ok(credential) => credential.map_err(|error| no_credential(&error))?,
                Err(ended) => return Err(self.ended(ended, last_partial)),
            };
            let (trouble, partial) = match self.attempt(asker, watch, &credential).await {
                Ok(answer) => return Ok(self.answered(answer)),
                Err(Stopped::Interrupted(partial)) => return Err(interrupted(Some(partial))),
                Err(Stopped::Trouble(trouble, partial)) => (trouble, partial),
            };
            if let Trouble::Silent(_) = &trouble {
                self.silences.fetch_add(1, Ordering::Relaxed);
            }
            last_partial = partial.or(last_partial);
            let Next::Again { change, pause } = recovery.next(&trouble, &self.patience) else {
                return Err(self.failed(trouble, last_partial, &credential));
            };
            let reason = hidden(&credential, &trouble.message());
            tracing::info!(%reason, ?change, "the model is asked again");
            self.change(change);
            (asker.hear)(Piece::Again { reason });
            if let Err(ended) = self.watch(asker).wait(tokio::time::sleep(pause)).await {
                return Err(self.ended(ended, last_partial));
            }
        }
    }

    async fn attempt(
        &self,
        asker: Asker<'_>,
        watch: Watch<'_>,
        credential: &Credential,
    ) -> Result<Answer, Stopped> {
        let body = self.dialect.body(asker.question, self.old_reasoning());
        let headers = self.dialect.headers(asker.question);
        let request = self.http.request(&body, &headers, credential);
        Attempt { watch, reading: self.dialect.reading() }.run(request).await
    }

    fn watch<'ask>(&'ask self, asker: Asker<'ask>) -> Watch<'ask> {
        let Asker { question, hear, stop, deadline } = asker;
        Watch::new(&self.patience, question.context_tokens, deadline, hear, stop)
    }

    fn silence(&self) -> Silence {
        match self.silences.load(Ordering::Relaxed) >= SILENCES_IN_A_ROW {
            true => Silence::GiveUp,
            false => Silence::AskAgain,
        }
    }

    fn old_reasoning(&self) -> OldReasoning {
        match self.no_reasoning.load(Ordering::Relaxed) {
            true => OldReasoning::LeftOut,
            false => OldReasoning::SentBack,
        }
    }

    fn answered(&self, mut answer: Answer) -> Answer {
        self.silences.store(0, Ordering::Relaxed);
        if self.old_reasoning() == OldReasoning::LeftOut {
            answer.replay = None;
        }
        answer
    }

    async fn credential(&self) -> Result<Credential, CredentialError> {
        let kept = self.lock_credential().clone();
        if let Some(credential) = kept {
            return Ok(credential);
        }
        let credential = self.provider.credential().await?;
        *self.lock_credential() = Some(credential.clone());
        Ok(credential)
    }

    fn change(&self, change: Change) {
        match change {
            Change::Nothing => {}
            Change::Credential => *self.lock_credential() = None,
            Change::NoReasoning => self.no_reasoning.store(true, Ordering::Relaxed),
        }
    }

    fn lock_credential(&self) -> std::sync::MutexGuard<'_, Option<Credential>> {
        self.credential.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, ended: Ended, partial: Option<Answer>) -> ApiError {
        let trouble = match ended {
            Ended::Interrupted => return interrupted(partial),
            Ended::Silent(message) => Trouble::Silent(message),
            Ended::Late(message) => Trouble::Late(message),
        };
        self.failed(trouble, partial, &Credential::default())
    }

    fn failed(
        &self,
        trouble: Trouble,
        partial: Option<Answer>,
        credential: &Credential,
    ) -> ApiError {
        let mut report = trouble.into_report();
        let mut message = hidden(credential, &report.failure.message);
        if report.failure.class == FailureClass::Auth {
            // A key that is refused is fetched again for the next question.
            *self.lock_credential() = None;
            message = format!("{message} ({})", self.provider.key.advice());
        }
        report.failure.message = message;
        ApiError::Failed {
            failure: report.failure,
            code: report.code,
            param: report.param,
            partial: partial.map(Box::new),
        }
    }
}

fn hidden(credential: &Credential, text: &str) -> String {
    credential.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text))
}

fn interrupted(partial: Option<Answer>) -> ApiError {
    ApiError::Interrupted { partial: Box::new(partial.unwrap_or_default()) }
}

fn no_credential(error: &CredentialError) -> ApiError {
    let failure = Failure::new(FailureClass::Auth, error.to_string());
    ApiError::Failed { failure, code: None, param: None, partial: None }
}
