//! The digest of an ask: one for each question, whatever stands around it.

use ostler_model::ask::{
    CommandAsk, ElicitationAsk, ElicitationWant, FileChangeAsk, FileChangeKind, FileDiff,
    NetworkTarget, Permissions, PermissionsAsk, Question, QuestionOption, Sandboxing, ToolCallAsk,
    UserInputAsk,
};
use ostler_model::form::{FormField, FormFieldKind, FormOption};
use ostler_model::{Ask, AskKind, Decision, ItemId, QuestionId, ThreadId, TurnId};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

fn ask(kind: AskKind) -> Ask {
    Ask { thread: None, turn: None, item: None, reason: None, kind, offers: Vec::new() }
}

/// So few texts that equal ones meet often, and such that one could be taken for two others.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "a", "b", "ab", "\0"]).prop_map(str::to_owned)
}

fn words() -> impl Strategy<Value = Vec<String>> {
    vec(word(), 0..3)
}

fn permissions() -> impl Strategy<Value = Permissions> {
    (of(any::<bool>()), words(), words(), words())
        .prop_map(|(network, read, write, rules)| Permissions { network, read, write, rules })
}

fn command() -> impl Strategy<Value = AskKind> {
    let network =
        (word(), of(word())).prop_map(|(host, protocol)| NetworkTarget { host, protocol });
    let sandboxing = prop::sample::select(vec![
        Sandboxing::Inside,
        Sandboxing::InsideFirst,
        Sandboxing::Outside,
        Sandboxing::Unknown,
    ]);
    (of(word()), of(word()), any::<bool>(), of(network), of(permissions()), sandboxing).prop_map(
        |(command, cwd, writes_to_running, network, extra, sandboxing)| {
            AskKind::Command(CommandAsk {
                command,
                cwd,
                writes_to_running,
                network,
                extra,
                sandboxing,
            })
        },
    )
}

fn file_change() -> impl Strategy<Value = AskKind> {
    let change = prop_oneof![
        Just(FileChangeKind::Add),
        Just(FileChangeKind::Delete),
        of(word()).prop_map(|moved_to| FileChangeKind::Update { moved_to }),
        word().prop_map(FileChangeKind::Other),
    ];
    let file =
        (word(), change, word()).prop_map(|(path, change, diff)| FileDiff { path, change, diff });
    (vec(file, 0..3), of(word()))
        .prop_map(|(files, grant_root)| AskKind::FileChange(FileChangeAsk { files, grant_root }))
}

fn user_input() -> impl Strategy<Value = AskKind> {
    let option =
        (word(), word()).prop_map(|(label, description)| QuestionOption { label, description });
    let question = (word(), word(), word(), vec(option, 0..2), any::<bool>(), any::<bool>())
        .prop_map(|(id, header, text, options, allows_other, is_secret)| Question {
            id: QuestionId::new(id),
            header,
            text,
            options,
            allows_other,
            is_secret,
        });
    (vec(question, 0..3), of(0..3_u64)).prop_map(|(questions, resolves_itself_after_ms)| {
        AskKind::UserInput(UserInputAsk { questions, resolves_itself_after_ms })
    })
}

fn elicitation() -> impl Strategy<Value = AskKind> {
    let option =
        || vec((word(), of(word())).prop_map(|(value, title)| FormOption { value, title }), 0..2);
    let kind = prop_oneof![
        Just(FormFieldKind::Text),
        Just(FormFieldKind::Number),
        Just(FormFieldKind::Integer),
        Just(FormFieldKind::Boolean),
        option().prop_map(FormFieldKind::Choice),
        option().prop_map(FormFieldKind::Choices),
        word().prop_map(FormFieldKind::Other),
    ];
    let field = (word(), of(word()), of(word()), kind, any::<bool>()).prop_map(
        |(name, title, description, kind, required)| FormField {
            name,
            title,
            description,
            kind,
            required,
        },
    );
    let want = prop_oneof![
        (of(word()), of(word()), of(word())).prop_map(|(tool, description, arguments)| {
            ElicitationWant::ToolApproval { tool, description, arguments }
        }),
        vec(field, 0..3).prop_map(ElicitationWant::Form),
        word().prop_map(ElicitationWant::Url),
        word().prop_map(ElicitationWant::Other),
    ];
    (word(), word(), want).prop_map(|(server, message, want)| {
        AskKind::Elicitation(ElicitationAsk { server, message, want })
    })
}

