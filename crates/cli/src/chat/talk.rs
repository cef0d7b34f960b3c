//! The talk with a person at a terminal: what they type goes to the agent, what it does is shown, what it asks is put to them.
//!
//! Start reading at [`Talk::run`]. While a turn runs, [`Talk::drive`] hears the keys and the agent at once.

mod act;
mod draw;

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_agent::{Activity, Controls, TurnOutcome};
use ostler_model::AskId;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::asks::{Asks, Heard};
use super::commands::{self, Typed, When};
use super::editor::{Editor, Pressed};
use super::ending::{Unasked, exit};
use super::inbox::Inbox;
use super::session::{House, Opening, Session, UserInput, Work};
use super::surface::{Size, Surface};
use super::view::{Commentary, View};
use crate::failure::{Exit, Failure};
use crate::terminal::keys::Key;
use crate::turn::{Sign, Signs};
use act::Facts;
pub(crate) use act::which;

/// Fast enough for the spinner to look alive.
const TICK: Duration = Duration::from_millis(120);

/// Often enough to look as if it were at once.
const FRAME: Duration = Duration::from_millis(25);

/// A turn that was told to stop ends soon; whoever leaves waits this long for it.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// When the talk ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// The person leaves.
    Left,
    /// The first question is answered.
    Answered,
}

pub(crate) struct Talk<W> {
    house: Arc<dyn House>,
    /// For a conversation that is taken up: what the command line says.
    opening: Opening,
    /// For a new one: that, and what was chosen since.
    fresh: Opening,
    session: Option<Box<dyn Session>>,
    /// Sessions that were left: what they still learn is nobody's wait.
    closing: JoinSet<()>,
    surface: Surface<W>,
    size: fn() -> Size,
    editor: Editor,
    view: View,
    asks: Asks,
    /// Answers on their way to the daemon.
    answers: JoinSet<(AskId, Result<(), String>)>,
    /// What the agent says between turns.
    later: Arc<Inbox>,
    clock: Instant,
    /// Rows that are not on the terminal yet.
    rows: Vec<String>,
    /// The last row on the terminal is empty.
    has_gap: bool,
    hint: Option<String>,
    /// What was being typed when a question came: it is no answer to it.
    aside: Option<String>,
    /// Ctrl-C was pressed once, with nothing to stop.
    wants_to_leave: bool,
    /// Given to a turn that has not said yet that it is on disk.
    unheard: VecDeque<String>,
    /// Said in the last moments of a turn, when it listened no more: the next message.
    unsaid: Vec<String>,
}

/// What a talk is made of.
pub(crate) struct Parts<W> {
    pub(crate) house: Arc<dyn House>,
    pub(crate) opening: Opening,
    pub(crate) session: Box<dyn Session>,
    pub(crate) surface: Surface<W>,
    pub(crate) size: fn() -> Size,
    pub(crate) editor: Editor,
    pub(crate) commentary: Commentary,
    pub(crate) later: Arc<Inbox>,
}

/// Where the person's wishes come from.
pub(crate) struct Person {
    pub(crate) keys: mpsc::Receiver<Key>,
    pub(crate) signs: Signs,
}

/// What comes next.
enum Next {
    Stay,
    Say(UserInput),
    Leave,
}

/// How work under the eyes of the person ended.
enum Driven<T> {
    Done(T),
    Left,
}

impl<W: Write> Talk<W> {
    pub(crate) fn new(parts: Parts<W>) -> Self {
        let Parts { house, opening, session, surface, size, editor, commentary, later } = parts;
        let view = View::new(commentary, session.manner(), session.usage());
        Self {
            house,
            fresh: opening.clone(),
            opening,
            session: Some(session),
            closing: JoinSet::new(),
            surface,
            size,
            editor,
            view,
            asks: Asks::default(),
            answers: JoinSet::new(),
            later,
            clock: Instant::now(),
            rows: Vec::new(),
            has_gap: true,
            hint: None,
            aside: None,
            wants_to_leave: false,
            unheard: VecDeque::new(),
            unsaid: Vec::new(),
        }
    }

    /// Until the person leaves. The exit code is that of the last turn if it was the only one.
    pub(crate) async fn run(
        mut self,
        person: &mut Person,
        mut first: Option<UserInput>,
        until: Until,
    ) -> Result<u8, Failure> {
        if until == Until::Left {
            self.banner();
        }
        let mut next = match self.take_up(person).await {
            Driven::Left => Next::Leave,
            Driven::Done(()) => self.unsaid().or(first.take()).map_or(Next::Stay, Next::Say),
        };
        let mut code = 0;
        loop {
            next = match next {
                Next::Stay => self.idle(person).await,
                Next::Leave => break,
                Next::Say(input) => match self.turn(input, person).await {
                    Driven::Left => {
                        code = Exit::CtrlC as u8;
                        Next::Leave
                    }
                    Driven::Done(outcome) => match self.unsaid().or(first.take()) {
                        Some(input) => Next::Say(input),
                        None if until == Until::Answered => {
                            code = exit(&outcome, Unasked::default());
                            break;
                        }
                        None => Next::Stay,
                    },
                },
            };
        }
        self.farewell(until, person).await;
        Ok(code)
    }

