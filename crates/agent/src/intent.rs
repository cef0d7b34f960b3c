//! Answers that only say what would be done next. Some models end their turn with "I'll look at the tests first" and call no tool;
//! whoever takes that for an answer leaves the user with a promise.

/// Longer texts say more than an intention, even if they begin with one.
const MOST_CHARACTERS: usize = 1200;

const BEGINNINGS: [&str; 12] = [
    "i'll ",
    "i will ",
    "let me ",
    "i'm going to ",
    "i am going to ",
    "next, i'll ",
    "first, i'll ",
    "now i'll ",
    "now let me ",
    "first i'll ",
    "i need to ",
    "going to ",
];

const ACTIONS: [&str; 16] = [
    "look",
    "check",
    "read",
    "inspect",
    "search",
    "find",
    "open",
    "run",
    "explore",
    "examine",
    "review",
    "scan",
    "list",
    "start by",
    "investigate",
    "grep",
];

const PLACES: [&str; 14] = [
    "file",
    "folder",
    "director",
    "repo",
    "code",
    "project",
    "test",
    "workspace",
    "log",
    "config",
    "source",
    "module",
    "function",
    "script",
];

/// Whether a text without tool calls only announces work in the workspace.
pub(crate) fn only_announces(text: &str) -> bool {
    let text = text.trim().to_lowercase().replace('’', "'");
    if text.is_empty() || text.chars().count() > MOST_CHARACTERS || text.ends_with('?') {
        return false;
    }
    // What has a result to show is an answer, whatever it begins with.
    if text.contains("```") {
        return false;
    }
    let begins = |sentence: &str| {
        let sentence = sentence.trim_start();
        BEGINNINGS.iter().any(|beginning| sentence.starts_with(beginning))
    };
    let Some(last) = text.split(['.', '\n', '!', ':']).map(str::trim).rfind(|it| !it.is_empty())
    else {
        return false;
    };
    begins(last)
        && ACTIONS.iter().any(|action| last.contains(action))
        && PLACES.iter().any(|place| last.contains(place))
}

#[cfg(test)]
mod tests {
    use super::only_announces;

    #[test]
    fn a_promise_is_told_from_an_answer() {
        let promises = [
            "I'll look at the test files first.",
            "Sure! Let me check the project's configuration.",
            "I’ll inspect the repository structure",
            "Good question. I will search the code for it:",
        ];
        let answers = [
            "",
            "The tests are in tests/e2e.",
            "I'll be here if you need me.",
            "Shall I look at the test files?",
            "I'll read the file. It says: the horse is fed.",
            "I'll run the tests:\n```\nok\n```",
            "Let me know if the config works.",
        ];
        for text in promises {
            assert!(only_announces(text), "{text}");
        }
        for text in answers {
            assert!(!only_announces(text), "{text}");
        }
    }
}
