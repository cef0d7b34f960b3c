//! Texts that Codex puts before the model in a person's name.

use ostler_model::item::Command;

use super::exec;

/// How such a text begins. 0.130 to 0.169 write the tags; the heading is how instructions of a project come.
const BEGINNINGS: [&str; 18] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<user_action>",
    "<user_shell_command>",
    "<skill>",
    "<skills_instructions>",
    "<subagent_notification>",
    "<collaboration_mode>",
    "<model_switch>",
    "<hook_prompt",
    "<goal_context>",
    "<codex_internal_context",
    "<plugins_instructions>",
    "<apps_instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions for ",
];

pub(super) fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

/// A person's own command, which older versions record only as the text that tells the model of it.
pub(super) fn own_command(text: &str) -> Option<Command> {
    let inside = text.trim().strip_prefix("<user_shell_command>\n<command>\n")?;
    let (script, rest) = inside.split_once("\n</command>\n<result>\n")?;
    let (head, output) = rest.split_once("\nOutput:\n")?;
    let output = output.strip_suffix("\n</result>\n</user_shell_command>")?;
    let code = head.lines().find_map(|line| line.strip_prefix("Exit code: "));
    let words = ["bash", "-lc", script].map(str::to_owned);
    Some(Command {
        command: exec::join(&words),
        output: output.to_owned(),
        exit_code: code.and_then(|code| code.parse().ok()),
        by_user: true,
        ..Command::default()
    })
}

#[cfg(test)]
mod tests {
    use super::{is_injected, own_command};

    #[test]
    fn what_codex_says_in_a_persons_name_is_told_from_what_they_said() {
        assert!(is_injected("<environment_context>\n  <cwd>/w</cwd>"));
        assert!(is_injected("<codex_internal_context source=\"goal\">\nContinue"));
        assert!(is_injected("\n<turn_aborted>\nx\n</turn_aborted>"));
        assert!(!is_injected("look at <environment_context>"));
        assert!(!is_injected("<b>bold</b>"));
    }

    #[test]
    fn a_persons_own_command_is_read_from_its_text() {
        let text = "<user_shell_command>\n<command>\necho mine\n</command>\n<result>\nExit code: 2\nDuration: 0.0152 seconds\nOutput:\nmine\n\n</result>\n</user_shell_command>";

        let command = own_command(text).unwrap();

        assert_eq!(
            (command.command.as_str(), command.output.as_str(), command.exit_code, command.by_user),
            ("bash -lc 'echo mine'", "mine\n", Some(2), true)
        );
    }
}