    /// Waits for the person to say something.
    async fn idle(&mut self, person: &mut Person) -> Next {
        loop {
            self.draw();
            let later = Arc::clone(&self.later);
            let key = tokio::select! {
                biased;
                sign = person.signs.next() => match sign {
                    Sign::CtrlC => Some(Key::CtrlC),
                    _ => None,
                },
                key = person.keys.recv() => key,
                () = later.came() => {
                    self.hear(&later);
                    let width = self.width();
                    let rows = self.view.pause(width);
                    self.rows.extend(rows);
                    continue;
                }
            };
            let Some(key) = key else { return Next::Leave };
            let pressed = self.editor.press(key);
            if pressed != Pressed::CtrlC {
                (self.wants_to_leave, self.hint) = (false, None);
            }
            let next = match pressed {
                Pressed::CtrlD => Next::Leave,
                Pressed::CtrlC if self.wants_to_leave => Next::Leave,
                Pressed::CtrlC => {
                    (self.wants_to_leave, self.hint) =
                        (true, Some("Ctrl-C again leaves".to_owned()));
                    Next::Stay
                }
                Pressed::ClearScreen => {
                    self.surface.clear_screen();
                    Next::Stay
                }
                Pressed::Edited | Pressed::Escape => Next::Stay,
                Pressed::Entered(line) => self.entered(&line, person).await,
            };
            match next {
                Next::Stay => {}
                next => return next,
            }
        }
    }

    async fn entered(&mut self, line: &str, person: &mut Person) -> Next {
        self.editor.remember(line);
        match commands::read(line) {
            Typed::Nothing => Next::Stay,
            Typed::Text(text) => Next::Say(UserInput { text, images: Vec::new() }),
            Typed::Unknown(advice) => {
                self.complain(&advice);
                Next::Stay
            }
            Typed::Command { name, arguments } => {
                self.echo(line);
                self.act(name, &arguments, person).await
            }
        }
    }

    async fn take_up(&mut self, person: &mut Person) -> Driven<()> {
        let Some(mut session) = self.session.take() else { return Driven::Done(()) };
        let (inbox, hear) = inbox();
        let (controls, facts) = (Controls::default(), Facts::of(&*session));
        let driven =
            self.drive(session.take_up(&controls, &hear), &inbox, &controls, &facts, person).await;
        let usage = session.usage();
        self.session = Some(session);
        self.unsaid = controls.steering.take();
        match driven {
            Driven::Left => Driven::Left,
            Driven::Done(None) => Driven::Done(()),
            Driven::Done(Some(outcome)) => {
                self.ended(&outcome, usage);
                Driven::Done(())
            }
        }
    }

    async fn turn(&mut self, input: UserInput, person: &mut Person) -> Driven<TurnOutcome> {
        self.gap();
        let width = self.width();
        let rows = self.view.begin(&input.text, input.images.len(), self.clock.elapsed(), width);
        self.rows.extend(rows);
        let Some(mut session) = self.session.take() else { return Driven::Left };
        let (inbox, hear) = inbox();
        let (controls, facts) = (Controls::default(), Facts::of(&*session));
        let driven = self
            .drive(session.turn(input, &controls, &hear), &inbox, &controls, &facts, person)
            .await;
        let usage = session.usage();
        self.session = Some(session);
        self.unsaid = controls.steering.take();
        if let Driven::Done(outcome) = &driven {
            self.ended(outcome, usage);
        }
        driven
    }

    fn unsaid(&mut self) -> Option<UserInput> {
        let text = std::mem::take(&mut self.unsaid).join("\n\n");
        (!text.is_empty()).then(|| UserInput { text, images: Vec::new() })
    }

    fn ended(&mut self, outcome: &TurnOutcome, usage: super::session::ConversationUsage) {
        let width = self.width();
        let rows = self.view.end(outcome, usage, self.clock.elapsed(), width);
        self.rows.extend(rows);
        self.asks.clear();
        self.set_aside();
        (self.hint, self.wants_to_leave) = (None, false);
    }

    /// Does the work while the person sees it, steers it, answers it or ends it.
    async fn drive<T>(
        &mut self,
        mut work: Work<'_, T>,
        inbox: &Inbox,
        controls: &Controls,
        facts: &Facts,
        person: &mut Person,
    ) -> Driven<T> {
        let mut drawn = None;
        loop {
            self.draw();
            // Before the keys, so that nobody answers what they have not seen; but not so often that keys would have to wait.
            let is_due = drawn.is_none_or(|drawn: Instant| drawn.elapsed() >= FRAME);
            let key = tokio::select! {
                biased;
                done = &mut work => {
                    self.hear(inbox);
                    self.unheard.clear();
                    return Driven::Done(done);
                }
                sign = person.signs.next() => match sign {
                    Sign::CtrlC => Some(Key::CtrlC),
                    _ => None,
                },
                () = inbox.came(), if is_due => {
                    self.hear(inbox);
                    drawn = Some(Instant::now());
                    continue;
                }
                key = person.keys.recv() => key,
                Some(answered) = self.answers.join_next(), if !self.answers.is_empty() => {
                    self.answered(answered);
                    continue;
                }
                () = tokio::time::sleep(if is_due { TICK } else { FRAME }) => continue,
            };
            let leaves = match key {
                None => true,
                Some(key) => self.pressed_in_turn(key, controls, facts).await,
            };
            if leaves {
                controls.stop.cancel();
                // What it has by then is kept; the agent sees to that.
                if timeout(STOP_PATIENCE, work).await.is_ok() {
                    self.hear(inbox);
                }
                self.unheard.clear();
                return Driven::Left;
            }
        }
    }

