//! A step in one line, for terminals and pages.

use ostler_model::item::{Item, ItemBody, Outcome};

use super::{cut, parts, tool};

/// Characters of a preview; after the original, whose lines fit a chat window with it.
const LONGEST: usize = 120;

/// Paths that are named before the rest is counted.
const PATHS: usize = 3;

/// What a list of steps shows of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The name under which the step is projected.
    pub name: String,
    pub text: String,
    /// Only meaningful once the step is over.
    pub is_error: bool,
    pub duration_ms: Option<u64>,
}

/// The preview of a step in which something was done; none for what is only said.
pub fn preview(item: &Item) -> Option<Preview> {
    match &item.body {
        ItemBody::Command(command) => Some(Preview {
            name: "exec_command".to_owned(),
            text: cut::line(&tool::script(&command.command), LONGEST),
            is_error: command.exit_code.is_some_and(|code| code != 0)
                || went_wrong(&command.outcome),
            duration_ms: command.duration_ms,
        }),
        ItemBody::FileChange(change) => {
            let paths = change.files.iter().map(|file| cut::line(&file.path, LONGEST));
            let mut shown: Vec<_> = paths.take(PATHS).collect();
            let more = change.files.len().saturating_sub(PATHS);
            shown.extend((more > 0).then(|| format!("+{more} more")));
            Some(Preview {
                name: "apply_patch".to_owned(),
                text: shown.join(", "),
                is_error: went_wrong(&change.outcome),
                duration_ms: None,
            })
        }
        ItemBody::ToolCall(call) => Some(Preview {
            name: parts::tool_name(call),
            text: cut::line(&tool::call_arguments(call), LONGEST),
            is_error: call.error.is_some()
                || call.succeeded == Some(false)
                || went_wrong(&call.outcome),
            duration_ms: call.duration_ms,
        }),
        ItemBody::WebSearch { query, detail } => {
            let text = if query.is_empty() { detail.as_deref().unwrap_or_default() } else { query };
            Some(Preview {
                name: "web_search".to_owned(),
                text: cut::line(text, LONGEST),
                is_error: false,
                duration_ms: None,
            })
        }
        _ => None,
    }
}

fn went_wrong(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Running | Outcome::Succeeded | Outcome::Unknown => false,
        Outcome::Failed | Outcome::Declined | Outcome::Interrupted => true,
        // Words of other versions for a change that was made.
        Outcome::Other(word) => !matches!(word.as_str(), "applied" | "success"),
    }
}

#[cfg(test)]
mod tests {
    use ostler_model::ask::{FileChangeKind, FileDiff};
    use ostler_model::item::{Command, FileChange, Outcome, ToolCall, ToolPlace};
    use ostler_model::{Item, ItemBody};

    use super::{Preview, preview};

    fn of(body: ItemBody) -> Option<Preview> {
        preview(&Item { id: "i".into(), body })
    }

    fn shown(name: &str, text: &str, is_error: bool, duration_ms: Option<u64>) -> Option<Preview> {
        Some(Preview { name: name.to_owned(), text: text.to_owned(), is_error, duration_ms })
    }

    #[test]
    fn a_command_shows_its_first_characters_and_an_exit_code_is_an_error() {
        let command = Command {
            command: format!("/bin/bash -lc 'a\nb {}'", "x".repeat(200)),
            exit_code: Some(1),
            duration_ms: Some(7),
            ..Command::default()
        };
        let text = format!("a b {}", "x".repeat(116));

        assert_eq!(of(ItemBody::Command(command)), shown("exec_command", &text, true, Some(7)));
    }

    #[test]
    fn a_patch_names_three_files_and_counts_the_rest() {
        let file = |path: &str| FileDiff {
            path: path.to_owned(),
            change: FileChangeKind::Add,
            diff: String::new(),
        };
        let patch = |paths: &[&str], outcome| {
            let files = paths.iter().map(|path| file(path)).collect();
            of(ItemBody::FileChange(FileChange { files, outcome }))
        };

        let three = patch(&["a", "b", "c"], Outcome::Succeeded);
        let five = patch(&["a", "b", "c", "d", "e"], Outcome::Declined);
        let old_word = patch(&["a"], Outcome::Other("applied".to_owned()));

        assert_eq!(three, shown("apply_patch", "a, b, c", false, None));
        assert_eq!(five, shown("apply_patch", "a, b, c, +2 more", true, None));
        assert_eq!(old_word, shown("apply_patch", "a", false, None));
    }

    #[test]
    fn a_tool_shows_its_arguments_and_both_kinds_of_failure_are_errors() {
        let call = |place, error: Option<&str>, succeeded| {
            of(ItemBody::ToolCall(ToolCall {
                place,
                tool: "t".to_owned(),
                arguments: Some(r#"{"b":1,"a":"x"}"#.to_owned()),
                result: None,
                error: error.map(str::to_owned),
                succeeded,
                duration_ms: None,
                outcome: Outcome::Succeeded,
            }))
        };
        let mcp = || ToolPlace::Mcp { server: "s".to_owned() };
        let text = r#"{"a": "x", "b": 1}"#;

        assert_eq!(call(mcp(), None, None), shown("mcp.s.t", text, false, None));
        assert_eq!(call(mcp(), Some("no"), None), shown("mcp.s.t", text, true, None));
        let client = ToolPlace::Client { namespace: None };
        assert_eq!(call(client, None, Some(false)), shown("t", text, true, None));
    }

    #[test]
    fn a_search_shows_its_query_and_words_show_nothing() {
        let search = ItemBody::WebSearch { query: "rust".to_owned(), detail: None };

        assert_eq!(of(search), shown("web_search", "rust", false, None));
        assert_eq!(of(ItemBody::Compaction), None);
    }
}
