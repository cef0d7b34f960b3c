//! Our decisions in the shape each of Codex's requests wants.

use ostler_model::ask::{AskKind, ElicitationWant, Permissions};
use ostler_model::decision::{GrantHolds, Remember};
use ostler_model::{Ask, Decision};
use serde::Serialize;
use serde_json::{Value, json};

use super::ask;
use crate::protocol::form;
use crate::protocol::legacy::LegacyDecision;
use crate::protocol::permission::PermissionProfile;
use crate::protocol::reply::{
    CommandReply, ElicitationAction, ElicitationReply, ElicitationReplyMeta, FileChangeDecision,
    FileChangeReply, LegacyReply, PermissionScope, PermissionsReply, Persist, ToolCallOutput,
    ToolCallReply, UserInputAnswer, UserInputReply,
};
use crate::protocol::server_request::{
    CommandDecision, Elicitation, NetworkPolicyAction, NetworkPolicyAmendment, PermissionsApproval,
    ServerRequest,
};
use crate::protocol::versions::{CodexVersion, R0_166_0};

/// What the model is told when a legacy approval is refused.
const REFUSED: &str = "refused by the user";

/// What the model is told of a tool of ours that failed, or whose turn was over.
const NOT_RUN: &str = "the tool could not be run";

/// A decision has no place in the answer to this request.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("this ask does not take that decision; give one of those it offers")]
    NotOffered,
    #[error("only a program can answer this ask; answer it with an error if there is none")]
    NotForPeople,
    #[error("the answer does not fit into json")]
    Json(#[from] serde_json::Error),
}

/// The result to send for this decision. Refuses any decision that the request does not offer.
pub fn answer(
    request: &ServerRequest<'_>,
    decision: &Decision,
    version: &CodexVersion,
) -> Result<Value, AnswerError> {
    let ask = ask(request);
    if ask.offers.is_empty() {
        return Err(AnswerError::NotForPeople);
    }
    if !ask.takes(decision) {
        return Err(AnswerError::NotOffered);
    }
    match request {
        ServerRequest::CommandApproval(_) => json(&CommandReply { decision: command(decision)? }),
        ServerRequest::FileChangeApproval(_) => {
            json(&FileChangeReply { decision: file_change(decision)? })
        }
        ServerRequest::PermissionsApproval(request) => json(&permissions(request, decision)?),
        ServerRequest::UserInput(_) => json(&user_input(decision)?),
        ServerRequest::Elicitation(request) => json(&elicitation(request, &ask, decision)?),
        ServerRequest::ToolCall(_) => json(&tool_call(decision)?),
        ServerRequest::LegacyPatchApproval(_) | ServerRequest::LegacyCommandApproval(_) => {
            json(&LegacyReply { decision: legacy(decision, version)? })
        }
        ServerRequest::TokenRefresh(_)
        | ServerRequest::Attestation
        | ServerRequest::CurrentTime(_)
        | ServerRequest::Unreadable { .. }
        | ServerRequest::Other { .. } => Err(AnswerError::NotForPeople),
    }
}

fn json(reply: &impl Serialize) -> Result<Value, AnswerError> {
    Ok(serde_json::to_value(reply)?)
}

fn command(decision: &Decision) -> Result<CommandDecision, AnswerError> {
    match decision {
        Decision::Once => Ok(CommandDecision::Accept),
        Decision::Session => Ok(CommandDecision::AcceptForSession),
        Decision::Always(Remember::CommandPrefix(prefix)) => {
            Ok(CommandDecision::AcceptWithExecpolicyAmendment {
                execpolicy_amendment: prefix.clone(),
            })
        }
        Decision::Always(Remember::Host { host, allowed }) => {
            Ok(CommandDecision::ApplyNetworkPolicyAmendment {
                network_policy_amendment: NetworkPolicyAmendment {
                    host: host.clone(),
                    action: if *allowed {
                        NetworkPolicyAction::Allow
                    } else {
                        NetworkPolicyAction::Deny
                    },
                },
            })
        }
        Decision::Deny => Ok(CommandDecision::Decline),
        Decision::Cancel => Ok(CommandDecision::Cancel),
        _ => Err(AnswerError::NotOffered),
    }
}

