//! The digest of an ask: the same for the same question, another for any other.
//!
//! An answer that was given while the asking process was gone is used only if the question that comes again has the same
//! digest. So it covers all that a person decides on and nothing else. Too little would let one answer count for another
//! question; too much (the reason, which the model words anew each time) would let no answer ever count.

mod canon;

use sha2::{Digest, Sha256};

use self::canon::Canon;
use crate::ask::{
    Ask, AskKind, CommandAsk, ElicitationAsk, ElicitationWant, FileChangeAsk, FileChangeKind,
    FileDiff, NetworkTarget, Permissions, PermissionsAsk, Question, QuestionOption, Sandboxing,
    ToolCallAsk, UserInputAsk,
};
use crate::form::{FormField, FormFieldKind, FormOption};

/// Counted up whenever the encoding changes, so that digests of two encodings never meet.
const VERSION: u8 = 1;

impl Ask {
    /// The SHA-256, in hex, of what is asked: not of when, in which thread, why, or what may be answered.
    ///
    /// Where we do not see all that is asked (a change whose files are not known yet, a question of an unknown kind), the
    /// thread, turn and item are part of it: then it is the same question only if it stands in the same place.
    pub fn digest(&self) -> String {
        // Taken apart by name here and below, so that a new field does not compile until somebody has decided on it.
        let Self { thread, turn, item, reason: _, kind, offers: _ } = self;
        let mut canon = Canon::default();
        canon.byte(VERSION);
        canon.kind(kind);
        if !kind.is_wholly_known() {
            canon.option(thread.as_ref(), |canon, thread| canon.text(thread.as_str()));
            canon.option(turn.as_ref(), |canon, turn| canon.text(turn.as_str()));
            canon.option(item.as_ref(), |canon, item| canon.text(item.as_str()));
        }
        Sha256::digest(canon.into_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl AskKind {
    fn is_wholly_known(&self) -> bool {
        match self {
            Self::FileChange(change) => !change.files.is_empty(),
            Self::Elicitation(ask) => !matches!(ask.want, ElicitationWant::Other(_)),
            Self::Other { .. } => false,
            Self::Command(_)
            | Self::Permissions(_)
            | Self::UserInput(_)
            | Self::Continue { .. }
            | Self::ToolCall(_)
            | Self::TokenRefresh { .. } => true,
        }
    }
}

impl Canon {
    fn kind(&mut self, kind: &AskKind) {
        match kind {
            AskKind::Command(ask) => {
                // 1 was that of commands of which was not known where they run.
                self.byte(10);
                self.command(ask);
            }
            AskKind::FileChange(ask) => {
                self.byte(2);
                let FileChangeAsk { files, grant_root } = ask;
                self.set(files, Self::file);
                self.maybe_text(grant_root.as_ref());
            }
            AskKind::Permissions(ask) => {
                self.byte(3);
                let PermissionsAsk { cwd, wanted } = ask;
                self.maybe_text(cwd.as_ref());
                self.permissions(wanted);
            }
            AskKind::UserInput(ask) => {
                self.byte(4);
                // When Codex goes on by itself is no part of the question.
                let UserInputAsk { questions, resolves_itself_after_ms: _ } = ask;
                self.list(questions, Self::question);
            }
            AskKind::Elicitation(ask) => {
                self.byte(5);
                let ElicitationAsk { server, message, want } = ask;
                self.text(server);
                self.text(message);
                self.want(want);
            }
            AskKind::ToolCall(ask) => {
                self.byte(6);
                let ToolCallAsk { call: _, namespace, tool, arguments } = ask;
                self.maybe_text(namespace.as_ref());
                self.text(tool);
                self.text(arguments);
            }
            AskKind::TokenRefresh { cause: _, account } => {
                self.byte(7);
                self.maybe_text(account.as_ref());
            }
            AskKind::Continue { why } => {
                self.byte(9);
                self.text(why);
            }
            AskKind::Other { name } => {
                self.byte(8);
                self.text(name);
            }
        }
    }

    fn command(&mut self, ask: &CommandAsk) {
        let CommandAsk { command, cwd, writes_to_running, network, extra, sandboxing } = ask;
        self.maybe_text(command.as_ref());
        self.maybe_text(cwd.as_ref());
        self.flag(*writes_to_running);
        self.option(network.as_ref(), |canon, NetworkTarget { host, protocol }| {
            canon.text(host);
            canon.maybe_text(protocol.as_ref());
        });
        self.option(extra.as_ref(), Self::permissions);
        // An answer for a command in the sandbox is none for the same command outside of it.
        self.byte(match sandboxing {
            Sandboxing::Inside => 1,
            Sandboxing::InsideFirst => 2,
            Sandboxing::Outside => 3,
            Sandboxing::Unknown => 4,
        });
    }

    fn permissions(&mut self, permissions: &Permissions) {
        let Permissions { network, read, write, rules } = permissions;
        self.option(network.as_ref(), |canon, network| canon.flag(*network));
        for texts in [read, write, rules] {
            self.set(texts, |canon, text| canon.text(text));
        }
    }

    fn file(&mut self, file: &FileDiff) {
        let FileDiff { path, change, diff } = file;
        self.text(path);
        match change {
            FileChangeKind::Add => self.byte(1),
            FileChangeKind::Delete => self.byte(2),
            FileChangeKind::Update { moved_to } => {
                self.byte(3);
                self.maybe_text(moved_to.as_ref());
            }
            FileChangeKind::Other(name) => {
                self.byte(4);
                self.text(name);
            }
        }
        self.text(diff);
    }

    fn question(&mut self, question: &Question) {
        let Question { id, header, text, options, allows_other, is_secret } = question;
        // Answers are given by this id, so the same text under another id is another question.
        self.text(id.as_str());
        self.text(header);
        self.text(text);
        self.list(options, |canon, QuestionOption { label, description }| {
            canon.text(label);
            canon.text(description);
        });
        self.flag(*allows_other);
        self.flag(*is_secret);
    }

    fn want(&mut self, want: &ElicitationWant) {
        match want {
            ElicitationWant::ToolApproval { tool, description: _, arguments } => {
                self.byte(1);
                self.maybe_text(tool.as_ref());
                self.maybe_text(arguments.as_ref());
            }
            ElicitationWant::Form(fields) => {
                self.byte(2);
                self.list(fields, Self::field);
            }
            ElicitationWant::Url(url) => {
                self.byte(3);
                self.text(url);
            }
            ElicitationWant::Other(mode) => {
                self.byte(4);
                self.text(mode);
            }
        }
    }

    fn field(&mut self, field: &FormField) {
        let FormField { name, title, description, kind, required } = field;
        self.text(name);
        self.maybe_text(title.as_ref());
        self.maybe_text(description.as_ref());
        self.flag(*required);
        match kind {
            FormFieldKind::Text => self.byte(1),
            FormFieldKind::Number => self.byte(2),
            FormFieldKind::Integer => self.byte(3),
            FormFieldKind::Boolean => self.byte(4),
            FormFieldKind::Choice(options) => {
                self.byte(5);
                self.list(options, Self::form_option);
            }
            FormFieldKind::Choices(options) => {
                self.byte(6);
                self.list(options, Self::form_option);
            }
            FormFieldKind::Other(name) => {
                self.byte(7);
                self.text(name);
            }
        }
    }

    fn form_option(&mut self, option: &FormOption) {
        let FormOption { value, title } = option;
        self.text(value);
        self.maybe_text(title.as_ref());
    }
}
