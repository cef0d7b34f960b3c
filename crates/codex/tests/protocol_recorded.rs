//! Lines that real Codex binaries wrote, read through our views.
//!
//! `recorded/<version>/<scenario>.jsonl` holds notifications and server requests of one scenario as they came over
//! stdio, with repeated lines left out and paths made neutral; `replies.jsonl` holds one reply per method.

#[cfg(test)]
#[path = "recorded/lines.rs"]
mod lines;
#[cfg(test)]
#[path = "recorded/read_any.rs"]
mod read_any;
#[cfg(test)]
#[path = "recorded/replies.rs"]
mod replies;

use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::ask::ask;
use ostler_codex::protocol::error::ErrorWord;
use ostler_codex::protocol::item::body::CommandExecution;
use ostler_codex::protocol::request::initialize::Initialize;
use ostler_codex::protocol::request::thread::ThreadStart;
use ostler_codex::protocol::request::thread_history::ThreadRead;
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::protocol::words::{CommandSource, ItemStatus, MessagePhase, TurnStatus};
use ostler_codex::protocol::{CodexVersion, ItemBody, Notification, ServerRequest, read_reply};
use ostler_model::ask::{
    AskKind, CommandAsk, ElicitationAsk, ElicitationWant, FileDiff, Permissions, PermissionsAsk,
};
use ostler_model::decision::Remember;
use ostler_model::form::{FormField, FormFieldKind};
use ostler_model::{Ask, Decision, ItemId};

use lines::{VERSIONS, notifications, requests, scenarios};
use read_any::read_any;
use replies::{Reply, replies, reply};

#[test]
fn every_recorded_line_of_a_method_we_know_is_read() {
    for version in VERSIONS {
        for scenario in scenarios(version) {
            for line in notifications(version, &scenario) {
                if let Notification::Unreadable { method, reason } = line.notification() {
                    panic!("{version} {scenario}: {method}: {reason}");
                }
            }
            for line in requests(version, &scenario) {
                assert!(
                    !matches!(
                        line.request(),
                        ServerRequest::Unreadable { .. } | ServerRequest::Other { .. }
                    ),
                    "{version} {scenario}: {}",
                    line.method
                );
            }
        }
    }
}

#[test]
fn every_recorded_item_is_of_a_kind_we_know() {
    for version in VERSIONS {
        for scenario in scenarios(version) {
            for line in notifications(version, &scenario) {
                if let Notification::ItemStarted(event) | Notification::ItemCompleted(event) =
                    line.notification()
                {
                    assert_ne!(event.item.body, ItemBody::Other, "{}", event.item.type_name);
                    assert!(event.at_ms.is_some() && event.turn_id.is_some());
                }
            }
        }
    }
}

#[test]
fn a_plain_turn_yields_its_answer_its_thoughts_and_its_tokens() {
    for version in VERSIONS {
        let mut answers = Vec::new();
        let mut thoughts = Vec::new();
        let mut tokens = None;
        let mut ends = Vec::new();
        for line in notifications(version, "plain") {
            match line.notification() {
                Notification::ItemCompleted(event) => match event.item.body {
                    ItemBody::AgentMessage(message) => answers.push((message.phase, message.text)),
                    ItemBody::Reasoning(reasoning) => {
                        thoughts.push((reasoning.summary, reasoning.content));
                    }
                    _ => {}
                },
                Notification::ThreadTokenUsageUpdated(update) => {
                    let last = update.token_usage.last;
                    tokens =
                        Some((last.input_tokens, last.cached_input_tokens, last.output_tokens));
                }
                Notification::TurnCompleted(event) => ends.push(event.turn.status),
                _ => {}
            }
        }

        assert_eq!(answers, [(Some(MessagePhase::Commentary), "working on it".to_owned())]);
        assert_eq!(
            thoughts,
            [(vec!["**Thinking** it over".to_owned()], vec!["raw thoughts here".to_owned()])]
        );
        assert_eq!((tokens, ends), (Some((11, 3, 7)), vec![Some(TurnStatus::Completed)]));
    }
}