fn file_change(decision: &Decision) -> Result<FileChangeDecision, AnswerError> {
    match decision {
        Decision::Once => Ok(FileChangeDecision::Accept),
        Decision::Session => Ok(FileChangeDecision::AcceptForSession),
        Decision::Deny => Ok(FileChangeDecision::Decline),
        Decision::Cancel => Ok(FileChangeDecision::Cancel),
        _ => Err(AnswerError::NotOffered),
    }
}

fn permissions(
    request: &PermissionsApproval,
    decision: &Decision,
) -> Result<PermissionsReply, AnswerError> {
    let everything = || Permissions::from(&request.permissions);
    let (granted, scope) = match decision {
        Decision::Once => (everything(), PermissionScope::Turn),
        Decision::Session => (everything(), PermissionScope::Session),
        Decision::Grant { permissions, holds: GrantHolds::Turn } => {
            (permissions.clone(), PermissionScope::Turn)
        }
        Decision::Grant { permissions, holds: GrantHolds::Session } => {
            (permissions.clone(), PermissionScope::Session)
        }
        Decision::Deny => (Permissions::default(), PermissionScope::Turn),
        _ => return Err(AnswerError::NotOffered),
    };
    let permissions: PermissionProfile = request.permissions.granted(&granted);
    Ok(PermissionsReply { permissions, scope })
}

fn user_input(decision: &Decision) -> Result<UserInputReply, AnswerError> {
    let answers = match decision {
        Decision::Answers(answers) => answers
            .iter()
            .map(|(question, answers)| {
                (question.clone(), UserInputAnswer { answers: answers.clone() })
            })
            .collect(),
        Decision::Deny => Default::default(),
        _ => return Err(AnswerError::NotOffered),
    };
    Ok(UserInputReply { answers })
}

fn elicitation(
    request: &Elicitation,
    ask: &Ask,
    decision: &Decision,
) -> Result<ElicitationReply, AnswerError> {
    let reply = |action| ElicitationReply { action, content: None, meta: None };
    let accepted = reply(ElicitationAction::Accept);
    let kept = |persist| Some(ElicitationReplyMeta { persist });
    match decision {
        // A form without content is no answer, so an acceptance carries at least an empty one.
        Decision::Once if request.mode == "form" => {
            Ok(ElicitationReply { content: Some(json!({})), ..accepted })
        }
        Decision::Once => Ok(accepted),
        Decision::Session => Ok(ElicitationReply {
            content: Some(json!({})),
            meta: kept(Persist::Session),
            ..accepted
        }),
        Decision::Always(Remember::Tool) => Ok(ElicitationReply {
            content: Some(json!({})),
            meta: kept(Persist::Always),
            ..accepted
        }),
        Decision::Form(values) if wants_form(ask) => {
            Ok(ElicitationReply { content: Some(form::content(values)), ..accepted })
        }
        Decision::Deny => Ok(reply(ElicitationAction::Decline)),
        Decision::Cancel => Ok(reply(ElicitationAction::Cancel)),
        _ => Err(AnswerError::NotOffered),
    }
}

fn wants_form(ask: &Ask) -> bool {
    matches!(&ask.kind, AskKind::Elicitation(ask) if matches!(ask.want, ElicitationWant::Form(_)))
}

fn tool_call(decision: &Decision) -> Result<ToolCallReply, AnswerError> {
    match decision {
        Decision::ToolResult { succeeded, outputs } => Ok(ToolCallReply {
            content_items: outputs.iter().map(ToolCallOutput::from).collect(),
            success: *succeeded,
        }),
        Decision::Deny => Ok(ToolCallReply {
            content_items: vec![ToolCallOutput::InputText { text: NOT_RUN.to_owned() }],
            success: false,
        }),
        _ => Err(AnswerError::NotOffered),
    }
}

fn legacy(decision: &Decision, version: &CodexVersion) -> Result<LegacyDecision, AnswerError> {
    match decision {
        Decision::Once => Ok(LegacyDecision::Approved),
        Decision::Session => Ok(LegacyDecision::ApprovedForSession),
        Decision::Deny if version.is_at_least(R0_166_0) => {
            Ok(LegacyDecision::Denied { rejection: REFUSED.to_owned() })
        }
        Decision::Deny => Ok(LegacyDecision::DeniedWord),
        Decision::Cancel => Ok(LegacyDecision::Abort),
        _ => Err(AnswerError::NotOffered),
    }
}

#[cfg(test)]
mod tests;
