use super::{Direction, Setting, compare};
use crate::protocol::approval_policy::{ApprovalPolicy, GranularApproval};
use crate::protocol::request::thread::{ApprovalsReviewer, ThreadOpened};
use crate::protocol::settings::SandboxPolicy;
use crate::thread::settings::ThreadSettings;

/// The settings part of a reply, as the three versions write it for the same request: `/stable` writable, with the
/// roots `/hay` and `/stable`, gpt-5.4, high, `fast`.
const REPLIES: [(&str, &str); 3] = [
    (
        "0.130.0",
        r#"{"thread":{"id":"t"},"sandbox":{"type":"workspaceWrite","writableRoots":["/hay","/home/memories"],"networkAccess":false,"excludeTmpdirEnvVar":true,"excludeSlashTmp":true},"permissionProfile":{"type":"managed"},"approvalPolicy":"untrusted","approvalsReviewer":"user","model":"gpt-5.4","modelProvider":"scripted","reasoningEffort":"high","serviceTier":"priority","cwd":"/stable","activePermissionProfile":null}"#,
    ),
    (
        "0.142.5",
        r#"{"thread":{"id":"t"},"sandbox":{"type":"workspaceWrite","writableRoots":["/hay"],"networkAccess":false,"excludeTmpdirEnvVar":true,"excludeSlashTmp":true},"approvalPolicy":"untrusted","approvalsReviewer":"user","model":"gpt-5.4","modelProvider":"scripted","reasoningEffort":"high","serviceTier":"priority","cwd":"/stable","runtimeWorkspaceRoots":["/stable","/hay"],"activePermissionProfile":null,"multiAgentMode":null}"#,
    ),
    (
        "0.166.0",
        r#"{"thread":{"id":"t"},"sandbox":{"type":"workspaceWrite","writableRoots":["/hay"],"networkAccess":false,"excludeTmpdirEnvVar":true,"excludeSlashTmp":true},"approvalPolicy":"untrusted","approvalsReviewer":"user","model":"gpt-5.4","modelProvider":"scripted","reasoningEffort":"high","serviceTier":"priority","cwd":"/stable","runtimeWorkspaceRoots":["/stable","/hay"],"activePermissionProfile":null,"disabledPluginIds":[]}"#,
    ),
];

fn workspace(roots: &[&str]) -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: roots.iter().map(|&root| root.to_owned()).collect(),
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    }
}

fn asked() -> ThreadSettings {
    ThreadSettings {
        sandbox: workspace(&["/hay", "/stable"]),
        approval_policy: ApprovalPolicy::Untrusted,
        model: Some("gpt-5.4".into()),
        effort: Some("high".into()),
        service_tier: Some("fast".into()),
        ..ThreadSettings::new("/stable/../stable/")
    }
}

fn reply(text: &str) -> ThreadOpened {
    serde_json::from_str(text).unwrap()
}

/// Each difference as `setting: asked …, got …`, wider ones marked.
fn told(asked: &ThreadSettings, got: &ThreadOpened) -> Vec<String> {
    let differences = compare(asked, got, "/home");
    let mark = |wider| if wider { "WIDER " } else { "" };
    differences.iter().map(|found| format!("{}{found}", mark(found.is_wider()))).collect()
}

/// A reply of 0.166.0, changed.
fn told_of(asked: &ThreadSettings, change: impl FnOnce(&mut ThreadOpened)) -> Vec<String> {
    let mut got = reply(REPLIES[2].1);
    change(&mut got);
    told(asked, &got)
}

#[test]
fn what_came_as_asked_is_no_difference_in_any_version() {
    for (version, text) in REPLIES {
        assert_eq!(told(&asked(), &reply(text)), Vec::<String>::new(), "{version}");
    }
}

#[test]
fn each_widening_is_told_in_every_version() {
    let narrow = ThreadSettings {
        sandbox: SandboxPolicy::ReadOnly { network_access: false },
        service_tier: Some("flex".into()),
        ..asked()
    };
    let elsewhere = ThreadSettings { cwd: "/yard".into(), ..asked() };
    for (version, text) in REPLIES {
        assert_eq!(
            told(&narrow, &reply(text)),
            [
                "WIDER sandbox: asked read-only, got workspace-write",
                "service tier: asked flex, got priority",
            ],
            "{version}"
        );
        assert_eq!(
            told(&elsewhere, &reply(text)),
            [
                "WIDER cwd: asked /yard, got /stable",
                "writable roots: asked /hay, /stable, got /hay",
            ],
            "{version}"
        );
    }
}

#[test]
fn more_roots_network_and_tmp_are_wider_and_fewer_are_not() {
    let wide = SandboxPolicy::WorkspaceWrite {
        writable_roots: vec!["/hay".into(), "/hay/../oats/".into()],
        network_access: true,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
    };

    assert_eq!(
        told_of(&asked(), |got| got.sandbox = Some(wide.clone())),
        [
            "WIDER writable roots: asked /hay, got /hay, /oats",
            "WIDER network: asked closed, got allowed",
            "WIDER $TMPDIR: asked closed, got allowed",
            "WIDER /tmp: asked closed, got allowed",
        ]
    );
    assert_eq!(
        told_of(&ThreadSettings { sandbox: wide, ..asked() }, |got| {
            got.sandbox = Some(workspace(&[]));
        }),
        [
            "writable roots: asked /hay, /oats, got none",
            "network: asked allowed, got closed",
            "$TMPDIR: asked allowed, got closed",
            "/tmp: asked allowed, got closed",
        ]
    );
}

