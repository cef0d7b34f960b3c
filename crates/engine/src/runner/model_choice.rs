//! Which model, effort and mode a turn gets.
//!
//! Codex keeps for all later turns what one of them was given (0.130.0 to 0.169.0). What was meant for one turn is taken back with
//! the next, also if the daemon or the app-server was replaced in between.

use ostler_codex::protocol::request::turn::Mode;
use ostler_codex::thread::TurnInput;
use ostler_codex::thread::open::OpenedThread;
use ostler_model::Input;
use ostler_model::task::{Intent, ModelChoice, Task};

/// What the thread has by itself, as long as no input has changed it.
pub(super) fn note_usual(task: &mut Task, opened: &OpenedThread) {
    if task.tally.usual.is_none() && !task.tally.is_chosen {
        let (model, effort) = (opened.model.clone(), opened.effort.clone());
        task.tally.usual = Some(ModelChoice { model, effort, plan: false });
    }
}

/// What a turn is given.
#[derive(Debug, Default)]
pub(super) struct TurnChoice {
    model: Option<String>,
    effort: Option<String>,
    resets_effort: bool,
    mode: Option<Mode>,
}

impl TurnChoice {
    pub(super) fn put_into(self, content: &mut TurnInput) {
        let Self { model, effort, resets_effort, mode } = self;
        (content.model, content.effort, content.mode) = (model, effort, mode);
        content.resets_effort = resets_effort;
    }
}

/// What the turn of this input is to have. It is noted in the task, which is written before the input is given.
pub(super) fn choose(task: &mut Task, input: &Input, by: &str) -> TurnChoice {
    let mut content = TurnChoice::default();
    let before = task.tally.chosen.take().unwrap_or_default();
    if by == Intent::OURSELVES {
        // It goes on with the turn that was cut off.
        content.model = before.model.clone();
        content.effort = before.effort.clone();
        content.mode = before.plan.then_some(Mode::Plan);
        task.tally.chosen = some(before);
        return content;
    }
    if input.stays {
        let settings = &mut task.settings;
        settings.model = input.model.clone().or(settings.model.take());
        settings.effort = input.effort.clone().or(settings.effort.take());
    }
    task.tally.is_chosen |= input.model.is_some() || input.effort.is_some();
    if task.tally.is_chosen {
        let usual = task.tally.usual.clone().unwrap_or_default();
        let (model, effort) = (task.settings.model.clone(), task.settings.effort.clone());
        content.model = input.model.clone().or(model).or(usual.model);
        content.effort = input.effort.clone().or(effort).or(usual.effort);
        content.resets_effort = content.effort.is_none() && before.effort.is_some();
    }
    content.mode = match (input.plan, before.plan) {
        (true, _) => Some(Mode::Plan),
        (false, true) => Some(Mode::Default),
        (false, false) => None,
    };
    let of_turn = |given: &Option<String>| given.clone().filter(|_| !input.stays);
    let (model, effort) = (of_turn(&input.model), of_turn(&input.effort));
    task.tally.chosen = some(ModelChoice { model, effort, plan: input.plan });
    content
}

fn some(choice: ModelChoice) -> Option<ModelChoice> {
    (choice != ModelChoice::default()).then_some(choice)
}
