use super::*;

fn plain(all: &[Shown]) -> String {
    let mut writer = Writer::default();
    let text: String = all.iter().map(|shown| writer.render(&Line::from(shown.clone()))).collect();
    anstream::adapter::strip_str(&text).to_string()
}

fn text(item: &str, delta: &str) -> Shown {
    Shown::Text { item: item.into(), delta: delta.into() }
}

fn text_done(item: &str, text: &str, how: &str) -> Shown {
    Shown::TextDone {
        item: item.into(),
        text: text.into(),
        phase: "unmarked".into(),
        how: how.into(),
    }
}

fn command(item: &str, command: &str) -> Shown {
    Shown::Command { item: item.into(), command: command.into(), cwd: None }
}

fn output(item: &str, delta: &str) -> Shown {
    Shown::Output { item: item.into(), delta: delta.into() }
}

fn done(item: &str, command: &str, status: &str, exit_code: Option<i64>, output: &str) -> Shown {
    Shown::CommandDone {
        item: item.into(),
        command: command.into(),
        status: status.into(),
        exit_code,
        duration_ms: exit_code.map(|_| 3),
        output: output.into(),
    }
}

#[test]
fn pieces_of_one_message_stand_on_one_line_and_are_not_repeated() {
    let shown = plain(&[
        text("a", "I will "),
        text("a", "look."),
        text_done("a", "I will look.", "completed"),
        text_done("b", "Two\nlines", "completed"),
    ]);
    assert_eq!(shown, "codex  I will look.\ncodex  Two\n       lines\n");
}

#[test]
fn thinking_and_text_are_lines_of_their_own() {
    let shown = plain(&[
        Shown::Thinking { item: "r".into(), delta: "Hm".into() },
        Shown::Thinking { item: "r".into(), delta: "m.".into() },
        Shown::ThinkingDone { item: "r".into(), text: "Hmm.".into() },
        text("a", "Yes."),
    ]);
    assert_eq!(shown, "codex  Hmm.\ncodex  Yes.");
}

#[test]
fn an_answer_that_broke_off_is_marked() {
    let shown =
        plain(&[text("a", "Half"), text_done("a", "Half", "superseded"), text("b", "Whole")]);
    assert_eq!(
        shown,
        "codex  Half\n       (broke off; Codex begins this answer again)\ncodex  Whole"
    );
}

#[test]
fn a_declined_command_does_not_look_like_a_success() {
    assert_eq!(plain(&[done("c", "rm x", "declined", None, "")]), "$ rm x  declined\n");
}

#[test]
fn output_is_shown_while_it_comes_and_not_again_at_the_end() {
    let shown = plain(&[
        command("c", "make"),
        output("c", "one\ntw"),
        output("c", "o\nthree"),
        done("c", "make", "completed", Some(0), "one\ntwo\nthree"),
    ]);
    assert_eq!(shown, "$ make\n│ one\n│ two\n│ three\n└ ok, 3 ms\n");
}

#[test]
fn the_beginning_that_codex_did_not_send_is_shown_at_the_end() {
    let shown = plain(&[
        command("c", "make"),
        output("c", "two\n"),
        done("c", "make", "completed", Some(0), "one\ntwo\n"),
    ]);
    assert_eq!(shown, "$ make\n│ two\n│ and before all that:\n│ one\n└ ok, 3 ms\n");
}

#[test]
fn outputs_of_two_commands_are_told_apart() {
    let shown = plain(&[
        command("a", "make"),
        command("b", "lint"),
        output("a", "one\n"),
        output("b", "two\n"),
        output("a", "three\n"),
        done("b", "lint", "failed", Some(2), "two\n"),
        done("a", "make", "completed", Some(0), "one\nthree\n"),
    ]);
    assert_eq!(
        shown,
        "$ make\n│ one\n$ lint\n│ two\n│ from make\n│ three\n│ from lint\n└ exit 2, 3 ms\n│ from make\n└ ok, 3 ms\n"
    );
}