#[test]
fn the_memories_of_another_home_are_not_expected() {
    let got = reply(REPLIES[0].1);

    let wider: Vec<_> = compare(&asked(), &got, "/elsewhere");
    assert_eq!(wider.len(), 1);
    assert_eq!(wider[0].setting, Setting::WritableRoots);
    assert_eq!(wider[0].direction, Direction::Wider);
    assert!(compare(&asked(), &got, "")[0].is_wider());
}

#[test]
fn sandboxes_are_ordered() {
    let read_only = |network_access| SandboxPolicy::ReadOnly { network_access };
    let external = |network_access| SandboxPolicy::ExternalSandbox { network_access };
    let danger = SandboxPolicy::DangerFullAccess;
    let unknown = SandboxPolicy::Other("brandNew".into());
    let direction = |asked_for: &SandboxPolicy, got: &SandboxPolicy| {
        let asked = ThreadSettings { sandbox: asked_for.clone(), ..asked() };
        let mut opened = reply(REPLIES[2].1);
        opened.sandbox = Some(got.clone());
        let differences = compare(&asked, &opened, "/home");
        assert!(differences.len() < 2, "{differences:?}");
        differences.first().map(|difference| difference.direction)
    };
    let (wider, narrower) = (Some(Direction::Wider), Some(Direction::Narrower));
    let write = workspace(&["/hay"]);
    let cases = [
        (read_only(false), read_only(true), wider),
        (read_only(false), write.clone(), wider),
        (read_only(false), danger.clone(), wider),
        (read_only(false), external(false), wider),
        (read_only(false), unknown.clone(), wider),
        (write.clone(), read_only(false), narrower),
        (write.clone(), read_only(true), wider),
        (write.clone(), danger.clone(), wider),
        (write.clone(), external(false), wider),
        (write.clone(), unknown.clone(), wider),
        (danger.clone(), read_only(false), narrower),
        (danger.clone(), write.clone(), narrower),
        (danger.clone(), danger.clone(), None),
        (danger.clone(), external(true), wider),
        (danger.clone(), unknown, wider),
        (external(false), external(true), wider),
        (external(true), external(false), narrower),
        (external(false), danger, wider),
        (external(false), write, narrower),
        // Until its first turn a thread cannot have more than this.
        (external(false), read_only(false), None),
        (read_only(true), read_only(false), None),
        (external(false), read_only(true), wider),
    ];
    for (asked, got, expected) in cases {
        assert_eq!(direction(&asked, &got), expected, "asked {asked:?}, got {got:?}");
    }
}

#[test]
fn policies_are_ordered_by_how_often_they_ask() {
    let rules = GranularApproval { rules: true, ..GranularApproval::default() };
    let more = GranularApproval { mcp_elicitations: true, ..rules };
    let ordered = [
        ApprovalPolicy::Untrusted,
        ApprovalPolicy::OnRequest,
        ApprovalPolicy::Granular(more),
        ApprovalPolicy::Granular(rules),
        ApprovalPolicy::Never,
    ];
    for (place, asked_for) in ordered.iter().enumerate() {
        for (other, got) in ordered.iter().enumerate() {
            let asked = ThreadSettings { approval_policy: asked_for.clone(), ..asked() };
            let mut opened = reply(REPLIES[2].1);
            opened.approval_policy = Some(got.clone());
            let wider: Vec<_> =
                compare(&asked, &opened, "/home").iter().map(super::Difference::is_wider).collect();
            let expected = if place == other { vec![] } else { vec![other > place] };
            assert_eq!(wider, expected, "asked {asked_for:?}, got {got:?}");
        }
    }
    assert_eq!(
        told_of(&asked(), |got| {
            got.approval_policy = Some(ApprovalPolicy::Other("on-failure".into()));
        }),
        ["WIDER approval policy: asked untrusted, got unknown policy `on-failure`"]
    );
    let granular = ThreadSettings { approval_policy: ApprovalPolicy::Granular(more), ..asked() };
    assert_eq!(
        told_of(&granular, |got| got.approval_policy = Some(ApprovalPolicy::Never)),
        ["WIDER approval policy: asked granular (rules, mcp_elicitations), got never"]
    );
}

#[test]
fn a_program_that_reviews_instead_of_a_person_is_wider() {
    let by_program =
        ThreadSettings { approvals_reviewer: ApprovalsReviewer::AutoReview, ..asked() };

    for word in ["auto_review", "guardian_subagent"] {
        let got = |got: &mut ThreadOpened| got.approvals_reviewer = Some(word.into());
        let told = told_of(&asked(), got);
        assert_eq!(told, [format!("WIDER approvals reviewer: asked user, got {word}")]);
        assert_eq!(told_of(&by_program, got), Vec::<String>::new());
    }
    assert_eq!(told_of(&by_program, |_| {}), ["approvals reviewer: asked auto_review, got user"]);
}

#[test]
fn a_reply_that_does_not_name_the_permissions_is_not_trusted() {
    assert_eq!(
        told(&asked(), &reply(r#"{"thread":{"id":"t"}}"#)),
        [
            "WIDER cwd: asked /stable/../stable/, got nothing",
            "WIDER sandbox: asked workspace-write, got nothing",
            "WIDER approval policy: asked untrusted, got nothing",
            "WIDER approvals reviewer: asked user, got nothing",
            "model: asked gpt-5.4, got nothing",
            "effort: asked high, got nothing",
            "service tier: asked fast, got nothing",
        ]
    );
}