#[test]
fn a_command_approval_shows_what_will_run_and_offers_what_codex_takes() {
    for version in VERSIONS {
        let [line] = requests(version, "command_approval").try_into().unwrap();
        let prefix = Remember::CommandPrefix(vec!["touch".into(), "made".into()]);

        let Ask { item, reason, kind, offers, .. } = ask(&line.request());

        assert_eq!(
            (item, reason, kind, offers),
            (
                Some(ItemId::new("call_1")),
                Some("may I?".to_owned()),
                AskKind::Command(CommandAsk {
                    command: Some("/bin/bash -lc 'touch made && echo ok'".into()),
                    cwd: Some("/home/user/project".into()),
                    ..CommandAsk::default()
                }),
                vec![
                    Decision::Once,
                    Decision::Session,
                    Decision::Always(prefix),
                    Decision::Deny,
                    Decision::Cancel,
                ],
            )
        );
    }
}

#[test]
fn a_file_change_approval_is_explained_by_the_item_before_it() {
    for version in VERSIONS {
        let [request] = requests(version, "patch_approval").try_into().unwrap();
        let asked = ask(&request.request()).item;
        let lines = notifications(version, "patch_approval");
        let files = lines.iter().find_map(|line| match line.notification() {
            Notification::ItemStarted(event) if Some(&event.item.id) == asked.as_ref() => {
                match event.item.body {
                    ItemBody::FileChange(change) => Some(change.changes),
                    _ => None,
                }
            }
            _ => None,
        });

        let files: Vec<FileDiff> = files.unwrap().iter().map(FileDiff::from).collect();

        assert_eq!(
            files,
            [FileDiff {
                path: "/home/user/project/new.txt".into(),
                change: ostler_model::ask::FileChangeKind::Add,
                diff: "hello\n".into(),
            }]
        );
    }
}

#[test]
fn a_permission_request_names_what_is_wanted() {
    for version in VERSIONS {
        let [line] = requests(version, "permissions").try_into().unwrap();
        let out = "/home/user/project/out";

        assert_eq!(
            ask(&line.request()).kind,
            AskKind::Permissions(PermissionsAsk {
                cwd: Some("/home/user/project".into()),
                wanted: Permissions {
                    network: Some(true),
                    read: vec![],
                    write: vec![out.into()],
                    rules: vec![format!(
                        r#"{{"path":{{"type":"path","path":"{out}"}},"access":"write"}}"#
                    )],
                },
            })
        );
    }
}

