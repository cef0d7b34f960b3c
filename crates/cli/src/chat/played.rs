//! A session that is played, and its house, for tests.

use std::sync::{Arc, Mutex};

use ostler_agent::runtime::{Asked, Runtime, Switch, Turn};
use ostler_agent::{Activity, Controls, Hear, TurnOutcome};
use ostler_model::ask::{FileChangeAsk, FileChangeKind, FileDiff};
use ostler_model::task::{AskRecord, AskState};
use ostler_model::usage::Tokens;
use ostler_model::{Ask, AskId, AskKind, Decision, TaskId};
use ostler_server::api::AnswerRequest;
use tokio::sync::Notify;

use super::session::{
    ConversationShown, ConversationUsage, House, Manner, Opening, Session, UserInput, Which, Work,
};
use crate::failure::Failure;

/// What the played session and its house were told, in order.
#[derive(Default)]
pub(super) struct Log(Mutex<Vec<String>>, Notify);

impl Log {
    pub(super) fn add(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Answers each message with itself; `wait` goes on until it is stopped or steered, `ask` asks to change a file, and while `deaf`
/// is answered nobody hears what is said.
struct Played {
    id: String,
    manner: Manner,
    log: Arc<Log>,
}

pub(super) struct PlayedHouse {
    pub(super) log: Arc<Log>,
}

pub(super) fn played(id: &str, log: &Arc<Log>) -> Box<dyn Session> {
    let manner = Manner { runtime: Runtime::Auto, model: Some("m".to_owned()), effort: None };
    Box::new(Played { id: id.to_owned(), manner, log: Arc::clone(log) })
}

impl Session for Played {
    fn conversation(&self) -> ConversationShown {
        ConversationShown { id: self.id.clone(), ..ConversationShown::default() }
    }

    fn manner(&self) -> Manner {
        self.manner.clone()
    }

    fn take_up<'a>(&'a mut self, _: &'a Controls, _: Hear<'a>) -> Work<'a, Option<TurnOutcome>> {
        Box::pin(async { None })
    }

    fn turn<'a>(
        &'a mut self,
        input: UserInput,
        controls: &'a Controls,
        hear: Hear<'a>,
    ) -> Work<'a, TurnOutcome> {
        Box::pin(async move {
            self.log.add(format!("turn: {}", input.text));
            if input.text == "ask" {
                hear(Activity::Asked(Box::new(question())));
                self.log.1.notified().await;
                let how = "allowed by you".to_owned();
                hear(Activity::AskOver { ask: AskId::from("a1"), how });
            }
            if input.text == "deaf" {
                controls.steering.waits().await;
            }
            if input.text != "wait" {
                let final_response = format!("**echo** {}", input.text);
                hear(Activity::Text(final_response.clone()));
                return TurnOutcome { final_response, completed: true, ..TurnOutcome::default() };
            }
            tokio::select! {
                () = controls.stop.cancelled() => {
                    self.log.add("stopped");
                    TurnOutcome { interrupted: true, partial: true, ..TurnOutcome::default() }
                }
                () = controls.steering.waits() => {
                    let said = controls.steering.take();
                    self.log.add(format!("steered: {}", said.join(", ")));
                    said.into_iter().for_each(|text| hear(Activity::Steered(text)));
                    TurnOutcome { final_response: "as you say".to_owned(), completed: true, ..TurnOutcome::default() }
                }
            }
        })
    }

    fn compress<'a>(
        &'a mut self,
        controls: &'a Controls,
        _: Hear<'a>,
    ) -> Work<'a, Result<String, String>> {
        Box::pin(async {
            if self.manner.model.as_deref() == Some("slow") {
                controls.stop.cancelled().await;
                return Err("the summary was stopped".to_owned());
            }
            Ok("12 messages became a summary".to_owned())
        })
    }

    fn models(&self) -> Work<'static, Result<Vec<String>, String>> {
        Box::pin(async { Ok(vec!["oats".to_owned(), "barley".to_owned()]) })
    }

    fn set_model(&mut self, model: String) {
        self.manner.model = Some(model);
    }

    fn set_effort(&mut self, effort: Option<String>) {
        self.manner.effort = effort;
    }

    fn set_runtime(&mut self, runtime: Runtime) -> Work<'_, Result<(), String>> {
        self.manner.runtime = runtime;
        self.log.add(format!("runtime: {runtime}"));
        Box::pin(async { Ok(()) })
    }

    fn usage(&self) -> ConversationUsage {
        let tokens = Tokens { input: 1_000, output: 500, ..Tokens::default() };
        ConversationUsage {
            tokens,
            last_call: tokens,
            context_window: Some(10_000),
            calls: 1,
            turns: 1,
        }
    }

    fn memory_shown(&self) -> String {
        "likes tea".to_owned()
    }

    fn skills_shown(&self) -> String {
        String::new()
    }

    fn pin_skill(&mut self, name: &str) -> Result<(), String> {
        if name == "fly" {
            return Err("there is no skill \"fly\"".to_owned());
        }
        self.log.add(format!("pin: {name}"));
        Ok(())
    }

    fn unpin_skill(&mut self, name: &str) -> Result<(), String> {
        self.log.add(format!("unpin: {name}"));
        Ok(())
    }

    fn close(self: Box<Self>) -> Work<'static, ()> {
        Box::pin(async move {
            // A review that lasts as long as anybody waits for it.
            if self.manner.effort.as_deref() == Some("learning") {
                std::future::pending::<()>().await;
            }
            self.log.add(format!("closed: {}", self.id));
        })
    }
}

