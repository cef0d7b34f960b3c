//! What each slash command does.

use std::io::Write;
use std::sync::Arc;

use ostler_agent::Controls;
use ostler_agent::runtime::{self, Asked, Turn};

use super::super::asks::Yes;
use super::super::commands::{self, Name};
use super::super::session::{ConversationShown, Session, UserInput, Which, Work};
use super::super::view::plain;
use super::{Driven, Next, Person, Talk, inbox};
use crate::tasks::time;

/// Conversations that are listed; of more, the ids can be had by `ostler chat --list`.
const LISTED: usize = 10;

/// What can be asked for while the session belongs to a turn: as it was when the turn began.
pub(super) struct Facts {
    memory: String,
    skills: String,
}

impl Facts {
    pub(super) fn of(session: &dyn Session) -> Self {
        Self { memory: session.memory_shown(), skills: session.skills_shown() }
    }
}

impl<W: Write> Talk<W> {
    /// Between turns.
    pub(super) async fn act(&mut self, name: Name, arguments: &str, person: &mut Person) -> Next {
        match name {
            Name::Quit => return Next::Leave,
            Name::Steer => self.complain("no turn runs; say it without /steer"),
            Name::Stop => self.complain("no turn runs"),
            Name::Approve | Name::Deny => self.complain("nothing is asked"),
            Name::Skills if !arguments.is_empty() => self.pin(arguments),
            Name::Usage | Name::Help | Name::Memory | Name::Skills => {
                let facts = self.session.as_deref().map(Facts::of);
                self.inform(name, arguments, facts.as_ref());
            }
            Name::CodexRuntime => self.switch_runtime(arguments, Turn::None).await,
            Name::Reset => self.open(Which::New).await,
            Name::Resume if arguments.is_empty() => self.list().await,
            Name::Resume => self.open(which(arguments)).await,
            Name::Compress => return self.compress(person).await,
            Name::Model if arguments.is_empty() => return self.list_models(person).await,
            Name::Model => self.set_model(arguments),
            Name::Effort => self.set_effort(arguments),
        }
        Next::Stay
    }

    /// While a turn runs. Whether the person leaves.
    pub(super) async fn act_in_turn(
        &mut self,
        name: Name,
        arguments: &str,
        controls: &Controls,
        facts: &Facts,
    ) -> bool {
        match name {
            Name::Quit => return true,
            Name::Stop => self.stop(controls),
            Name::Steer if arguments.is_empty() => {
                self.complain("say what the turn is to know: /steer TEXT");
            }
            Name::Steer => self.steer(arguments.to_owned(), controls),
            Name::Approve => self.approve(arguments),
            Name::Deny => match self.asks.deny(arguments) {
                Ok((ask, answer)) => self.answer(ask, answer),
                Err(why) => self.complain(&why),
            },
            // The skills belong to the turn until it is over.
            Name::Skills if !arguments.is_empty() => {
                self.complain("not while a turn runs; /skills alone lists them");
            }
            Name::Usage | Name::Help | Name::Memory | Name::Skills => {
                self.inform(name, arguments, Some(facts));
            }
            Name::CodexRuntime => self.switch_runtime(arguments, Turn::Runs).await,
            // The table does not let them through.
            Name::Reset | Name::Resume | Name::Compress | Name::Model | Name::Effort => {}
        }
        false
    }

    fn approve(&mut self, arguments: &str) {
        let yes = match arguments.to_lowercase().as_str() {
            "" | "once" => Yes::Once,
            "session" => Yes::Session,
            "always" => Yes::Always,
            _ => return self.complain("say /approve, /approve session or /approve always"),
        };
        match self.asks.approve(yes) {
            Ok((ask, answer)) => self.answer(ask, answer),
            Err(why) => self.complain(&why),
        }
    }

    fn inform(&mut self, name: Name, arguments: &str, facts: Option<&Facts>) {
        let text = match name {
            Name::Usage => self.view.usage(),
            Name::Memory => facts.map(|facts| facts.memory.clone()).unwrap_or_default(),
            Name::Skills => facts.map(|facts| facts.skills.clone()).unwrap_or_default(),
            _ if arguments.is_empty() => commands::help(None),
            _ => match commands::find(arguments) {
                Some(command) => commands::help(Some(command)),
                None => {
                    return self
                        .complain(&format!("there is no /{arguments}; /help lists the commands"));
                }
            },
        };
        let text = if text.trim().is_empty() { "there is nothing yet".to_owned() } else { text };
        self.say(&text);
    }

    fn pin(&mut self, arguments: &str) {
        let Some(session) = &mut self.session else { return };
        let (word, name) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
        let name = name.trim();
        let (done, told) = match word.to_lowercase().as_str() {
            "pin" if !name.is_empty() => (session.pin_skill(name), "is pinned"),
            "unpin" if !name.is_empty() => (session.unpin_skill(name), "is not pinned"),
            _ => return self.complain("say /skills, /skills pin NAME or /skills unpin NAME"),
        };
        match done {
            Ok(()) => self.note(&format!("{name} {told}")),
            Err(why) => self.complain(&why),
        }
    }

    async fn switch_runtime(&mut self, arguments: &str, turn: Turn) {
        let asked = match runtime::parse(arguments) {
            Ok(asked) => asked,
            Err(error) => return self.complain(&error.to_string()),
        };
        let house = Arc::clone(&self.house);
        let switch = house.switch(asked, turn).await;
        if !switch.success {
            return self.complain(&switch.message);
        }
        self.say(&switch.message);
        if matches!(asked, Asked::Set(_)) {
            // The settings say it now, also to the next session of this chat.
            (self.opening.runtime, self.fresh.runtime) = (None, None);
        }
        let Some(session) = self.session.as_mut().filter(|_| matches!(asked, Asked::Set(_))) else {
            return;
        };
        // Also where the file said so already and this chat was begun with another.
        if let Err(why) = session.set_runtime(switch.new).await {
            return self.complain(&why);
        }
        let manner = session.manner();
        self.view.set_manner(manner);
        if switch.requires_new_session {
            self.note("this conversation goes on with it; /reset begins another");
        }
    }

