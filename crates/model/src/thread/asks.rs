//! How an ask finds its decision, or is withdrawn. Whatever goes wrong is a refusal, and it is told.

use super::effect::{AskEnd, DecisionRefusal, Effect, StrayReason, Update, Withdrawal};
use super::machine::Machine;
use super::signal::Deciders;
use crate::ask::{Ask, AskKind, ElicitationWant};
use crate::decision::Decision;
use crate::id::AskId;
use crate::moment::Moment;

/// An ask that Codex waits for.
#[derive(Debug, Clone)]
pub(super) struct OpenAsk {
    content: Ask,
    phase: AskPhase,
    pub(super) deadline: Option<Moment>,
}

#[derive(Debug, Clone)]
enum AskPhase {
    /// A person must decide.
    People,
    /// A program of ours answers.
    Program,
    /// The answer is on its way.
    Answering {
        decision: Decision,
        by: String,
    },
    Declining {
        reason: String,
    },
}

impl OpenAsk {
    pub(super) fn is_for_people(&self) -> bool {
        matches!(self.phase, AskPhase::People)
    }

    pub(super) fn takes(&self, decision: &Decision) -> bool {
        self.is_for_people() && self.content.takes(decision)
    }

    /// An MCP server may ask outside of any turn, and then waits whatever turns come and go.
    fn outlives_turns(&self) -> bool {
        self.content.turn.is_none() && matches!(self.content.kind, AskKind::Elicitation(_))
    }
}

impl Machine {
    pub(super) fn asked(&mut self, now: Moment, id: AskId, content: Ask, out: &mut Vec<Effect>) {
        if self.asks.contains_key(&id) {
            // Codex sends an open one again when a thread is joined.
            return;
        }
        let mut content = content;
        if let (AskKind::FileChange(change), Some(item)) = (&mut content.kind, &content.item)
            && change.files.is_empty()
            && let Some(files) = self.known_files(item)
        {
            change.files = files.to_vec();
        }
        if let (AskKind::Elicitation(elicitation), None) = (&content.kind, &content.item)
            && let ElicitationWant::ToolApproval { .. } = elicitation.want
        {
            content.item = self.open_call_of(&elicitation.server).cloned();
        }
        let filed = match content.turn.clone() {
            Some(turn) => self.file(now, Some(&turn), out),
            None => Ok(()),
        };
        let phase = match &content.kind {
            AskKind::ToolCall(_) | AskKind::TokenRefresh { .. } => AskPhase::Program,
            _ => AskPhase::People,
        };
        let opened = Update::AskOpened { ask: id.clone(), content: Box::new(content.clone()) };
        out.push(Effect::Tell(opened));
        let is_program = matches!(phase, AskPhase::Program);
        let is_unknown = matches!(content.kind, AskKind::Other { .. });
        let deadline = self.limits.ask_deadline.filter(|_| !is_program);
        let deadline = deadline.map(|deadline| now.after(deadline));
        self.asks.insert(id.clone(), OpenAsk { content, phase, deadline });
        let is_over = self.turn.as_ref().is_some_and(|turn| turn.ending.is_some());
        match self.deciders {
            _ if is_unknown => self.refuse(&id, out),
            _ if filed == Err(StrayReason::Late) || is_over => {
                self.decline(&id, "its turn is over".to_owned(), out);
            }
            _ if is_program => out.push(Effect::Serve { ask: id }),
            Deciders::Present => out.push(Effect::Put { ask: id }),
            Deciders::Awaited => {}
            Deciders::Nobody => self.decline(&id, nobody(), out),
        }
    }

    pub(super) fn deciders_changed(&mut self, deciders: Deciders, out: &mut Vec<Effect>) {
        self.deciders = deciders;
        let open = self.asks.iter().filter(|(_, ask)| ask.is_for_people());
        let open: Vec<AskId> = open.map(|(id, _)| id.clone()).collect();
        for ask in open {
            match deciders {
                Deciders::Present => out.push(Effect::Put { ask }),
                Deciders::Nobody => self.decline(&ask, nobody(), out),
                Deciders::Awaited => {}
            }
        }
    }

