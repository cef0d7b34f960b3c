//! A rule in one sentence, for whoever is about to make it or looks what there is.

use super::matcher::Matcher;
use super::rule::{Effect, Rule, Scope};
use super::words::Words;
use crate::ask::{Permissions, Sandboxing};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

impl Rule {
    /// What is decided, where, and for how long, without a dot at the end.
    pub fn describe(&self) -> String {
        let verb = match self.effect {
            Effect::Allow => "allows",
            Effect::Deny => "refuses",
        };
        let what = self.matcher.describe(self.effect);
        let sandbox = match (&self.matcher, self.effect) {
            (Matcher::Command(_) | Matcher::CommandPrefix(_), Effect::Allow) => {
                reached(self.sandboxing)
            }
            _ => "",
        };
        let cwd = self
            .cwd
            .as_ref()
            .map(|folder| format!(", run in {} or below", visible(folder.as_str())));
        let scope = match &self.scope {
            Scope::Task(task) => format!("in task {}", visible(task.as_str())),
            Scope::Directory(folder) => format!("in {} and below", visible(folder.as_str())),
            Scope::Everywhere => "everywhere".to_owned(),
        };
        let time = match self.expires_at {
            Some(end) => format!("for {}", duration(end.saturating_sub(self.made_at))),
            None => "until somebody removes the rule".to_owned(),
        };
        format!("{verb} {what}{sandbox}{}, {scope}, {time}", cwd.unwrap_or_default())
    }
}

impl Matcher {
    fn describe(&self, effect: Effect) -> String {
        match (self, effect) {
            (Self::Command(words), Effect::Allow) => {
                format!("the command `{}` with exactly these words", line(words))
            }
            (Self::Command(words), Effect::Deny) => {
                format!("the command `{}`, and whatever could run it", line(words))
            }
            (Self::CommandPrefix(words), Effect::Allow) => {
                format!("every command that begins with `{}`", line(words))
            }
            (Self::CommandPrefix(words), Effect::Deny) => {
                format!(
                    "every command that begins with `{}`, and whatever could run one",
                    line(words)
                )
            }
            (Self::Host(pattern), _) => format!("connections to {pattern}"),
            (Self::Tool { server, tool }, _) => {
                format!(
                    "calls of the tool {} of the MCP server {} with any arguments",
                    visible(tool),
                    visible(server)
                )
            }
            (Self::FilesBelow(folder), _) => {
                format!("changes of files in {} and below", visible(folder.as_str()))
            }
            (Self::Permissions(permissions), _) => {
                format!("a wider sandbox: {}", rights(permissions))
            }
        }
    }
}

/// Where a command may run that a rule allows.
fn reached(sandboxing: Sandboxing) -> &'static str {
    match sandboxing {
        Sandboxing::Inside => ", in the sandbox",
        Sandboxing::InsideFirst => {
            ", in the sandbox (what the sandbox stops, Codex may run again outside without asking)"
        }
        Sandboxing::Outside | Sandboxing::Unknown => ", in or outside of the sandbox",
    }
}

/// The words as a shell would take them, so that one sees where each ends.
fn line(words: &Words) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:,@%+=".contains(letter);
    let shown = words.as_slice().iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", visible(word))
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// Without anything that could hide or fake a part of the sentence.
fn visible(text: &str) -> String {
    text.escape_debug().to_string()
}

fn rights(permissions: &Permissions) -> String {
    let Permissions { network, read, write, rules } = permissions;
    let list = |verb: &str, texts: &[String]| {
        let texts: Vec<_> = texts.iter().map(|text| visible(text)).collect();
        (!texts.is_empty()).then(|| format!("{verb} {}", texts.join(", ")))
    };
    let network = (*network == Some(true)).then(|| "use the network".to_owned());
    let parts = [network, list("read", read), list("write", write), list("also", rules)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// In the largest unit that says it exactly, or nearly.
fn duration(ms: i64) -> String {
    let (count, unit) = match ms {
        _ if ms >= 2 * DAY => (ms / DAY, "day"),
        _ if ms >= 2 * HOUR => (ms / HOUR, "hour"),
        _ if ms >= 2 * MINUTE => (ms / MINUTE, "minute"),
        _ => (ms.max(0) / SECOND, "second"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}
