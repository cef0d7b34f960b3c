//! The slash commands: one table, of which help, completion, advice and the documentation are made.

use ostler_config::nearest;

/// What a command is about; the order of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Category {
    Turn,
    Conversation,
    Configuration,
    Learned,
    Chat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Steer,
    Stop,
    Approve,
    Deny,
    Reset,
    Resume,
    Compress,
    Usage,
    Model,
    Effort,
    CodexRuntime,
    Memory,
    Skills,
    Help,
    Quit,
}

/// Whether a command may be given while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Always,
    BetweenTurns,
}

pub(crate) struct Command {
    pub(crate) name: Name,
    /// Without its slash.
    pub(crate) word: &'static str,
    pub(crate) aliases: &'static [&'static str],
    /// What may stand behind it; empty if nothing.
    pub(crate) arguments: &'static str,
    pub(crate) help: &'static str,
    pub(crate) category: Category,
    pub(crate) when: When,
    /// Words that its argument can be, for completion.
    pub(crate) choices: &'static [&'static str],
}

/// What a typed line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    /// Nothing but spaces.
    Nothing,
    /// For the model.
    Text(String),
    Command {
        name: Name,
        arguments: String,
    },
    /// A slash and a word that is no command, with what to tell the person.
    Unknown(String),
}

/// Where the help of a command begins; a longer command has a line of its own.
const HELP_COLUMN: usize = 15;

const fn command(
    name: Name,
    word: &'static str,
    arguments: &'static str,
    help: &'static str,
    category: Category,
    when: When,
) -> Command {
    Command { name, word, aliases: &[], arguments, help, category, when, choices: &[] }
}

use Category::{Chat, Configuration, Conversation, Learned, Turn};
use When::{Always, BetweenTurns};

pub(crate) const COMMANDS: &[Command] = &[
    command(Name::Steer, "steer", "TEXT", "put TEXT into the turn that runs", Turn, Always),
    command(Name::Stop, "stop", "", "end the turn that runs, like Ctrl-C", Turn, Always),
    Command {
        choices: &["session", "always"],
        ..command(
            Name::Approve,
            "approve",
            "[session|always]",
            "yes to what is asked: once, for this session, or always",
            Turn,
            Always,
        )
    },
    command(
        Name::Deny,
        "deny",
        "[REASON]",
        "no to what is asked; the model is told why",
        Turn,
        Always,
    ),
    Command {
        aliases: &["new"],
        ..command(Name::Reset, "reset", "", "begin a new conversation", Conversation, BetweenTurns)
    },
    command(
        Name::Resume,
        "resume",
        "[ID]",
        "go on with another conversation; without ID, list them",
        Conversation,
        BetweenTurns,
    ),
    command(
        Name::Compress,
        "compress",
        "",
        "make older messages into a summary now",
        Conversation,
        BetweenTurns,
    ),
    command(
        Name::Usage,
        "usage",
        "",
        "tokens, calls, and how full the context is",
        Conversation,
        Always,
    ),
    command(
        Name::Model,
        "model",
        "[NAME]",
        "show the model and those that there are, or take another",
        Configuration,
        BetweenTurns,
    ),
    Command {
        choices: &["minimal", "low", "medium", "high", "xhigh", "default"],
        ..command(
            Name::Effort,
            "effort",
            "[WORD]",
            "show how hard the model thinks, or change it",
            Configuration,
            BetweenTurns,
        )
    },
    Command {
        aliases: &["codex_runtime"],
        choices: &["auto", "codex_app_server"],
        ..command(
            Name::CodexRuntime,
            "codex-runtime",
            "[auto|codex_app_server]",
            "show who runs turns, or let Codex run them",
            Configuration,
            Always,
        )
    },
    command(Name::Memory, "memory", "", "what is remembered", Learned, Always),
    Command {
        choices: &["pin", "unpin"],
        ..command(
            Name::Skills,
            "skills",
            "[pin|unpin NAME]",
            "the skills that were learned; the agent deletes no pinned one, and no review changes it",
            Learned,
            Always,
        )
    },
    command(Name::Help, "help", "[COMMAND]", "this list, or more about one command", Chat, Always),
    Command {
        aliases: &["exit"],
        ..command(Name::Quit, "quit", "", "leave, like Ctrl-D", Chat, Always)
    },
];

/// Reads a line. Two slashes at its beginning mean one, of a text.
pub(crate) fn read(line: &str) -> Typed {
    let text = line.trim();
    if text.is_empty() {
        return Typed::Nothing;
    }
    if let Some(rest) = text.strip_prefix("//") {
        return Typed::Text(format!("/{rest}"));
    }
    let Some(rest) = text.strip_prefix('/') else { return Typed::Text(text.to_owned()) };
    let (word, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match find(word) {
        Some(command) => {
            Typed::Command { name: command.name, arguments: arguments.trim().to_owned() }
        }
        None => Typed::Unknown(advice(word)),
    }
}

/// A command by its word or alias, in any case, with or without its slash.
pub(crate) fn find(word: &str) -> Option<&'static Command> {
    let word = word.trim_start_matches('/').to_lowercase();
    COMMANDS.iter().find(|command| command.words().any(|known| known == word))
}

pub(crate) fn of(name: Name) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

fn advice(word: &str) -> String {
    let words = COMMANDS.iter().flat_map(Command::words);
    match nearest(word, words) {
        Some(meant) => format!("there is no /{word}; did you mean /{meant}?"),
        None => format!(
            "there is no /{word}; /help lists the commands, and // begins a text with a slash"
        ),
    }
}