    async fn open(&mut self, which: Which) {
        let current = self.session.as_ref().map(|session| session.conversation().id);
        if let (Which::Resume(id), Some(current)) = (&which, &current)
            && current.starts_with(id.as_str())
        {
            return self.note("this is that conversation");
        }
        let house = Arc::clone(&self.house);
        let opening = match &which {
            Which::New => self.fresh.clone(),
            // Another conversation has its own model and effort.
            Which::Resume(_) | Which::Last => self.opening.clone(),
        };
        match house.open(which, &opening).await {
            Err(failure) => {
                let hint = failure.hint.map_or_else(String::new, |hint| format!("; {hint}"));
                self.complain(&format!("{}{hint}", failure.message));
            }
            Ok(session) => {
                self.view.begin_anew(session.manner(), session.usage());
                if let Some(old) = self.session.replace(session) {
                    self.closing.spawn(old.close());
                }
                self.gap();
                self.banner();
            }
        }
    }

    async fn list(&mut self) {
        let house = Arc::clone(&self.house);
        match house.list().await {
            Err(failure) => self.complain(&failure.message),
            Ok(found) if found.is_empty() => self.note("there is no conversation yet"),
            Ok(found) => {
                let now = time::now();
                let lines: Vec<String> =
                    found.iter().take(LISTED).map(|conversation| line(conversation, now)).collect();
                self.say(&lines.join("\n"));
                self.note("/resume ID goes on with one of them; its first letters are enough");
            }
        }
    }

    /// Under the eyes of the person, who may stop it or leave.
    async fn compress(&mut self, person: &mut Person) -> Next {
        self.note("making a summary of older messages; Ctrl-C stops it");
        let Some(mut session) = self.session.take() else { return Next::Leave };
        let (inbox, hear) = inbox();
        let (controls, facts) = (Controls::default(), Facts::of(&*session));
        let work = session.compress(&controls, &hear);
        let driven = self.drive(work, &inbox, &controls, &facts, person).await;
        self.view.begin_anew(session.manner(), session.usage());
        self.session = Some(session);
        self.hint = None;
        match driven {
            Driven::Left => return Next::Leave,
            Driven::Done(Ok(text)) => self.note(&text),
            Driven::Done(Err(why)) => self.complain(&why),
        }
        self.said_meanwhile(&controls)
    }

    fn set_model(&mut self, model: &str) {
        let Some(session) = &mut self.session else { return };
        session.set_model(model.to_owned());
        self.fresh.model = Some(model.to_owned());
        let manner = session.manner();
        self.view.set_manner(manner);
        self.note(&format!("model: {model}"));
    }

    /// The one that holds, and those that there are.
    async fn list_models(&mut self, person: &mut Person) -> Next {
        let Some(session) = &self.session else { return Next::Leave };
        let (facts, chosen) = (Facts::of(&**session), session.manner().model);
        let (listing, controls) = (session.models(), Controls::default());
        self.note(&format!("model: {}", chosen.as_deref().unwrap_or("Codex's own choice")));
        let stop = controls.stop.clone();
        let work: Work<'_, _> = Box::pin(async move {
            tokio::select! {
                found = listing => found,
                () = stop.cancelled() => Err("stopped".to_owned()),
            }
        });
        let (inbox, _) = inbox();
        let driven = self.drive(work, &inbox, &controls, &facts, person).await;
        self.hint = None;
        match driven {
            Driven::Left => return Next::Leave,
            Driven::Done(Ok(models)) => self.say(&models.join("\n")),
            Driven::Done(Err(why)) => self.note(&format!("the models cannot be listed: {why}")),
        }
        self.said_meanwhile(&controls)
    }

    /// What was typed meanwhile was meant for the agent.
    fn said_meanwhile(&mut self, controls: &Controls) -> Next {
        match controls.steering.take().join("\n") {
            said if said.is_empty() => Next::Stay,
            text => Next::Say(UserInput { text, images: Vec::new() }),
        }
    }

    fn set_effort(&mut self, effort: &str) {
        let Some(session) = &mut self.session else { return };
        if !effort.is_empty() {
            let effort = Some(effort).filter(|effort| *effort != "default").map(str::to_owned);
            session.set_effort(effort.clone());
            self.fresh.effort = effort;
        }
        let manner = session.manner();
        let text =
            format!("effort: {}", manner.effort.as_deref().unwrap_or("the model's own choice"));
        self.view.set_manner(manner);
        self.note(&text);
    }

    /// Several lines as they are.
    fn say(&mut self, text: &str) {
        let width = self.width();
        self.rows.extend(plain(text, width));
    }
}

/// What stands behind `--resume` and `/resume`.
pub(crate) fn which(word: &str) -> Which {
    match word.to_lowercase().as_str() {
        "last" => Which::Last,
        _ => Which::Resume(word.to_owned()),
    }
}

fn line(conversation: &ConversationShown, now: i64) -> String {
    let title = conversation.title.as_deref().unwrap_or("without a title").replace('\n', " ");
    let ago = time::ago(conversation.updated_at, now);
    format!("{}  {ago:>8}  {:>4} messages  {title}", conversation.id, conversation.messages)
}
