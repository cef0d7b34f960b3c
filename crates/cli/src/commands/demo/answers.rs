//! Who answers Codex's questions in the demo: the person at the terminal, or the demo itself.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};
use ostler_model::{Ask, Decision};
use tokio::sync::mpsc;

use crate::conversation::Screen;
use crate::terminal::typed;

pub(super) enum Answers {
    Person {
        /// Lines typed at the terminal. One that nobody waits for is thrown away before the next question.
        lines: mpsc::Receiver<String>,
    },
    Always(&'static str),
}

impl Answers {
    pub(super) fn choose(yes: bool, screen: &mut Screen) -> Self {
        if yes {
            return Self::Always("--yes");
        }
        if !std::io::stdin().is_terminal() || screen.is_json() {
            screen.step(
                "no terminal to ask on: the demo answers its own questions, as with --yes"
                    .to_owned(),
            );
            return Self::Always("no terminal");
        }
        Self::Person { lines: typed::lines() }
    }

    /// The decision and who made it. An answer that is no choice is asked for again; the end of input denies.
    pub(super) async fn decide(&mut self, ask: &Ask, screen: &mut Screen) -> (Decision, String) {
        let lines = match self {
            Self::Always(who) => return (Decision::Once, (*who).to_owned()),
            Self::Person { lines } => lines,
        };
        while lines.try_recv().is_ok() {}
        loop {
            screen.prompt(&question(ask));
            let Some(line) = lines.recv().await else {
                return (Decision::Deny, "end of input".to_owned());
            };
            if let Some(decision) = read(&line, ask) {
                return (decision, "you".to_owned());
            }
        }
    }
}

/// The words and letters of each choice that the demo offers.
const CHOICES: [(&str, &str, Decision); 4] = [
    ("y", "yes, once", Decision::Once),
    ("s", "yes, this session", Decision::Session),
    ("n", "no", Decision::Deny),
    ("c", "cancel the turn", Decision::Cancel),
];

fn question(ask: &Ask) -> String {
    let (bar, bold) = (Style::new().fg_color(Some(AnsiColor::Yellow.into())), Style::new().bold());
    let offered = CHOICES.iter().filter(|(_, _, decision)| ask.takes(decision));
    let words: Vec<_> =
        offered.map(|(key, words, _)| format!("{bold}[{key}]{bold:#} {words}")).collect();
    format!("{bar}▌{bar:#} {} › ", words.join("  "))
}

fn read(line: &str, ask: &Ask) -> Option<Decision> {
    let word = line.trim().to_lowercase();
    let key = match word.as_str() {
        "yes" | "once" => "y",
        "session" => "s",
        "no" | "deny" => "n",
        "cancel" => "c",
        other => other,
    };
    let found = CHOICES.iter().find(|(letter, _, _)| *letter == key);
    found.map(|(_, _, decision)| decision.clone()).filter(|decision| ask.takes(decision))
}

#[cfg(test)]
mod tests {
    use ostler_model::AskKind;
    use ostler_model::ask::CommandAsk;

    use super::*;

    fn ask(offers: &[Decision]) -> Ask {
        Ask {
            thread: None,
            turn: None,
            item: None,
            reason: None,
            kind: AskKind::Command(CommandAsk::default()),
            offers: offers.to_vec(),
        }
    }

    #[test]
    fn letters_and_words_are_read_and_nothing_else_counts_as_yes() {
        let all = ask(&[Decision::Once, Decision::Session, Decision::Deny, Decision::Cancel]);
        let read = |line| read(line, &all);
        assert_eq!(read(" Y \n"), Some(Decision::Once));
        assert_eq!(read("session"), Some(Decision::Session));
        assert_eq!(read("no"), Some(Decision::Deny));
        assert_eq!(read("c"), Some(Decision::Cancel));
        assert_eq!([read(""), read("yess"), read("ok")], [None, None, None]);
    }

    #[test]
    fn only_what_the_ask_offers_can_be_chosen() {
        let ask = ask(&[Decision::Once, Decision::Deny]);
        assert_eq!(read("s", &ask), None);
        let shown = anstream::adapter::strip_str(&question(&ask)).to_string();
        assert_eq!(shown, "▌ [y] yes, once  [n] no › ");
    }
}