fn kind() -> impl Strategy<Value = AskKind> {
    prop_oneof![
        command(),
        file_change(),
        (of(word()), permissions())
            .prop_map(|(cwd, wanted)| AskKind::Permissions(PermissionsAsk { cwd, wanted })),
        user_input(),
        elicitation(),
        (word(), of(word()), word(), word()).prop_map(|(call, namespace, tool, arguments)| {
            let call = ItemId::new(call);
            AskKind::ToolCall(ToolCallAsk { call, namespace, tool, arguments })
        }),
        (of(word()), of(word()))
            .prop_map(|(cause, account)| AskKind::TokenRefresh { cause, account }),
        word().prop_map(|name| AskKind::Other { name }),
    ]
}

fn whole() -> impl Strategy<Value = Ask> {
    (of(word()), of(word()), of(word()), of(word()), kind(), any::<bool>()).prop_map(
        |(thread, turn, item, reason, kind, offered)| Ask {
            thread: thread.map(ThreadId::from),
            turn: turn.map(TurnId::from),
            item: item.map(ItemId::from),
            reason,
            kind,
            offers: if offered { vec![Decision::Once] } else { Vec::new() },
        },
    )
}

/// The question by itself: what is left when all that does not matter is the same in every ask.
fn question_of(ask: &Ask) -> Ask {
    let mut ask = ask.clone();
    (ask.reason, ask.offers) = (None, Vec::new());
    let sort = |permissions: &mut Permissions| {
        permissions.read.sort();
        permissions.write.sort();
        permissions.rules.sort();
    };
    let mut placed = false;
    match &mut ask.kind {
        AskKind::Command(command) => {
            if let Some(extra) = &mut command.extra {
                sort(extra);
            }
        }
        AskKind::FileChange(change) => {
            placed = change.files.is_empty();
            change.files.sort_by_key(|file| format!("{file:?}"));
        }
        AskKind::Permissions(permissions) => sort(&mut permissions.wanted),
        AskKind::UserInput(input) => input.resolves_itself_after_ms = None,
        AskKind::Elicitation(elicitation) => match &mut elicitation.want {
            ElicitationWant::ToolApproval { description, .. } => *description = None,
            ElicitationWant::Other(_) => placed = true,
            ElicitationWant::Form(_) | ElicitationWant::Url(_) => {}
        },
        AskKind::ToolCall(call) => call.call = ItemId::new(""),
        AskKind::TokenRefresh { cause, .. } => *cause = None,
        AskKind::Continue { .. } => {}
        AskKind::Other { .. } => placed = true,
    }
    if !placed {
        (ask.thread, ask.turn, ask.item) = (None, None, None);
    }
    ask
}

