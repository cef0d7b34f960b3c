//! Codex's questions as ours, and our decisions as Codex's answers.

mod answer;

use ostler_model::ask::{
    CommandAsk, ElicitationAsk, ElicitationWant, FileChangeAsk, NetworkTarget, Permissions,
    PermissionsAsk, Question, QuestionOption, Sandboxing, ToolCallAsk, UserInputAsk,
};
use ostler_model::decision::Remember;
use ostler_model::{Ask, AskKind, Decision, ItemId};

pub use answer::{AnswerError, answer};

use super::form;
use super::legacy::{LegacyCommandApproval, LegacyPatchApproval};
use super::server_request::{
    CommandApproval, CommandDecision, Elicitation, FileChangeApproval, NetworkPolicyAction,
    NetworkPolicyAmendment, PermissionsApproval, ServerRequest, ToolCall, UserInputRequest,
};

/// What the request asks, in our words. A file change comes without its diff: it is in the item of the same id.
pub fn ask(request: &ServerRequest<'_>) -> Ask {
    match request {
        ServerRequest::CommandApproval(request) => command(request),
        ServerRequest::FileChangeApproval(request) => file_change(request),
        ServerRequest::PermissionsApproval(request) => permissions(request),
        ServerRequest::UserInput(request) => user_input(request),
        ServerRequest::Elicitation(request) => elicitation(request),
        ServerRequest::ToolCall(request) => tool_call(request),
        ServerRequest::LegacyPatchApproval(request) => legacy_patch(request),
        ServerRequest::LegacyCommandApproval(request) => legacy_command(request),
        ServerRequest::TokenRefresh(request) => bare(AskKind::TokenRefresh {
            cause: request.reason.clone(),
            account: request.previous_account_id.clone(),
        }),
        ServerRequest::Attestation => other("attestation/generate"),
        ServerRequest::CurrentTime(request) => {
            Ask { thread: request.thread_id.clone(), ..other("currentTime/read") }
        }
        ServerRequest::Unreadable { method, .. } | ServerRequest::Other { method } => other(method),
    }
}

fn bare(kind: AskKind) -> Ask {
    Ask { thread: None, turn: None, item: None, reason: None, kind, offers: Vec::new() }
}

fn other(method: &str) -> Ask {
    bare(AskKind::Other { name: method.to_owned() })
}

fn command(request: &CommandApproval) -> Ask {
    let network = request.network_approval_context.as_ref();
    Ask {
        thread: request.thread_id.clone(),
        turn: request.turn_id.clone(),
        item: request.item_id.clone(),
        reason: request.reason.clone(),
        kind: AskKind::Command(CommandAsk {
            command: request.command.clone(),
            cwd: request.cwd.clone(),
            writes_to_running: request.kind.as_deref() == Some("writeStdin"),
            network: network.map(|target| NetworkTarget {
                host: target.host.clone(),
                protocol: target.protocol.clone(),
            }),
            extra: request.additional_permissions.as_ref().map(Permissions::from),
            // The request does not say it; see `rollout::sandboxing`.
            sandboxing: Sandboxing::Unknown,
        }),
        offers: command_offers(request),
    }
}

/// What Codex says it takes, and what it honours without listing it (0.130.0, 0.142.5 and 0.166.0 do, see
/// `tests/e2e/approvals.rs` and `tests/e2e/asks/network.rs`): deny, because refusing must be possible without ending the
/// turn; the session wherever once is offered, because being asked the same thing again teaches people to say yes
/// unread; and to refuse a host for good, which Codex proposes but leaves out of the list.
fn command_offers(request: &CommandApproval) -> Vec<Decision> {
    let Some(available) = &request.available_decisions else {
        return default_command_offers(request);
    };
    let mut offers: Vec<_> = available.iter().map(decision).collect();
    if offers.contains(&Decision::Once) {
        offers.push(Decision::Session);
    }
    offers.push(Decision::Deny);
    let refuses = |it: &&NetworkPolicyAmendment| it.action == NetworkPolicyAction::Deny;
    offers.extend(request.proposed_network_policy_amendments.iter().filter(refuses).map(host));
    offers.sort_by_key(Decision::rank);
    offers.dedup();
    offers
}

