//! Who is told what happens to the task. It is written down with what happened, and sent by the outbox when that is on disk.

use ostler_model::notification::{Content, Kind, Occasion, addressees, kind_of_ask, kind_of_move};
use ostler_model::task::{Cause, Task};
use ostler_model::{AskId, Notification, TaskState};
use ostler_store::Write;
use uuid::Uuid;

use super::Runner;
use super::desk::asked_of;
use crate::shared::now;

impl Runner {
    pub(super) fn tell_moved(&mut self, to: TaskState, cause: &Cause) {
        let Some(kind) = kind_of_move(to, cause) else { return };
        let task = Task { state: to, cause: cause.clone(), ..self.machine.task().clone() };
        let live = self.shared.live();
        let content = Content::of_state(&task, kind, live.notify.page.as_deref());
        self.write_to(&Occasion::Moved { nonce: Uuid::now_v7().to_string() }, kind, &content);
    }

    /// An ask waits for a person. An ask that comes again is known by its name, and told once.
    pub(super) fn tell_asked(&mut self, ask: &AskId) {
        self.tell_round(ask, 0);
    }

    /// Nobody has answered for long.
    pub(super) fn tell_asked_again(&mut self, ask: &AskId) {
        self.tell_round(ask, 1);
    }

    fn tell_round(&mut self, ask: &AskId, round: u32) {
        let Some(record) = self.desk.get(ask) else { return };
        let kind = kind_of_ask(asked_of(&record.content));
        let live = self.shared.live();
        let (task, page) = (self.machine.task(), live.notify.page.as_deref());
        let content = Content::of_ask(task, ask, &record.content, round > 0, page);
        self.write_to(&Occasion::Asked { ask: ask.clone(), round }, kind, &content);
    }

    fn write_to(&mut self, occasion: &Occasion, kind: Kind, content: &Content) {
        let live = self.shared.live();
        let named = &self.machine.task().settings.notify;
        for addressee in addressees(named, kind, |name| live.notify.kinds_of(name)) {
            let row =
                Notification::new(occasion, &self.id, kind, addressee, content.clone(), now());
            self.log.push(Write::Notification(Box::new(row)));
            self.has_mail = true;
        }
    }
}