/// The same kind of question with other content: most of these differ in one field only, because the texts are so few.
fn two_of_a_kind() -> impl Strategy<Value = (Ask, Ask)> {
    fn pair<S: Strategy<Value = AskKind>>(
        kind: impl Fn() -> S,
    ) -> impl Strategy<Value = (AskKind, AskKind)> {
        (kind(), kind())
    }
    let kinds = prop_oneof![
        pair(command),
        pair(file_change),
        pair(user_input),
        pair(elicitation),
        pair(kind)
    ];
    (whole(), whole(), kinds).prop_map(|(mut one, mut other, kinds)| {
        (one.kind, other.kind) = kinds;
        (one, other)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_question_has_the_same_digest_and_no_other_has_it((one, other) in two_of_a_kind()) {
        let same = question_of(&one) == question_of(&other);
        prop_assert_eq!(one.digest() == other.digest(), same);
        prop_assert_eq!(one.digest(), question_of(&one).digest());
    }
}

fn text(text: &str) -> String {
    text.to_owned()
}

/// Each of these differs from the first in one field.
#[test]
fn every_field_of_a_command_counts() {
    let network = |host: &str, protocol: Option<&str>| {
        Some(NetworkTarget { host: text(host), protocol: protocol.map(text) })
    };
    let extra = |permissions| CommandAsk { extra: Some(permissions), ..command_ask() };
    let others = [
        CommandAsk { command: None, ..command_ask() },
        CommandAsk { command: Some(text("/bin/bash -lc 'touch zz '")), ..command_ask() },
        CommandAsk { cwd: None, ..command_ask() },
        CommandAsk { cwd: Some(text("/w/")), ..command_ask() },
        CommandAsk { writes_to_running: true, ..command_ask() },
        CommandAsk { sandboxing: Sandboxing::Inside, ..command_ask() },
        CommandAsk { sandboxing: Sandboxing::Outside, ..command_ask() },
        CommandAsk { network: network("h", None), ..command_ask() },
        CommandAsk { network: network("i", None), ..command_ask() },
        CommandAsk { network: network("h", Some("https")), ..command_ask() },
        extra(Permissions::default()),
        extra(Permissions { network: Some(true), ..Permissions::default() }),
        extra(Permissions { network: Some(false), ..Permissions::default() }),
        extra(Permissions { read: vec![text("/a")], ..Permissions::default() }),
        extra(Permissions { write: vec![text("/a")], ..Permissions::default() }),
        extra(Permissions { rules: vec![text("/a")], ..Permissions::default() }),
    ];
    let mut digests: Vec<_> = others.map(|other| ask(AskKind::Command(other)).digest()).into();
    digests.push(ask(AskKind::Command(command_ask())).digest());
    let count = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), count);
}

fn command_ask() -> CommandAsk {
    CommandAsk {
        command: Some(text("/bin/bash -lc 'touch zz'")),
        cwd: Some(text("/w")),
        ..CommandAsk::default()
    }
}

/// Digests are stored for good: these values must not change without a new version of the encoding. They were computed
/// by another program from the description of the encoding.
#[test]
fn digests_are_the_same_in_every_version() {
    let file =
        |path: &str, change, diff: &str| FileDiff { path: text(path), change, diff: text(diff) };
    let files = vec![
        file("/w/b", FileChangeKind::Update { moved_to: Some(text("/w/c")) }, "-x\n+y\n"),
        file("/w/a", FileChangeKind::Add, "hello\n"),
    ];
    let question = Question {
        id: QuestionId::new("colour"),
        header: text("Colour"),
        text: text("Which?"),
        options: vec![QuestionOption { label: text("red"), description: text("Like fire.") }],
        allows_other: true,
        is_secret: false,
    };
    let wanted = Permissions {
        network: Some(true),
        read: vec![text("/a")],
        write: vec![text("/b"), text("/c")],
        rules: Vec::new(),
    };
    let approval = ElicitationAsk {
        server: text("tiny"),
        message: text("Allow the tiny MCP server to run tool \"write\"?"),
        want: ElicitationWant::ToolApproval {
            tool: Some(text("write")),
            description: None,
            arguments: Some(text("{}")),
        },
    };
    let kinds = [
        AskKind::Command(command_ask()),
        AskKind::FileChange(FileChangeAsk { files, grant_root: None }),
        AskKind::Permissions(PermissionsAsk { cwd: Some(text("/w")), wanted }),
        AskKind::UserInput(UserInputAsk {
            questions: vec![question],
            resolves_itself_after_ms: None,
        }),
        AskKind::Elicitation(approval),
        AskKind::Other { name: text("new/thing") },
    ];

    assert_eq!(
        kinds.map(|kind| ask(kind).digest()),
        [
            "c0606afe705c88779ebe048427994e07641f104645b8d726bac858f4dabbcdf4",
            "deb56c8a559375f8e7242e948e148b05ff275c42c05f48593fc2cc310361c70e",
            "4a4c06634110be895652dceede3a773a58f4fd50ebb650c346500f535913813a",
            "f2152c0db1f8d09eae3a738e37cd2e75e85d4d500c7231e0c45e5faaceee61b5",
            "f6d4bb8b61b3cf6d16a3e70b65c7c0205fa4fca7dac3d99c66b4c6af8df9b2b4",
            "43035aa358ce46da80d039cfe4086104514c9e3097f9f8266f99b6ee5e861461"
        ]
    );
}