fn default_command_offers(request: &CommandApproval) -> Vec<Decision> {
    let mut offers = vec![Decision::Once, Decision::Session];
    if !request.proposed_execpolicy_amendment.is_empty() {
        let prefix = request.proposed_execpolicy_amendment.clone();
        offers.push(Decision::Always(Remember::CommandPrefix(prefix)));
    }
    offers.extend(request.proposed_network_policy_amendments.iter().map(host));
    offers.extend([Decision::Deny, Decision::Cancel]);
    offers.sort_by_key(Decision::rank);
    offers
}

fn decision(wire: &CommandDecision) -> Decision {
    match wire {
        CommandDecision::Accept => Decision::Once,
        CommandDecision::AcceptForSession => Decision::Session,
        CommandDecision::AcceptWithExecpolicyAmendment { execpolicy_amendment } => {
            Decision::Always(Remember::CommandPrefix(execpolicy_amendment.clone()))
        }
        CommandDecision::ApplyNetworkPolicyAmendment { network_policy_amendment } => {
            host(network_policy_amendment)
        }
        CommandDecision::Decline => Decision::Deny,
        CommandDecision::Cancel => Decision::Cancel,
    }
}

fn host(amendment: &NetworkPolicyAmendment) -> Decision {
    Decision::Always(Remember::Host {
        host: amendment.host.clone(),
        allowed: amendment.action == NetworkPolicyAction::Allow,
    })
}

fn file_change(request: &FileChangeApproval) -> Ask {
    Ask {
        thread: request.thread_id.clone(),
        turn: request.turn_id.clone(),
        item: request.item_id.clone(),
        reason: request.reason.clone(),
        kind: AskKind::FileChange(FileChangeAsk {
            files: Vec::new(),
            grant_root: request.grant_root.clone(),
        }),
        offers: vec![Decision::Once, Decision::Session, Decision::Deny, Decision::Cancel],
    }
}

fn permissions(request: &PermissionsApproval) -> Ask {
    Ask {
        thread: request.thread_id.clone(),
        turn: request.turn_id.clone(),
        item: request.item_id.clone(),
        reason: request.reason.clone(),
        kind: AskKind::Permissions(PermissionsAsk {
            cwd: request.cwd.clone(),
            wanted: Permissions::from(&request.permissions),
        }),
        offers: vec![Decision::Once, Decision::Session, Decision::Deny],
    }
}

fn user_input(request: &UserInputRequest) -> Ask {
    let questions = request.questions.iter().map(|question| Question {
        id: question.id.clone(),
        header: question.header.clone(),
        text: question.question.clone(),
        options: question
            .options
            .iter()
            .map(|option| QuestionOption {
                label: option.label.clone(),
                description: option.description.clone(),
            })
            .collect(),
        allows_other: question.is_other,
        is_secret: question.is_secret,
    });
    Ask {
        thread: request.thread_id.clone(),
        turn: request.turn_id.clone(),
        item: request.item_id.clone(),
        reason: None,
        kind: AskKind::UserInput(UserInputAsk {
            questions: questions.collect(),
            resolves_itself_after_ms: request.auto_resolution_ms,
        }),
        offers: vec![Decision::Deny],
    }
}