    pub(super) fn decide(
        &mut self,
        id: &AskId,
        decision: Decision,
        by: String,
        out: &mut Vec<Effect>,
    ) {
        let refused = |by, why| Effect::Tell(Update::DecisionRefused { ask: id.clone(), by, why });
        let Some(ask) = self.asks.get_mut(id) else {
            return out.push(refused(by, DecisionRefusal::Closed));
        };
        match &ask.phase {
            AskPhase::People if ask.content.takes(&decision) => {}
            AskPhase::People => return out.push(refused(by, DecisionRefusal::NotOffered)),
            AskPhase::Program => return out.push(refused(by, DecisionRefusal::NotForPeople)),
            AskPhase::Answering { by: decided_by, .. } => {
                let why = DecisionRefusal::Decided { by: decided_by.clone() };
                return out.push(refused(by, why));
            }
            AskPhase::Declining { .. } => return out.push(refused(by, DecisionRefusal::Closed)),
        }
        ask.phase = AskPhase::Answering { decision: decision.clone(), by: by.clone() };
        let ends_turn = matches!(ask.content.kind, AskKind::Command(_) | AskKind::FileChange(_));
        if decision == Decision::Cancel
            && ends_turn
            && let Some(turn) = self.turn.as_mut()
        {
            turn.cancelled_by = Some(by);
        }
        out.push(Effect::Answer { ask: id.clone(), decision });
    }

    /// Nobody decides it: the answer is no, and everybody can see why.
    pub(super) fn decline(&mut self, id: &AskId, reason: String, out: &mut Vec<Effect>) {
        let Some(ask) = self.asks.get_mut(id) else { return };
        if matches!(ask.phase, AskPhase::Answering { .. } | AskPhase::Declining { .. }) {
            return;
        }
        if !ask.content.offers.contains(&Decision::Deny) {
            return self.refuse(id, out);
        }
        ask.phase = AskPhase::Declining { reason };
        out.push(Effect::Answer { ask: id.clone(), decision: Decision::Deny });
    }

    pub(super) fn refuse(&mut self, id: &AskId, out: &mut Vec<Effect>) {
        if self.asks.remove(id).is_some() {
            out.push(Effect::Refuse { ask: id.clone() });
            out.push(closed(id, AskEnd::Refused));
        }
    }

    /// The answer is written.
    pub(super) fn answered(&mut self, id: &AskId, out: &mut Vec<Effect>) {
        let Some(ask) = self.asks.remove(id) else { return };
        let how = match ask.phase {
            AskPhase::Answering { decision, by } => {
                AskEnd::Decided { decision: ask.content.shown(decision), by }
            }
            AskPhase::Declining { reason } => AskEnd::Declined { reason },
            AskPhase::Program | AskPhase::People => AskEnd::Served,
        };
        out.push(closed(id, how));
    }

    pub(super) fn answer_lost(&mut self, id: &AskId, reason: String, out: &mut Vec<Effect>) {
        if self.asks.remove(id).is_some() {
            out.push(closed(id, AskEnd::Lost { reason }));
        }
    }

    /// Codex waits no more. If we have just answered, it was our answer; else another client's, or it was taken back.
    pub(super) fn ask_resolved(&mut self, now: Moment, id: &AskId, out: &mut Vec<Effect>) {
        self.progress(now);
        match self.asks.get(id).map(|ask| &ask.phase) {
            None => {}
            Some(AskPhase::Answering { .. } | AskPhase::Declining { .. }) => self.answered(id, out),
            Some(AskPhase::People | AskPhase::Program) => {
                self.asks.remove(id);
                out.push(closed(id, AskEnd::Withdrawn { reason: Withdrawal::Elsewhere }));
            }
        }
    }

    pub(super) fn withdraw_all(&mut self, reason: Withdrawal, out: &mut Vec<Effect>) {
        for (id, ask) in std::mem::take(&mut self.asks) {
            if reason == Withdrawal::TurnEnded && ask.outlives_turns() {
                self.asks.insert(id, ask);
                continue;
            }
            let how = match (ask.phase, reason) {
                (AskPhase::Answering { decision, by }, Withdrawal::TurnEnded) => {
                    AskEnd::Decided { decision: ask.content.shown(decision), by }
                }
                (AskPhase::Declining { reason }, Withdrawal::TurnEnded) => {
                    AskEnd::Declined { reason }
                }
                _ => AskEnd::Withdrawn { reason },
            };
            out.push(closed(&id, how));
        }
    }

    pub(super) fn decline_overdue(&mut self, now: Moment, out: &mut Vec<Effect>) {
        let overdue = self.asks.iter().filter(|(_, ask)| {
            ask.is_for_people() && ask.deadline.is_some_and(|deadline| deadline <= now)
        });
        let overdue: Vec<AskId> = overdue.map(|(id, _)| id.clone()).collect();
        for id in overdue {
            self.decline(&id, "nobody answered in time".to_owned(), out);
        }
    }
}

fn nobody() -> String {
    "there is nobody to ask".to_owned()
}

fn closed(id: &AskId, how: AskEnd) -> Effect {
    Effect::Tell(Update::AskClosed { ask: id.clone(), how })
}