#[test]
fn an_elicitation_is_told_apart_from_the_approval_of_a_tool() {
    for version in VERSIONS {
        let [approval] = requests(version, "mcp_approval").try_into().unwrap();
        let [form] = requests(version, "mcp_form").try_into().unwrap();
        let approval = ask(&approval.request());

        assert_eq!(
            approval.kind,
            AskKind::Elicitation(ElicitationAsk {
                server: "tiny".into(),
                message: "Allow the tiny MCP server to run tool \"write\"?".into(),
                want: ElicitationWant::ToolApproval {
                    tool: Some("write".into()),
                    description: Some("write".into()),
                    arguments: Some(r#"{"x":"1"}"#.into()),
                },
            })
        );
        assert_eq!(
            approval.offers,
            [
                Decision::Once,
                Decision::Session,
                Decision::Always(Remember::Tool),
                Decision::Deny,
                Decision::Cancel
            ]
        );
        let field = |name: &str, title: Option<&str>, kind, required| FormField {
            name: name.into(),
            title: title.map(Into::into),
            description: None,
            kind,
            required,
        };
        assert_eq!(
            ask(&form.request()).kind,
            AskKind::Elicitation(ElicitationAsk {
                server: "tiny".into(),
                message: "Who are you?".into(),
                want: ElicitationWant::Form(vec![
                    field("age", None, FormFieldKind::Integer, false),
                    field("name", Some("Name"), FormFieldKind::Text, true),
                ]),
            })
        );
    }
}

#[test]
fn failures_are_classed_and_retries_told_apart() {
    for version in VERSIONS {
        let classes = ["failed", "limit", "retried"].map(|scenario| {
            let lines = notifications(version, scenario);
            lines.iter().find_map(|line| match line.notification() {
                Notification::Error(notice) => {
                    Some((notice.will_retry, notice.error.codex_error_info.unwrap().word))
                }
                _ => None,
            })
        });

        assert_eq!(
            classes,
            [
                Some((false, ErrorWord::Other("other".into()))),
                Some((false, ErrorWord::UsageLimitExceeded)),
                Some((true, ErrorWord::ResponseStreamDisconnected)),
            ]
        );
    }
}

#[test]
fn turns_end_as_they_ended() {
    for version in VERSIONS {
        let ends = ["interrupt", "failed", "steer", "command_declined"].map(|scenario| {
            let lines = notifications(version, scenario);
            lines.iter().find_map(|line| match line.notification() {
                Notification::TurnCompleted(event) => event.turn.status,
                _ => None,
            })
        });

        assert_eq!(
            ends,
            [
                Some(TurnStatus::Interrupted),
                Some(TurnStatus::Failed),
                Some(TurnStatus::Completed),
                Some(TurnStatus::Completed),
            ]
        );
    }
}

#[test]
fn a_command_that_was_talked_to_says_what_it_did() {
    for version in VERSIONS {
        let lines = notifications(version, "terminal");
        let talk = lines.iter().find_map(|line| match line.notification() {
            Notification::TerminalInteraction(talk) => Some((talk.item_id, talk.stdin)),
            _ => None,
        });
        let end = lines.iter().find_map(|line| match line.notification() {
            Notification::ItemCompleted(event) => match event.item.body {
                ItemBody::CommandExecution(CommandExecution {
                    status, source, exit_code, ..
                }) => Some((event.item.id, status, source, exit_code)),
                _ => None,
            },
            _ => None,
        });

        assert_eq!(talk, Some((ItemId::new("call_5"), "hi\n".to_owned())));
        assert_eq!(
            end,
            Some((
                ItemId::new("call_5"),
                Some(ItemStatus::Completed),
                Some(CommandSource::UnifiedExecStartup),
                Some(0)
            ))
        );
    }
}

#[test]
fn every_recorded_reply_is_read_by_its_view() {
    for version in VERSIONS {
        for Reply { reply_to, result } in replies(version) {
            let read = read_any(&reply_to, &result);
            assert!(read.is_ok(), "{version} {reply_to}: {read:?}");
        }
    }
}

#[test]
fn an_opened_thread_names_its_id_and_its_settings() {
    for version in VERSIONS {
        for method in ["thread/start", "thread/resume", "thread/fork"] {
            let raw = reply(version, method);
            let opened = read_reply::<ThreadStart>(&raw).unwrap();

            assert!(opened.thread_id().is_some_and(|id| id.as_str().len() == 36));
            assert_eq!(opened.thread.cli_version.as_deref(), Some(version));
            assert_eq!(
                (opened.approval_policy, opened.sandbox, opened.cwd.as_deref()),
                (
                    Some(ApprovalPolicy::OnRequest),
                    Some(SandboxPolicy::ReadOnly { network_access: false }),
                    Some("/home/user/project")
                ),
                "{version} {method}"
            );
        }
    }
}

#[test]
fn the_version_is_known_after_initialize() {
    for version in VERSIONS {
        let initialized = read_reply::<Initialize>(&reply(version, "initialize")).unwrap();

        assert_eq!(initialized.version(), CodexVersion::parse(version));
    }
}

#[test]
fn history_holds_turns_whose_items_are_all_readable() {
    for version in VERSIONS {
        let thread = read_reply::<ThreadRead>(&reply(version, "thread/read")).unwrap().thread;
        let first = thread.turns.first().unwrap();
        let kinds: Vec<_> = first.items().map(|item| item.unwrap().type_name).collect();

        assert_eq!(first.status, Some(TurnStatus::Completed));
        assert_eq!(kinds.first().map(String::as_str), Some("userMessage"), "{version}");
        assert!(thread.turns.iter().flat_map(|turn| turn.items()).all(|item| item.is_ok()));
    }
}
