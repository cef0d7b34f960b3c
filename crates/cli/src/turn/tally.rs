//! What is counted while a turn is watched.

use ostler_model::item::Outcome;
use ostler_model::thread::{AskEnd, Update};
use ostler_model::{Decision, ItemBody};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Commands that ran to an end.
    pub(crate) commands_run: usize,
    /// Asks that somebody refused.
    pub(crate) denied: usize,
    /// Asks that were declined because there is nobody to ask.
    pub(crate) unasked: usize,
    /// A command, file change or tool call succeeded after the last of those.
    found_another_way: bool,
}

impl Tally {
    pub(super) fn count(&mut self, update: &Update, has_nobody: bool) {
        match update {
            Update::ItemEnded { item, .. } => {
                if let ItemBody::Command(command) = &item.body {
                    self.commands_run += usize::from(command.exit_code.is_some());
                }
                let outcome = match &item.body {
                    ItemBody::Command(command) => Some(&command.outcome),
                    ItemBody::FileChange(change) => Some(&change.outcome),
                    ItemBody::ToolCall(call) => Some(&call.outcome),
                    _ => None,
                };
                if outcome == Some(&Outcome::Succeeded) {
                    self.found_another_way = true;
                }
            }
            Update::AskClosed {
                how: AskEnd::Decided { decision: Decision::Deny | Decision::Cancel, .. },
                ..
            } => self.denied += 1,
            Update::AskClosed { how: AskEnd::Declined { .. } | AskEnd::Refused, .. }
                if has_nobody =>
            {
                self.unasked += 1;
                self.found_another_way = false;
            }
            _ => {}
        }
    }

    /// Something was declined for want of a person, and nothing that Codex did afterwards worked.
    pub(crate) fn waits_for_person(&self) -> bool {
        self.unasked > 0 && !self.found_another_way
    }
}
