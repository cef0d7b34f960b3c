//! Yes or no, and for how long.

use std::borrow::Cow;

use ostler_model::Decision;
use ostler_model::decision::Remember;

use super::{Besides, Memory, Reading, key};
use crate::terminal::safe;

#[derive(Debug)]
pub(crate) struct Approval {
    choices: Vec<Choice>,
    besides: Besides,
}

#[derive(Debug)]
struct Choice {
    key: &'static str,
    words: String,
    decision: Decision,
}

impl Approval {
    /// Only what the question offers can be chosen.
    pub(super) fn new(offers: &[Decision], besides: Besides, memory: Memory) -> Self {
        let mut choices: Vec<Choice> = Vec::new();
        for decision in offers {
            let (keys, words): (&[&str], String) = match decision {
                Decision::Once => (&["y"], "yes, once".to_owned()),
                Decision::Session => (&["s"], "this session".to_owned()),
                Decision::Always(remember) => always(remember, memory),
                Decision::Deny => (&["n"], "no [why]".to_owned()),
                Decision::Cancel => (&["c"], "cancel turn".to_owned()),
                // They want data; the other dialogs give them.
                _ => continue,
            };
            let free = |key: &&&str| !choices.iter().any(|choice| choice.key == **key);
            if let Some(key) = keys.iter().find(free) {
                choices.push(Choice { key, words, decision: decision.clone() });
            }
        }
        Self { choices, besides }
    }

    /// What is remembered for longer has a line of its own, because it must be read.
    pub(super) fn question(&self) -> Vec<String> {
        let is_long = |choice: &&Choice| matches!(choice.decision, Decision::Always(_));
        let long = self.choices.iter().filter(is_long);
        let mut lines: Vec<String> = long.map(|choice| key(choice.key, &choice.words)).collect();
        let short = self.choices.iter().filter(|choice| !is_long(choice));
        let mut words: Vec<String> = short.map(|choice| key(choice.key, &choice.words)).collect();
        if self.besides.view {
            words.push(key("v", "view all"));
        }
        if self.besides.later {
            words.push(key("d", "later"));
        }
        lines.push(words.join("  "));
        lines
    }

    pub(super) fn read(&self, line: &str) -> Reading {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let word = word.to_lowercase();
        let rest = rest.trim();
        let letter = match word.as_str() {
            "yes" | "once" => "y",
            "session" => "s",
            "always" => "a",
            "no" | "deny" => "n",
            "cancel" => "c",
            "view" => "v",
            "later" => "d",
            other => other,
        };
        match letter {
            "v" if self.besides.view && rest.is_empty() => return Reading::View,
            "d" if self.besides.later && rest.is_empty() => return Reading::Later,
            _ => {}
        }
        match self.choices.iter().find(|choice| choice.key == letter) {
            Some(choice) if choice.decision == Decision::Deny => {
                let reason = (!rest.is_empty()).then(|| rest.to_owned());
                Reading::Decided { decision: Decision::Deny, reason }
            }
            Some(choice) if rest.is_empty() => Reading::decided(choice.decision.clone()),
            _ => Reading::Again(None),
        }
    }
}

/// The keys in order of preference, and what is remembered for how long.
fn always(remember: &Remember, memory: Memory) -> (&'static [&'static str], String) {
    let (keys, what): (&[&str], String) = match remember {
        Remember::CommandPrefix(words) => {
            let prefix = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            let text = format!("always: every command that begins with `{}`", safe(&prefix));
            (&["a", "b"], text)
        }
        Remember::Host { host, allowed: true } => {
            (&["h", "a"], format!("always: connections to {}", safe(host)))
        }
        Remember::Host { host, allowed: false } => {
            (&["x"], format!("never: connections to {}", safe(host)))
        }
        Remember::Tool => (&["a"], "always: this tool".to_owned()),
    };
    let until = match (memory, remember) {
        (Memory::Codex, Remember::Tool) => "until you change Codex's settings",
        (Memory::Codex, _) => "until you change Codex's rules",
        (Memory::Rule, _) => "in its folder and below, until you remove the rule (`ostler policy`)",
    };
    (keys, format!("{what}, {until}"))
}