#[test]
fn long_output_is_cut_and_counted_live_and_at_the_end() {
    let lines: String = (0..25).map(|number| format!("{number}\n")).collect();
    let live = plain(&[
        command("c", "seq 25"),
        output("c", &lines),
        done("c", "seq 25", "completed", Some(0), &lines),
    ]);
    let at_end = plain(&[done("c", "seq 25", "completed", Some(0), &lines)]);

    assert!(live.starts_with("$ seq 25\n│ 0\n"), "{live}");
    assert!(live.ends_with("│ 19\n│ … 5 more lines\n└ ok, 3 ms\n"), "{live}");
    assert_eq!(live, at_end);
}

#[test]
fn colours_of_a_program_are_dropped_and_a_line_written_over_shows_its_last_state() {
    let shown = plain(&[done(
        "c",
        "make",
        "completed",
        Some(0),
        "\u{1b}[32mok\u{1b}[0m\r\n 10 %\r 100 %\n\u{7}bell",
    )]);
    assert_eq!(shown, "$ make\n│ ok\n│  100 %\n│ bell\n└ ok, 3 ms\n");
}

#[test]
fn a_plan_is_a_checklist_that_is_shown_when_it_changes() {
    let step = |text: &str, status: &str| StepShown { text: text.into(), status: status.into() };
    let plan = |steps: Vec<StepShown>| Shown::Plan { explanation: None, steps, percent: None };
    let first = plan(vec![step("look", "in_progress"), step("mend", "pending")]);
    let then = plan(vec![step("look", "completed"), step("mend", "in_progress")]);

    let shown = plain(&[first.clone(), first, then]);

    assert_eq!(shown, "plan   ▸ look\n       ☐ mend\nplan   ✔ look\n       ▸ mend\n");
}

#[test]
fn what_a_sub_agent_says_carries_its_name() {
    let agent = Some(super::super::shown::AgentShown {
        thread: "t".into(),
        name: Some("Ada".into()),
        role: None,
    });
    let mut writer = Writer::default();
    let lines = [text("a", "Mine."), done("c", "ls", "completed", Some(0), "")];
    let text: String =
        lines.map(|shown| writer.render(&Line { agent: agent.clone(), shown })).concat();
    assert_eq!(
        anstream::adapter::strip_str(&text).to_string(),
        "Ada    Mine.\n$ [Ada] ls  ok, 3 ms\n"
    );
}

#[test]
fn a_question_is_cut_to_a_screen_and_can_be_seen_whole() {
    let command: Vec<String> = (0..12).map(|number| format!("echo {number}")).collect();
    let ask = AskShown {
        what: "Codex asks to run a command".into(),
        command: Some(command.join("\n")),
        cwd: Some("/inn".into()),
        ..AskShown::default()
    };
    let mut writer = Writer::default();
    let mut render = |extent| anstream::adapter::strip_str(&writer.ask(&ask, extent)).to_string();

    let cut = render(Extent::Cut);
    let whole = render(Extent::Whole);

    assert!(super::ask::is_cut(&ask));
    assert!(cut.contains("▌ run   echo 0\n▌       echo 1\n"), "{cut}");
    assert!(cut.contains("echo 9\n▌       … 2 more lines\n▌ in    /inn\n"), "{cut}");
    assert!(whole.ends_with("▌       echo 10\n▌       echo 11\n▌ in    /inn\n"), "{whole}");
}

#[test]
fn a_command_cannot_repaint_the_question() {
    let ask = AskShown {
        what: "Codex asks to run a command".into(),
        command: Some("rm -rf /\u{1b}[2K\rls".into()),
        ..AskShown::default()
    };
    let shown = Writer::default().ask(&ask, Extent::Cut);
    assert!(shown.contains("rm -rf /\\u{1b}[2K\\u{d}ls"), "{shown}");
}