/// What can stand in place of a line that is being typed: whole lines, in the order of the table.
pub(crate) fn complete(line: &str) -> Vec<String> {
    let Some(rest) = line.strip_prefix('/') else { return Vec::new() };
    match rest.split_once(' ') {
        None => {
            let typed = rest.to_lowercase();
            let words = COMMANDS.iter().flat_map(|command| {
                let fits = |word: &&str| word.starts_with(&typed);
                // An alias only helps somebody who has begun to type it.
                let alias = command.aliases.iter().copied().filter(|_| !typed.is_empty());
                let word = Some(command.word).filter(fits).or_else(|| alias.clone().find(fits));
                word.map(|word| match command.arguments.is_empty() {
                    true => format!("/{word}"),
                    false => format!("/{word} "),
                })
            });
            words.collect()
        }
        Some((word, argument)) => {
            let choices: &[&str] = match find(word) {
                Some(command) if command.name == Name::Help => {
                    return COMMANDS
                        .iter()
                        .filter(|known| known.word.starts_with(argument.trim_start_matches('/')))
                        .map(|known| format!("/{word} {}", known.word))
                        .collect();
                }
                Some(command) => command.choices,
                None => &[],
            };
            let fits = choices.iter().filter(|choice| choice.starts_with(argument));
            fits.map(|choice| format!("/{word} {choice}")).collect()
        }
    }
}

/// The help: all commands by their category, or one.
pub(crate) fn help(about: Option<&Command>) -> String {
    if let Some(command) = about {
        let mut text = format!("{}\n  {}", command.usage(), command.help);
        if !command.aliases.is_empty() {
            let aliases: Vec<String> =
                command.aliases.iter().map(|alias| format!("/{alias}")).collect();
            text.push_str(&format!("\n  also {}", aliases.join(", ")));
        }
        if command.when == When::BetweenTurns {
            text.push_str("\n  not while a turn runs");
        }
        return text;
    }
    let mut text = String::new();
    for category in [Turn, Conversation, Configuration, Learned, Chat] {
        text.push_str(category.title());
        text.push('\n');
        for command in COMMANDS.iter().filter(|command| command.category == category) {
            let usage = command.usage();
            match usage.len() > HELP_COLUMN {
                true => text.push_str(&format!("  {usage}\n  {:HELP_COLUMN$}", "")),
                false => text.push_str(&format!("  {usage:HELP_COLUMN$}")),
            }
            text.push_str(&format!("  {}\n", command.help));
        }
    }
    text.push_str("While a turn runs, commands work at once and plain text steers it. // begins a text with a slash.\n");
    text.push_str("Alt-Enter or a \\ at the end begins another line. Ctrl-C ends the turn, again it leaves; so does Ctrl-D.");
    text
}

impl Command {
    /// With its slash and what may stand behind it.
    pub(crate) fn usage(&self) -> String {
        format!("/{} {}", self.word, self.arguments).trim_end().to_owned()
    }

    fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.word).chain(self.aliases.iter().copied())
    }
}

impl Category {
    fn title(self) -> &'static str {
        match self {
            Turn => "The turn",
            Conversation => "The conversation",
            Configuration => "Who answers",
            Learned => "What was learned",
            Chat => "Here",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_help_completion_and_documentation() {
        let manual =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/chat.md"))
                .unwrap();
        let help = help(None);
        let offered = complete("/");
        assert_eq!(offered.len(), COMMANDS.len());
        for command in COMMANDS {
            let usage = command.usage();
            assert!(
                help.lines().any(|line| line.trim_start().starts_with(&usage))
                    && help.contains(command.help),
                "{usage}"
            );
            let line = format!("/{}", command.word);
            assert!(offered.iter().any(|offer| offer.trim_end() == line), "{usage}");
            let row = format!("| `{}` | {} |", usage.replace('|', "\\|"), command.help);
            assert!(manual.contains(&row), "docs/chat.md lacks: {row}");
            for alias in command.aliases {
                assert!(manual.contains(&format!("`/{alias}`")), "docs/chat.md lacks /{alias}");
            }
        }
        let mut words: Vec<&str> = COMMANDS.iter().flat_map(Command::words).collect();
        words.sort_unstable();
        let count = words.len();
        words.dedup();
        assert_eq!(words.len(), count, "a word means two commands");
    }

    #[test]
    fn lines_are_commands_or_text() {
        let command =
            |name, arguments: &str| Typed::Command { name, arguments: arguments.to_owned() };
        let table = [
            ("  ", Typed::Nothing),
            (" hello ", Typed::Text("hello".to_owned())),
            ("//etc/hosts is empty", Typed::Text("/etc/hosts is empty".to_owned())),
            ("/STOP", command(Name::Stop, "")),
            ("/New", command(Name::Reset, "")),
            ("/codex_runtime  on ", command(Name::CodexRuntime, "on")),
            ("/deny too\nbold", command(Name::Deny, "too\nbold")),
            ("/modle x", Typed::Unknown("there is no /modle; did you mean /model?".to_owned())),
            (
                "/etc/hosts",
                Typed::Unknown(
                    "there is no /etc/hosts; /help lists the commands, and // begins a text with a slash"
                        .to_owned(),
                ),
            ),
        ];
        for (line, expected) in table {
            assert_eq!(read(line), expected, "{line:?}");
        }
    }

    #[test]
    fn lines_are_completed() {
        let table: [(&str, &[&str]); 8] = [
            ("/re", &["/reset", "/resume "]),
            ("/M", &["/model ", "/memory"]),
            ("/n", &["/new"]),
            ("/approve s", &["/approve session"]),
            ("/skills ", &["/skills pin", "/skills unpin"]),
            ("/codex-runtime ", &["/codex-runtime auto", "/codex-runtime codex_app_server"]),
            ("/help us", &["/help usage"]),
            ("plain", &[]),
        ];
        for (line, expected) in table {
            assert_eq!(complete(line), expected, "{line:?}");
        }
    }
}