impl House for PlayedHouse {
    fn open<'a>(
        &'a self,
        which: Which,
        opening: &'a Opening,
    ) -> Work<'a, Result<Box<dyn Session>, Failure>> {
        let Opening { runtime, model, effort, .. } = opening;
        let wished = [runtime.map(|it| it.to_string()), model.clone(), effort.clone()];
        let wished: Vec<String> = wished.into_iter().flatten().collect();
        self.log.add(format!("open: {which:?} {}", wished.join(" ")).trim_end());
        Box::pin(async { Ok(played("c2", &self.log)) })
    }

    fn list(&self) -> Work<'_, Result<Vec<ConversationShown>, Failure>> {
        let found = ConversationShown {
            id: "c9".to_owned(),
            title: Some("tea".to_owned()),
            ..ConversationShown::default()
        };
        Box::pin(async { Ok(vec![found]) })
    }

    fn switch(&self, asked: Asked, turn: Turn) -> Work<'_, Switch> {
        self.log.add(format!("switch: {asked:?} {turn:?}"));
        let success = turn == Turn::None;
        let new = if success { Runtime::CodexAppServer } else { Runtime::Auto };
        let message = if success { "switched" } else { "a turn runs" }.to_owned();
        let switch = Switch {
            success,
            old: Runtime::Auto,
            new,
            message,
            requires_new_session: success,
            codex_ok: None,
            codex_version: None,
        };
        Box::pin(async { switch })
    }

    fn answer<'a>(
        &'a self,
        ask: &'a AskId,
        answer: &'a AnswerRequest,
    ) -> Work<'a, Result<(), String>> {
        let rule = if answer.remember.is_some() { " and a rule" } else { "" };
        let reason = answer.reason.as_deref().unwrap_or_default();
        self.log.add(format!("answer: {ask} {:?}{rule} {reason}", answer.decision));
        self.log.1.notify_one();
        Box::pin(async { Ok(()) })
    }
}

fn question() -> AskRecord {
    let diff = "@@ -1 +1 @@\n-old\n+new\n".to_owned();
    let files = vec![FileDiff {
        path: "/w/notes.md".to_owned(),
        change: FileChangeKind::Update { moved_to: None },
        diff,
    }];
    AskRecord {
        id: AskId::from("a1"),
        task: TaskId::from("t1"),
        agent: None,
        source: None,
        content: Ask {
            thread: None,
            turn: None,
            item: None,
            reason: Some("to tidy".to_owned()),
            kind: AskKind::FileChange(FileChangeAsk { files, grant_root: None }),
            offers: vec![Decision::Once, Decision::Session, Decision::Deny],
        },
        digest: String::new(),
        opened_at: 0,
        state: AskState::Open,
        decision: None,
        closed: None,
    }
}
