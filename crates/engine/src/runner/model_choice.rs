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
#[derive(Debug, Default, PartialEq)]
pub(super) struct TurnChoice {
    model: Option<String>,
    effort: Option<String>,
    resets_effort: bool,
    mode: Option<Mode>,
}

impl TurnChoice {
    pub(super) fn put_into(self, content: &mut TurnInput) {
        let Self { model, effort, resets_effort, mode } = self;
        content.model = model.or(content.model.take());
        content.effort = effort.or(content.effort.take());
        (content.mode, content.resets_effort) = (mode, resets_effort);
    }
}

/// What the turn of this input is to have. It is noted in the task, which is written before the input is given.
pub(super) fn choose(task: &mut Task, input: &Input, by: &str) -> TurnChoice {
    let before = task.tally.chosen.take().unwrap_or_default();
    if by == Intent::OURSELVES {
        // It goes on with the turn that was cut off.
        let mut content = wanted(task, &before);
        content.mode = before.plan.then_some(Mode::Plan);
        task.tally.chosen = some(before);
        return content;
    }
    if input.stays {
        let settings = &mut task.settings;
        settings.model = input.model.clone().or(settings.model.take());
        settings.effort = input.effort.clone().or(settings.effort.take());
    }
    let choice = choice_of(input);
    task.tally.is_chosen |= choice.model.is_some() || choice.effort.is_some();
    let mut content = wanted(task, &choice);
    content.resets_effort = content.effort.is_none() && before.effort.is_some();
    content.mode = match (choice.plan, before.plan) {
        (true, _) => Some(Mode::Plan),
        (false, true) => Some(Mode::Default),
        (false, false) => None,
    };
    task.tally.chosen = match input.stays {
        true => some(ModelChoice { plan: choice.plan, ..ModelChoice::default() }),
        false => some(choice),
    };
    content
}

/// The same for an input that was chosen for and may have been given: it is looked for first, and then given again.
pub(super) fn choose_again(task: &Task, input: &Input, by: &str) -> TurnChoice {
    let noted = task.tally.chosen.clone().unwrap_or_default();
    let choice = if by == Intent::OURSELVES { noted } else { choice_of(input) };
    let mut content = wanted(task, &choice);
    // What the turn before had is not known any more.
    content.resets_effort = content.effort.is_none() && task.tally.is_chosen;
    content.mode = choice.plan.then_some(Mode::Plan);
    content
}

fn choice_of(input: &Input) -> ModelChoice {
    ModelChoice { model: input.model.clone(), effort: input.effort.clone(), plan: input.plan }
}

/// As long as nothing was ever chosen, the thread has what it has.
fn wanted(task: &Task, choice: &ModelChoice) -> TurnChoice {
    if !task.tally.is_chosen {
        return TurnChoice::default();
    }
    let usual = task.tally.usual.clone().unwrap_or_default();
    let (model, effort) = (task.settings.model.clone(), task.settings.effort.clone());
    TurnChoice {
        model: choice.model.clone().or(model).or(usual.model),
        effort: choice.effort.clone().or(effort).or(usual.effort),
        ..TurnChoice::default()
    }
}

fn some(choice: ModelChoice) -> Option<ModelChoice> {
    (choice != ModelChoice::default()).then_some(choice)
}

#[cfg(test)]
mod tests {
    use ostler_model::TaskId;
    use ostler_model::task::TaskSettings;

    use super::*;
    use crate::engine::new_task;

    fn task(model: Option<&str>) -> Task {
        let model = model.map(str::to_owned);
        let settings = TaskSettings { model, ..TaskSettings::in_folder("/") };
        let by = "ana".to_owned();
        let (mut task, _) =
            new_task(settings, Input::text("trot"), by, None, &TaskId::new("a"), None);
        let (model, effort) = (Some("own".to_owned()), None);
        task.tally.usual = Some(ModelChoice { model, effort, plan: false });
        task
    }

    fn input(model: &str, effort: Option<&str>) -> Input {
        let effort = effort.map(str::to_owned);
        Input { model: Some(model.to_owned()), effort, ..Input::text("trot") }
    }

    fn given(model: &str, effort: Option<&str>, resets_effort: bool) -> TurnChoice {
        let (model, effort) = (Some(model.to_owned()), effort.map(str::to_owned));
        TurnChoice { model, effort, resets_effort, mode: None }
    }

    #[test]
    fn what_is_for_one_turn_is_taken_back_with_the_next() {
        let mut task = task(None);
        let plain = Input::text("trot");
        assert_eq!(choose(&mut task, &plain, "ana"), TurnChoice::default());
        let chosen = choose(&mut task, &input("other", Some("high")), "ana");
        assert_eq!(chosen, given("other", Some("high"), false));
        // What goes on with it has the same, also if it is given again.
        assert_eq!(choose(&mut task, &plain, Intent::OURSELVES), chosen);
        assert_eq!(choose_again(&task, &plain, Intent::OURSELVES), chosen);
        assert_eq!(choose(&mut task, &plain, "ana"), given("own", None, true));
        // It was written down, and the daemon died before it was given.
        assert_eq!(choose_again(&task, &plain, "ana"), given("own", None, true));
    }

    #[test]
    fn what_stays_counts_instead_of_what_the_thread_was_opened_with() {
        let mut task = task(Some("first"));
        let stays = Input { stays: true, ..input("other", None) };
        assert_eq!(choose(&mut task, &stays, "ana"), given("other", None, false));
        for by in ["ana", Intent::OURSELVES] {
            let next = choose(&mut task, &Input::text("trot"), by);
            assert_eq!(next, given("other", None, false), "{by}");
        }
        assert_eq!((task.settings.model.as_deref(), task.tally.chosen), (Some("other"), None));
    }
}
