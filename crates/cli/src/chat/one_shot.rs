//! One question without a person: the answer on stdout, what happens meanwhile on stderr, or all of it as JSON.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_agent::{Activity, Controls, TurnOutcome};
use tokio::task::JoinSet;

use super::asks::{UNATTENDED, denial};
use super::ending::{Unasked, activity_json, exit, outcome_json};
use super::inbox::Inbox;
use super::session::{House, Session, UserInput, Work};
use super::view::{Commentary, View};
use crate::failure::Exit;
use crate::terminal::{Output, tell};
use crate::turn::{Sign, Signs};

/// Rows on stderr are not wrapped to the terminal of a person: there may be none.
const WIDTH: usize = 100;

/// A turn that was told to stop ends soon; this long is waited for it.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

const NOBODY: &str = "there was nobody to ask";

/// How a program wants to hear of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    /// The end alone.
    Outcome,
    /// Each thing as it happens, and the end as the last.
    Stream,
}

/// The exit code of the turn.
pub(crate) async fn ask(
    house: Arc<dyn House>,
    mut session: Box<dyn Session>,
    input: UserInput,
    commentary: Commentary,
    telling: Telling,
    output: Output,
    signs: &mut Signs,
) -> u8 {
    let conversation = session.conversation().id;
    let view = View::new(commentary, session.manner(), session.usage());
    let mut told = Told::new(house, view, telling, output);
    let inbox = Arc::new(Inbox::default());
    let heard = Arc::clone(&inbox);
    let hear = move |activity| heard.hear(activity);
    let controls = Controls::default();
    let taken_up = told.drive(session.take_up(&controls, &hear), &inbox, &controls, signs).await;
    let code = match taken_up {
        // Whoever stopped the turn that was under way did not mean to begin another.
        None => Exit::CtrlC as u8,
        Some(Some(outcome)) if controls.stop.is_cancelled() => told.end(&outcome, &conversation),
        Some(taken_up) => {
            if taken_up.is_some_and(|outcome| outcome.persisted) {
                output.note("the turn that was under way has come to its end");
            }
            let controls = Controls::default();
            let turn = session.turn(input, &controls, &hear);
            match told.drive(turn, &inbox, &controls, signs).await {
                Some(outcome) => told.end(&outcome, &conversation),
                None => Exit::CtrlC as u8,
            }
        }
    };
    // What is learnt from the turn is worth a moment, but whoever has the answer need not wait for it.
    tokio::select! {
        () = session.close() => {}
        _ = signs.next() => {}
    }
    code
}

struct Told {
    house: Arc<dyn House>,
    view: View,
    telling: Telling,
    output: Output,
    unasked: Unasked,
    declining: JoinSet<()>,
    clock: Instant,
    stop_patience: Duration,
}

impl Told {
    fn new(house: Arc<dyn House>, view: View, telling: Telling, output: Output) -> Self {
        Self {
            house,
            view,
            telling,
            output,
            unasked: Unasked::default(),
            declining: JoinSet::new(),
            clock: Instant::now(),
            stop_patience: STOP_PATIENCE,
        }
    }

    /// None if the person went away from it.
    async fn drive<T>(
        &mut self,
        mut work: Work<'_, T>,
        inbox: &Inbox,
        controls: &Controls,
        signs: &mut Signs,
    ) -> Option<T> {
        let patience = after_a_stop(controls, self.stop_patience);
        tokio::pin!(patience);
        loop {
            tokio::select! {
                biased;
                () = &mut patience => return None,
                sign = signs.next() => {
                    if controls.stop.is_cancelled() || matches!(sign, Sign::Hangup | Sign::Quit) {
                        return None;
                    }
                    controls.stop.cancel();
                    self.say(&["stopping; Ctrl-C again leaves at once".to_owned()]);
                }
                done = &mut work => {
                    self.hear(inbox);
                    return Some(done);
                }
                () = inbox.came() => self.hear(inbox),
                Some(declined) = self.declining.join_next(), if !self.declining.is_empty() => {
                    if let Err(error) = declined {
                        tracing::warn!(%error, "an ask may not have been declined");
                    }
                }
            }
        }
    }

