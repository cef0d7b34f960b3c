//! What Codex says, in our own words.

use jiff::Zoned;
use ostler_model::plan::{Plan, PlanStatus, PlanStep};
use ostler_model::thread::{DeltaKind, GiveFailure, Said, SaidEnd, Signal, What};
use ostler_model::usage::Tokens;
use ostler_model::{AskId, Failure, FailureClass, Goal, ThreadId, TurnId};

use super::actor::{Actor, Link};
use super::auto_review::auto_review;
use super::sandboxing::{HeardAsk, is_part};
use crate::peer::Event;
use crate::protocol::error::TurnError;
use crate::protocol::limits::{RateLimits, TokenCount};
use crate::protocol::notification::views::{Delta, PartDelta};
use crate::protocol::thread::thread_id_of;
use crate::protocol::turn::Turn;
use crate::protocol::words::{McpServerState, PlanStepStatus, TurnStatus};
use crate::protocol::{Notification, ServerRequest, ask, parse_notification, parse_server_request};
use crate::thread::failure::failure_just_now;
use crate::thread::item::translate;
use crate::thread::{Notice, Told};
use crate::wire::{Call, RequestId};

impl Actor {
    pub(super) fn hear(&mut self, event: Event) {
        if !matches!(event, Event::Notification(_)) {
            self.hear_piece();
        }
        match event {
            Event::Notification(call) => self.hear_notification(call),
            Event::Request { id, call } => self.hear_request(id, call),
            Event::Oddity(oddity) => {
                self.tell_all(&Told::Notice(Notice::Odd { text: oddity.to_string() }));
            }
            Event::Closed(closed) => self.lose_link(&closed.to_string()),
        }
    }

    fn hear_notification(&mut self, call: Call) {
        let notification = parse_notification(&call.method, call.params_json());
        if self.add_piece(&notification, &call.line) {
            return;
        }
        self.hear_piece();
        let notice = self.notice(&notification, &call);
        let now = || Zoned::now().with_time_zone(self.time_zone.clone());
        let home = match &self.link {
            Link::Up { server, .. } => server.greeting().codex_home.as_deref(),
            Link::Connecting | Link::Down => None,
        };
        let context = Context { epoch: self.epoch, limits: self.limits.as_ref(), now: &now, home };
        let said = said(&notification, &context);
        match &said {
            Some((speaker, _)) => self.tell_line(speaker, &call),
            // One that the machine does not need may still be about a thread.
            None => {
                if let Some(speaker) = thread_id_of(call.params_json()) {
                    self.tell_line(&speaker, &call);
                }
            }
        }
        match notice {
            Some((Some(thread), notice)) => self.tell(&thread, Told::Notice(notice)),
            Some((None, notice)) => self.tell_all(&Told::Notice(notice)),
            None => {}
        }
        let Some((thread, said)) = said else { return };
        self.note_end_of_asks(&thread, &said.what);
        if self.threads.contains_key(&thread) {
            self.step(&thread, Signal::Codex(said));
            self.tell_parents(&thread);
        } else if !matches!(said.what, What::Sign) {
            // Everybody hears of every thread's status; only the threads that we take part in say more.
            self.hear_unknown(thread, Event::Notification(call));
        }
    }

    fn hear_request(&mut self, id: RequestId, call: Call) {
        let request = parse_server_request(&call.method, call.params_json());
        match request {
            ServerRequest::TokenRefresh(request) => {
                return self.refresh_tokens(id, request.previous_account_id);
            }
            ServerRequest::CurrentTime(_) => return self.tell_time(id),
            _ => {}
        }
        let content = ask::ask(&request);
        let Some(thread) = content.thread.clone() else {
            self.tell_all(&Told::Notice(Notice::Odd {
                text: format!("codex asked for {}, which nobody here handles", call.method),
            }));
            return self.refuse_unknown(id, call.method.to_string());
        };
        if !self.threads.contains_key(&thread) {
            return self.hear_unknown(thread, Event::Request { id, call });
        }
        self.tell_line(&thread, &call);
        let ask = ask_id(self.epoch, &id);
        let is_part = is_part(&request);
        self.hear_ask(HeardAsk { thread, ask, id, call, content }, is_part);
    }