fn elicitation(request: &Elicitation) -> Ask {
    let meta = request.meta.clone().unwrap_or_default();
    let mut offers = Vec::new();
    let want = if meta.codex_approval_kind.as_deref() == Some("mcp_tool_call") {
        offers.push(Decision::Once);
        let persists = |word: &str| meta.persist.iter().any(|persist| persist == word);
        offers.extend(persists("session").then_some(Decision::Session));
        offers.extend(persists("always").then_some(Decision::Always(Remember::Tool)));
        ElicitationWant::ToolApproval {
            tool: tool_asked_for(&request.server_name, &request.message).map(str::to_owned),
            description: meta.tool_description,
            arguments: meta.tool_params.map(|arguments| arguments.text().to_owned()),
        }
    } else {
        match (request.mode.as_str(), &request.requested_schema, &request.url) {
            ("form", Some(schema), _) => ElicitationWant::Form(form::fields(schema)),
            ("url", _, Some(url)) => {
                offers.push(Decision::Once);
                ElicitationWant::Url(url.clone())
            }
            (mode, ..) => ElicitationWant::Other(mode.to_owned()),
        }
    };
    offers.extend([Decision::Deny, Decision::Cancel]);
    Ask {
        thread: request.thread_id.clone(),
        turn: request.turn_id.clone(),
        item: None,
        reason: None,
        kind: AskKind::Elicitation(ElicitationAsk {
            server: request.server_name.clone(),
            message: request.message.clone(),
            want,
        }),
        offers,
    }
}

/// The tool that an approval is about. Codex says it in a sentence only (0.130.0, 0.142.5 and 0.166.0, see
/// `tests/e2e/asks/mcp.rs`), so nothing but that whole sentence counts: a name that is cut out of other words could be
/// somebody else's.
fn tool_asked_for<'a>(server: &str, message: &'a str) -> Option<&'a str> {
    let named = message.strip_prefix("Allow the ")?.strip_prefix(server)?;
    let tool = named.strip_prefix(" MCP server to run tool \"")?.strip_suffix("\"?")?;
    (!tool.is_empty() && !tool.contains(['"', '\n'])).then_some(tool)
}

fn tool_call(request: &ToolCall) -> Ask {
    let call = request.call_id.clone().unwrap_or_else(|| ItemId::new(""));
    Ask {
        thread: request.thread_id.clone(),
        turn: request.turn_id.clone(),
        item: request.call_id.clone(),
        reason: None,
        kind: AskKind::ToolCall(ToolCallAsk {
            call,
            namespace: request.namespace.clone(),
            tool: request.tool.clone(),
            arguments: request
                .arguments
                .as_ref()
                .map_or_else(|| "null".to_owned(), |arguments| arguments.text().to_owned()),
        }),
        offers: vec![Decision::Deny],
    }
}

fn legacy_patch(request: &LegacyPatchApproval) -> Ask {
    Ask {
        thread: request.conversation_id.clone(),
        turn: None,
        item: request.call_id.clone(),
        reason: request.reason.clone(),
        kind: AskKind::FileChange(FileChangeAsk {
            files: request.files(),
            grant_root: request.grant_root.clone(),
        }),
        offers: vec![Decision::Once, Decision::Session, Decision::Deny, Decision::Cancel],
    }
}

fn legacy_command(request: &LegacyCommandApproval) -> Ask {
    Ask {
        thread: request.conversation_id.clone(),
        turn: None,
        item: request.call_id.clone(),
        reason: request.reason.clone(),
        kind: AskKind::Command(CommandAsk {
            command: Some(request.command_line()),
            cwd: request.cwd.clone(),
            ..CommandAsk::default()
        }),
        offers: vec![Decision::Once, Decision::Session, Decision::Deny, Decision::Cancel],
    }
}

#[cfg(test)]
mod tests {
    use super::tool_asked_for;

    #[test]
    fn only_the_whole_sentence_names_a_tool() {
        let named = |message| tool_asked_for("tiny", message);
        assert_eq!(named("Allow the tiny MCP server to run tool \"write\"?"), Some("write"));
        for other in [
            "Allow the other MCP server to run tool \"write\"?",
            "Allow this app to run tool \"write\"?",
            "Allow the tiny MCP server to run tool \"\"?",
            "Allow the tiny MCP server to run tool \"read\"? Or \"write\"?",
            "Please: Allow the tiny MCP server to run tool \"write\"?",
            "Allow the tiny MCP server to run tool \"write\"? Thanks",
            "Tool call needs your approval. Reason: it writes",
        ] {
            assert_eq!(named(other), None, "{other}");
        }
    }
}