    fn hear(&mut self, inbox: &Inbox) {
        for activity in inbox.take() {
            if self.telling == Telling::Stream {
                self.output.emit(&activity_json(&activity));
            }
            match &activity {
                Activity::Asked(ask) if ask.state.takes_a_decision() => {
                    self.unasked.count += 1;
                    self.unasked.found_another_way = false;
                    let what = ask.content.kind.summary();
                    self.output.note(&format!("declined, because {NOBODY}: {what}"));
                    // Codex puts a reason into the conversation as words of the user, who has said none.
                    let reason = if ask.source.is_some() { "" } else { NOBODY };
                    let (house, ask) = (Arc::clone(&self.house), ask.id.clone());
                    self.declining.spawn(async move {
                        let answer = denial(reason, UNATTENDED);
                        if let Err(why) = house.answer(&ask, &answer).await {
                            tracing::warn!(%ask, why, "an ask could not be declined");
                        }
                    });
                }
                Activity::ToolEnded { is_error: false, .. } => {
                    self.unasked.found_another_way = true;
                }
                // The answer itself is written once, at the end.
                Activity::Text(_) | Activity::TextVoid => continue,
                _ => {}
            }
            let rows = self.view.hear(&activity, self.clock.elapsed(), WIDTH);
            self.say(&rows);
        }
    }

    fn end(&mut self, outcome: &TurnOutcome, conversation: &str) -> u8 {
        let rows = self.view.pause(WIDTH);
        self.say(&rows);
        let mut value = outcome_json(outcome, conversation, self.unasked);
        if self.telling == Telling::Stream
            && let Some(fields) = value.as_object_mut()
        {
            fields.insert("event".to_owned(), "outcome".into());
        }
        self.output.emit(&value);
        if !self.output.is_json() && !outcome.final_response.is_empty() {
            self.output.say(outcome.final_response.trim_end());
        }
        if let Some(error) =
            outcome.error.as_deref().filter(|error| !outcome.final_response.contains(error))
        {
            self.output.note(error);
        }
        exit(outcome, self.unasked)
    }

    /// Always on stderr: stdout has the answer alone.
    fn say(&self, rows: &[String]) {
        rows.iter().filter(|row| !row.is_empty()).for_each(|row| tell(row));
    }
}

/// Ends once, however much still happens: whoever cannot be stopped may go on talking.
async fn after_a_stop(controls: &Controls, patience: Duration) {
    controls.stop.cancelled().await;
    tokio::time::sleep(patience).await;
}

#[cfg(test)]
mod tests {
    use super::super::played::{Log, PlayedHouse, played};
    use super::*;

    fn asked(text: &str) -> (u8, Vec<String>) {
        let log = Arc::new(Log::default());
        let house = Arc::new(PlayedHouse { log: Arc::clone(&log) });
        let input = UserInput { text: text.to_owned(), images: Vec::new() };
        let (telling, output) = (Telling::Stream, Output::new(true));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let code = runtime.block_on(ask(
            house,
            played("c1", &log),
            input,
            Commentary::Shown,
            telling,
            output,
            &mut Signs::None,
        ));
        (code, log.all())
    }

    #[test]
    fn a_question_is_answered_and_the_conversation_let_go() {
        assert_eq!(asked("hello"), (0, vec!["turn: hello".to_owned(), "closed: c1".to_owned()]));
    }

    /// Each thing that it does came before the ten seconds were over, and began them anew.
    #[tokio::test]
    async fn whoever_cannot_be_stopped_is_waited_for_once() {
        let log = Arc::new(Log::default());
        let session = played("c1", &log);
        let house = Arc::new(PlayedHouse { log });
        let output = Output::new(true);
        let view = View::new(Commentary::Shown, session.manner(), session.usage());
        let mut told = Told {
            stop_patience: STOP_PATIENCE / 50,
            ..Told::new(house, view, Telling::Outcome, output)
        };
        let (controls, inbox) = (Controls::default(), Inbox::default());
        controls.stop.cancel();
        let works_on = async {
            let mut busy = tokio::time::interval(Duration::from_millis(5));
            loop {
                busy.tick().await;
                inbox.hear(Activity::Note("still here".to_owned()));
            }
        };
        let work: Work<'_, ()> = Box::pin(works_on);
        let mut signs = Signs::None;
        let driven = told.drive(work, &inbox, &controls, &mut signs);
        let driven = tokio::time::timeout(Duration::from_secs(60), driven).await;
        assert_eq!(driven, Ok(None));
    }

    #[test]
    fn what_is_asked_is_declined_because_nobody_is_there() {
        let answer = format!("answer: a1 Deny {NOBODY}");
        assert_eq!(
            asked("ask"),
            (4, vec!["turn: ask".to_owned(), answer, "closed: c1".to_owned()])
        );
    }
}