    /// What belongs to no turn.
    fn notice(
        &mut self,
        notification: &Notification<'_>,
        call: &Call,
    ) -> Option<(Option<ThreadId>, Notice)> {
        Some(match notification {
            Notification::Warning(warning) => {
                (warning.thread_id.clone(), Notice::Warning { text: warning.message.clone() })
            }
            Notification::ConfigWarning(warning) => {
                (None, Notice::Warning { text: warning.summary.clone() })
            }
            Notification::DeprecationNotice(notice) => {
                (None, Notice::Warning { text: notice.summary.clone() })
            }
            Notification::McpServerStatusUpdated(status) => {
                let notice = Notice::McpServer {
                    name: status.name.clone(),
                    state: status.status.as_ref().map(McpServerState::word).unwrap_or_default(),
                    error: status.error.clone(),
                };
                (status.thread_id.clone(), notice)
            }
            Notification::ModelRerouted(rerouted) => {
                let (from, to) = (rerouted.from_model.clone(), rerouted.to_model.clone());
                (rerouted.thread_id.clone(), Notice::ModelRerouted { from, to })
            }
            Notification::AccountRateLimitsUpdated(updated) => {
                // Codex sends empty limits after each call that had none; they say nothing.
                let limits = &updated.rate_limits;
                if limits.primary.is_none() && limits.secondary.is_none() {
                    return None;
                }
                if self.limits.as_ref() == Some(limits) {
                    return None;
                }
                self.limits = Some(limits.clone());
                (None, Notice::from(limits))
            }
            Notification::AccountUpdated(account) => {
                let (login, plan) = (account.auth_mode.clone(), account.plan_type.clone());
                (None, Notice::Account { login, plan })
            }
            Notification::AccountLoginCompleted(login) => {
                let notice = Notice::Login { succeeded: login.success, error: login.error.clone() };
                (None, notice)
            }
            Notification::ThreadSettingsUpdated(updated) => {
                let settings = &updated.thread_settings;
                let (model, effort) = (settings.model.clone(), settings.effort.clone());
                (Some(updated.thread_id.clone()), Notice::Settings { model, effort })
            }
            Notification::ThreadClosed(thread) => {
                (Some(thread.thread_id.clone()), Notice::Unloaded)
            }
            Notification::ThreadArchived(thread) => {
                (Some(thread.thread_id.clone()), Notice::Archived)
            }
            Notification::Other { method } => {
                let json = call.params_json().get().to_owned();
                let notice = Notice::Other { name: (*method).to_owned(), json };
                (thread_id_of(call.params_json()), notice)
            }
            Notification::Unreadable { method, reason } => {
                (None, Notice::Odd { text: format!("{method}: {reason}") })
            }
            _ => return None,
        })
    }

    /// The connection is gone: every thread learns it.
    pub(super) fn lose_link(&mut self, reason: &str) {
        if !matches!(self.link, Link::Up { .. }) {
            return;
        }
        self.link = Link::Down;
        self.asked_about.clear();
        self.looked_up.clear();
        self.disowned.clear();
        // Their request ids mean nothing on the next connection, on which Codex asks again.
        self.early.clear();
        let threads: Vec<ThreadId> = self.threads.keys().cloned().collect();
        for thread in threads {
            self.step(&thread, Signal::Closed { reason: reason.to_owned() });
        }
        for (thread, input) in std::mem::take(&mut self.unsent) {
            self.step(&thread, Signal::GiveFailed { input, why: GiveFailure::NotSent });
        }
        // A sub-agent at rest is known anew when it speaks on another connection.
        self.threads.retain(|_, entry| entry.as_root().is_some() || entry.machine.turn().is_some());
    }
}

/// The name of an ask in our own records: a request id means something on its connection only.
pub(crate) fn ask_id(epoch: u64, id: &RequestId) -> AskId {
    AskId::new(format!("{epoch}.{}", id.as_json()))
}

/// What must be known to understand a notification.
pub(crate) struct Context<'a> {
    pub(crate) epoch: u64,
    pub(crate) limits: Option<&'a RateLimits>,
    /// In the app-server's own time zone; only looked at when a limit is reached.
    pub(crate) now: &'a dyn Fn() -> Zoned,
    /// Of the app-server.
    pub(crate) home: Option<&'a str>,
}

impl Context<'_> {
    fn failure(&self, error: &TurnError) -> Failure {
        let mut failure = failure_just_now(error, self.limits, &(self.now)());
        if failure.class == FailureClass::Auth {
            failure.codex_home = self.home.map(Box::from);
        }
        failure
    }
}