    /// Whether the person leaves.
    async fn pressed_in_turn(&mut self, key: Key, controls: &Controls, facts: &Facts) -> bool {
        match self.editor.press(key) {
            Pressed::CtrlD => true,
            Pressed::CtrlC if controls.stop.is_cancelled() => true,
            Pressed::CtrlC => {
                self.stop(controls);
                false
            }
            Pressed::ClearScreen => {
                self.surface.clear_screen();
                false
            }
            Pressed::Edited | Pressed::Escape => false,
            Pressed::Entered(line) => self.entered_in_turn(&line, controls, facts).await,
        }
    }

    async fn entered_in_turn(&mut self, line: &str, controls: &Controls, facts: &Facts) -> bool {
        let is_asked = self.asks.question().is_some();
        let is_for_dialog = ["/no", "/later"].contains(&line.trim().to_lowercase().as_str());
        if !self.asks.is_secret() {
            self.editor.remember(line);
        }
        let typed = match is_asked && is_for_dialog {
            true => Typed::Text(line.trim().to_owned()),
            false => commands::read(line),
        };
        match typed {
            // An empty line may be an answer: the default of a form.
            Typed::Nothing | Typed::Text(_) if is_asked => {
                let text = if let Typed::Text(text) = typed { text } else { String::new() };
                match self.asks.typed(&text) {
                    Heard::Again(rows) => {
                        for row in rows {
                            self.rows.extend(row.split('\n').map(str::to_owned));
                        }
                    }
                    Heard::Decided(ask, answer) => self.answer(ask, *answer),
                }
            }
            Typed::Nothing => {}
            Typed::Text(text) => self.steer(text, controls),
            Typed::Unknown(advice) => self.complain(&advice),
            Typed::Command { name, arguments } => {
                let is_free =
                    commands::of(name).is_some_and(|command| command.when == When::Always);
                if !is_free {
                    self.complain(
                        "not while a turn runs; wait for its end, or end it with /stop first",
                    );
                    return false;
                }
                return self.act_in_turn(name, &arguments, controls, facts).await;
            }
        }
        false
    }

    /// It is shown as said when the agent has written it down.
    fn steer(&mut self, text: String, controls: &Controls) {
        self.unheard.push_back(text.clone());
        controls.steering.say(text);
    }

    fn stop(&mut self, controls: &Controls) {
        controls.stop.cancel();
        self.hint = Some("stopping; Ctrl-C again leaves".to_owned());
    }

    fn answer(&mut self, ask: AskId, answer: ostler_server::api::AnswerRequest) {
        let house = Arc::clone(&self.house);
        self.answers.spawn(async move {
            let answered = house.answer(&ask, &answer).await;
            (ask, answered)
        });
    }

    fn answered(&mut self, answered: Result<(AskId, Result<(), String>), tokio::task::JoinError>) {
        match answered {
            Ok((_, Ok(()))) => {}
            Ok((ask, Err(why))) => {
                self.asks.refused(&ask);
                self.complain(&why);
            }
            Err(error) => self.complain(&format!("the answer may be lost: {error}")),
        }
    }

    fn hear(&mut self, inbox: &Inbox) {
        let (now, width) = (self.clock.elapsed(), self.width());
        for activity in inbox.take() {
            let rows = self.view.hear(&activity, now, width);
            self.rows.extend(rows);
            let rows = match &activity {
                Activity::Asked(ask) => self.asks.opened(ask),
                Activity::AskOver { ask, .. } => self.asks.over(ask),
                Activity::Steered(_) => {
                    self.unheard.pop_front();
                    Vec::new()
                }
                _ => Vec::new(),
            };
            self.rows.extend(rows);
        }
        self.set_aside();
    }

    /// What is half typed when a question comes waits until it is answered.
    fn set_aside(&mut self) {
        match (self.asks.question().is_some(), self.aside.take()) {
            (true, None) => self.aside = Some(self.editor.take()),
            (false, Some(text)) => self.editor.put_back(&text),
            (_, aside) => self.aside = aside,
        }
    }
}

/// Where the agent's words go, and how they get there.
fn inbox() -> (Arc<Inbox>, impl Fn(Activity) + Send + Sync) {
    let inbox = Arc::new(Inbox::default());
    let heard = Arc::clone(&inbox);
    (inbox, move |activity| heard.hear(activity))
}

#[cfg(test)]
mod tests;