/// A word as a shell would have to read it, so that one is not taken for several.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |it: char| it.is_alphanumeric() || "_-./=:@%+,".contains(it);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', "'\\''"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Besides = Besides { view: false, later: false };

    fn plain(approval: &Approval) -> Vec<String> {
        let strip = |line: &String| anstream::adapter::strip_str(line).to_string();
        approval.question().iter().map(strip).collect()
    }

    #[test]
    fn letters_and_words_are_read_and_nothing_else_counts_as_yes() {
        let all = [Decision::Once, Decision::Session, Decision::Deny, Decision::Cancel];
        let approval = Approval::new(&all, NOTHING, Memory::Codex);
        let decided = |line| match approval.read(line) {
            Reading::Decided { decision, reason: None } => Some(decision),
            _ => None,
        };
        assert_eq!(decided(" Y \n"), Some(Decision::Once));
        assert_eq!(decided("session"), Some(Decision::Session));
        assert_eq!(decided("no"), Some(Decision::Deny));
        assert_eq!(decided("c"), Some(Decision::Cancel));
        for line in ["", "yess", "ok", "y but only once", "v", "d", "a"] {
            assert_eq!(approval.read(line), Reading::Again(None), "{line}");
        }
    }

    #[test]
    fn a_refusal_may_say_why() {
        let approval = Approval::new(&[Decision::Once, Decision::Deny], NOTHING, Memory::Rule);
        let reason = Some("use the test database".to_owned());
        assert_eq!(
            approval.read("n use the test database "),
            Reading::Decided { decision: Decision::Deny, reason }
        );
    }

    #[test]
    fn only_what_the_ask_offers_can_be_chosen() {
        let approval = Approval::new(&[Decision::Once, Decision::Deny], NOTHING, Memory::Rule);
        assert_eq!(approval.read("s"), Reading::Again(None));
        assert_eq!(plain(&approval), ["[y] yes, once  [n] no [why]"]);
    }

    #[test]
    fn what_is_remembered_is_shown_before_it_is_chosen() {
        let prefix =
            Decision::Always(Remember::CommandPrefix(vec!["npm".into(), "it's all".into()]));
        let host = |allowed| Decision::Always(Remember::Host { host: "a.b".into(), allowed });
        let offers = [Decision::Once, prefix.clone(), host(true), host(false), Decision::Deny];
        let besides = Besides { view: true, later: true };
        let approval = Approval::new(&offers, besides, Memory::Codex);

        assert_eq!(
            plain(&approval),
            [
                "[a] always: every command that begins with `npm 'it'\\''s all'`, until you change Codex's rules",
                "[h] always: connections to a.b, until you change Codex's rules",
                "[x] never: connections to a.b, until you change Codex's rules",
                "[y] yes, once  [n] no [why]  [v] view all  [d] later",
            ]
        );
        assert_eq!(approval.read("a"), Reading::decided(prefix));
        assert_eq!(approval.read("x"), Reading::decided(host(false)));
        assert_eq!([approval.read("v"), approval.read("d")], [Reading::View, Reading::Later]);
    }

    #[test]
    fn what_the_daemon_remembers_is_said_to_be_a_rule_for_the_folder() {
        let host = Decision::Always(Remember::Host { host: "a.b".into(), allowed: false });
        let offers = [host, Decision::Always(Remember::Tool)];
        let rule = "in its folder and below, until you remove the rule (`ostler policy`)";
        assert_eq!(
            plain(&Approval::new(&offers, NOTHING, Memory::Rule))[..2],
            [
                format!("[x] never: connections to a.b, {rule}"),
                format!("[a] always: this tool, {rule}")
            ]
        );
        assert_eq!(
            plain(&Approval::new(&offers, NOTHING, Memory::Codex))[1],
            "[a] always: this tool, until you change Codex's settings"
        );
    }
}