/// What a notification says about which thread.
pub(crate) fn said(
    notification: &Notification<'_>,
    context: &Context<'_>,
) -> Option<(ThreadId, Said)> {
    let say = |thread: &ThreadId, turn: Option<&TurnId>, what| {
        Some((thread.clone(), Said { turn: turn.cloned(), what }))
    };
    match notification {
        Notification::TurnStarted(event) => {
            say(&event.thread_id, event.turn.id.as_ref(), What::TurnStarted)
        }
        Notification::TurnCompleted(event) => {
            let end = turn_end(&event.turn, |error| context.failure(error));
            say(&event.thread_id, event.turn.id.as_ref(), What::TurnCompleted(end))
        }
        Notification::ItemStarted(event) => {
            let item = translate(&event.item);
            say(&event.thread_id, event.turn_id.as_ref(), What::ItemStarted(item))
        }
        Notification::ItemCompleted(event) => {
            let item = translate(&event.item);
            say(&event.thread_id, event.turn_id.as_ref(), What::ItemCompleted(item))
        }
        Notification::AgentMessageDelta(delta) => Some(delta_said(delta, DeltaKind::Message)),
        Notification::PlanDelta(delta) => Some(delta_said(delta, DeltaKind::Plan)),
        Notification::CommandOutputDelta(delta) | Notification::FileChangeOutputDelta(delta) => {
            Some(delta_said(delta, DeltaKind::Output))
        }
        Notification::ReasoningTextDelta(part) | Notification::ReasoningSummaryTextDelta(part) => {
            Some(part_said(part))
        }
        Notification::FileChangePatchUpdated(patch) => {
            let files = patch.changes.iter().map(Into::into).collect();
            let what = What::Files { item: patch.item_id.clone(), files };
            say(&patch.thread_id, patch.turn_id.as_ref(), what)
        }
        Notification::ThreadTokenUsageUpdated(usage) => {
            let what = What::Usage {
                last: tokens(&usage.token_usage.last),
                thread: tokens(&usage.token_usage.total),
                context_window: usage.token_usage.model_context_window.filter(|size| *size > 0),
            };
            say(&usage.thread_id, usage.turn_id.as_ref(), what)
        }
        Notification::TurnPlanUpdated(plan) => {
            let steps = plan.plan.iter().map(|step| PlanStep {
                text: step.step.clone(),
                status: match step.status {
                    Some(PlanStepStatus::Completed) => PlanStatus::Completed,
                    Some(PlanStepStatus::InProgress) => PlanStatus::InProgress,
                    _ => PlanStatus::Pending,
                },
            });
            let told = Plan { explanation: plan.explanation.clone(), steps: steps.collect() };
            say(&plan.thread_id, plan.turn_id.as_ref(), What::Plan(told))
        }
        Notification::TurnDiffUpdated(diff) => {
            let what = What::Diff(diff.diff.clone().into_owned());
            say(&diff.thread_id, diff.turn_id.as_ref(), what)
        }
        Notification::ThreadCompacted(event) => {
            say(&event.thread_id, event.turn_id.as_ref(), What::Compacted)
        }
        Notification::ThreadGoalUpdated(event) => {
            say(&event.thread_id, None, What::Goal(Some(Goal::from(&event.goal))))
        }
        Notification::ThreadGoalCleared(event) => say(&event.thread_id, None, What::Goal(None)),
        Notification::AutoReviewStarted(event) | Notification::AutoReviewCompleted(event) => {
            let what = What::AutoReview(auto_review(event));
            say(&event.thread_id, event.turn_id.as_ref(), what)
        }
        Notification::Error(notice) => {
            let thread = notice.thread_id.as_ref()?;
            let failure = context.failure(&notice.error);
            let what = What::Failing { failure, will_retry: notice.will_retry };
            say(thread, notice.turn_id.as_ref(), what)
        }
        Notification::ServerRequestResolved(resolved) => {
            let thread = resolved.thread_id.as_ref()?;
            say(
                thread,
                None,
                What::AskResolved { ask: ask_id(context.epoch, &resolved.request_id) },
            )
        }
        Notification::ThreadStatusChanged(status) => say(&status.thread_id, None, What::Sign),
        Notification::McpToolCallProgress(progress) => say(&progress.thread_id, None, What::Sign),
        Notification::TerminalInteraction(event) => say(&event.thread_id, None, What::Sign),
        Notification::ReasoningSummaryPartAdded(event) => say(&event.thread_id, None, What::Sign),
        _ => None,
    }
}

/// How Codex says that a turn ended. A failed one may come without its error.
pub(super) fn turn_end(turn: &Turn, classify: impl Fn(&TurnError) -> Failure) -> SaidEnd {
    let error = turn.error.as_ref().map(classify);
    match &turn.status {
        Some(TurnStatus::Completed) => SaidEnd::Completed,
        Some(TurnStatus::Interrupted) => SaidEnd::Interrupted,
        Some(TurnStatus::Failed) => SaidEnd::Failed(error),
        Some(TurnStatus::InProgress) => SaidEnd::Other("inProgress".to_owned()),
        Some(TurnStatus::Other(word)) => SaidEnd::Other(word.clone()),
        None => SaidEnd::Failed(error),
    }
}

fn tokens(count: &TokenCount) -> Tokens {
    Tokens {
        input: count.input_tokens,
        cached_input: count.cached_input_tokens,
        output: count.output_tokens,
        reasoning_output: count.reasoning_output_tokens,
    }
}

fn delta_said(delta: &Delta<'_>, kind: DeltaKind) -> (ThreadId, Said) {
    let what = What::Delta {
        item: delta.item_id.as_ref().into(),
        kind,
        text: delta.delta.clone().into_owned(),
    };
    let turn = delta.turn_id.as_deref().map(TurnId::from);
    (delta.thread_id.as_ref().into(), Said { turn, what })
}

fn part_said(part: &PartDelta<'_>) -> (ThreadId, Said) {
    let what = What::Delta {
        item: part.item_id.as_ref().into(),
        kind: DeltaKind::Reasoning,
        text: part.delta.clone().into_owned(),
    };
    let turn = part.turn_id.as_deref().map(TurnId::from);
    (part.thread_id.as_ref().into(), Said { turn, what })
}
