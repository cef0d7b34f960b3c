//! An answer for good makes a rule, and the rule decides the next ask.

use std::time::{SystemTime, UNIX_EPOCH};

use ostler_engine::{Answer, Reach, Remembering};
use ostler_model::ask::Sandboxing;
use ostler_model::policy::{Effect, Folder, Matcher, Rule, Scope};
use ostler_model::task::{Approval, AskRecord, DecidedBy, SandboxMode};
use ostler_model::{AskKind, Decision, Event, TaskId, TaskState};
use ostler_testkit::{Stage, Workshop};
use rstest::rstest;
use serde_json::json;

use crate::{AFTER_PAUSE, LEAVES_A_LINE, PROMPT, command, stage, stage_of, text, untrusted};

/// A rule can be made of it: it does what it says, and no version takes it for harmless.
const PLAIN: &str = "touch stable";

async fn always(shop: &Workshop, ask: &AskRecord, reach: Reach, expires_at: Option<i64>) {
    let by = DecidedBy::Person { name: "test".to_owned(), surface: "test".to_owned() };
    let remember = Some(Remembering { reach, expires_at });
    let answer = Answer { decision: Decision::Once, reason: None, remember, by };
    shop.engine.answer(&ask.id, answer).await.unwrap();
}

/// Who decided the asks of a task: `None` while one is open.
async fn decided(shop: &Workshop, task: &TaskId) -> Vec<Option<DecidedBy>> {
    let asks = shop.engine.store().asks_of(task).await.unwrap();
    asks.into_iter().map(|ask| ask.decision.map(|decision| decision.by)).collect()
}

fn twice(version: &str) -> Stage {
    stage(version, vec![command(PLAIN), command(PLAIN), text("Done.")])
}

#[rstest]
#[case::in_this_task(Reach::Task, false)]
#[case::in_this_folder(Reach::Directory(None), true)]
#[case::everywhere(Reach::Everywhere, true)]
#[tokio::test]
async fn a_rule_holds_where_it_was_made_for(
    #[values("0.130.0", "0.166.0")] version: &str,
    #[case] reach: Reach,
    #[case] holds_for_others: bool,
) {
    let stage = twice(version);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    always(&shop, &ask, reach, None).await;
    shop.until(&task, TaskState::Completed).await.unwrap();

    let rule = shop.engine.rules().iter().next().unwrap().id.clone();
    let by = decided(&shop, &task).await;
    assert_eq!(by[1], Some(DecidedBy::Rule { rule: rule.clone() }));
    let uses = shop.engine.store().rule_uses(&rule, 9).await.unwrap();
    assert_eq!(uses.len(), 1);

    // The rule is still there in the next process.
    shop.close().await.unwrap();
    let shop = Workshop::open(&stage).await.unwrap();
    let other = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    if holds_for_others {
        shop.until(&other, TaskState::Completed).await.unwrap();
        let ruled = Some(DecidedBy::Rule { rule });
        assert_eq!(decided(&shop, &other).await, [ruled.clone(), ruled]);
        // Nobody had to wait for anybody.
        let states = shop.states(&other).await.unwrap();
        assert!(!states.contains(&TaskState::WaitingForApproval), "{states:?}");
    } else {
        shop.until(&other, TaskState::WaitingForApproval).await.unwrap();
        assert_eq!(decided(&shop, &other).await, [None]);
    }
    shop.close().await.unwrap();
}

/// As the page and the terminal answer: by what Codex proposes, and without a word about where it shall hold.
#[rstest]
#[tokio::test]
async fn what_codex_proposes_for_good_is_a_rule_of_the_folder(
    #[values("0.130.0", "0.166.0")] version: &str,
) {
    let stage = twice(version);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    let proposed = ask.content.offers.iter().find(|it| matches!(it, Decision::Always(_))).unwrap();
    shop.answer(&ask, proposed.clone()).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();

    let rules = shop.engine.rules();
    let rule = rules.iter().next().unwrap();
    let folder = stage.workspace().display().to_string();
    assert_eq!((rule.effect, rule.expires_at), (Effect::Allow, None));
    assert_eq!(rule.scope, Scope::Directory(Folder::try_from(folder).unwrap()));
    let ruled = Some(DecidedBy::Rule { rule: rule.id.clone() });
    assert_eq!(decided(&shop, &task).await[1], ruled);
    let made = |event: &Event| matches!(event, Event::RuleMade { rule: it, .. } if *it == rule.id);
    assert!(shop.log(&task).await.unwrap().iter().any(made));

    // It is on disk, and holds for the next task of the folder in the next process.
    shop.close().await.unwrap();
    let shop = Workshop::open(&stage).await.unwrap();
    let other = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    shop.until(&other, TaskState::Completed).await.unwrap();
    assert_eq!(decided(&shop, &other).await, [ruled.clone(), ruled]);
    // Codex itself was not told to remember anything.
    assert!(!stage.codex_home().join("rules/default.rules").exists());
    shop.close().await.unwrap();
}

/// The model wants this command run outside of its sandbox.
fn escalated(command: &str) -> ostler_scripted_model::Answer {
    let arguments = json!({
        "cmd": command, "yield_time_ms": 30_000, "sandbox_permissions": "require_escalated",
    });
    let calls = vec![ostler_scripted_model::Call::function("exec_command", arguments)];
    ostler_scripted_model::Answer { calls, ..Default::default() }
}

/// All versions ask before they remove by force, also in the sandbox. Before 0.166.0 nothing leaves the sandbox where Codex asks
/// before every command.
#[rstest]
#[case::oldest("0.130.0", Approval::OnRequest, Sandboxing::Inside)]
#[case::old("0.142.5", Approval::OnRequest, Sandboxing::Inside)]
#[case::on_request("0.166.0", Approval::OnRequest, Sandboxing::Inside)]
#[case::untrusted("0.166.0", Approval::Untrusted, Sandboxing::InsideFirst)]
#[case::newest("0.169.0", Approval::Untrusted, Sandboxing::InsideFirst)]
#[tokio::test]
async fn a_rule_for_a_command_in_the_sandbox_does_not_let_it_out(
    #[case] version: &str,
    #[case] approval: Approval,
    #[case] inside: Sandboxing,
) {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let outside = scratch.path().join("outside");
    let remove = format!("rm -rf {}", outside.display());
    let stage = stage_of(
        version,
        vec![
            ("in the stable", vec![command(&remove), text("Done.")]),
            ("out of the stable", vec![escalated(&remove), text("Done.")]),
        ],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let asking = |settings: &mut ostler_model::TaskSettings| settings.approval = approval;
    let sandboxing = |ask: &AskRecord| match &ask.content.kind {
        AskKind::Command(command) => command.sandboxing,
        other => panic!("{other:?}"),
    };
    let task = shop.start_with(&stage, "in the stable", asking).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    assert_eq!(sandboxing(&ask), inside);
    always(&shop, &ask, Reach::Everywhere, None).await;
    shop.until(&task, TaskState::Completed).await.unwrap();
    let rule = shop.engine.rules().iter().next().unwrap().id.clone();
    let again = shop.start_with(&stage, "in the stable", asking).await.unwrap();
    shop.until(&again, TaskState::Completed).await.unwrap();
    assert_eq!(decided(&shop, &again).await, [Some(DecidedBy::Rule { rule: rule.clone() })]);

    std::fs::write(&outside, "oats").unwrap();
    let task = shop.start_with(&stage, "out of the stable", asking).await.unwrap();
    shop.until(&task, TaskState::WaitingForApproval).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    assert_eq!((sandboxing(&ask), decided(&shop, &task).await), (Sandboxing::Outside, vec![None]));
    assert!(ask.content.kind.summary().starts_with("run outside of the sandbox: "));
    assert!(outside.exists());

    // A rule that is made of this one lets it out.
    always(&shop, &ask, Reach::Everywhere, None).await;
    shop.until(&task, TaskState::Completed).await.unwrap();
    assert!(!outside.exists());
    let again = shop.start_with(&stage, "out of the stable", asking).await.unwrap();
    shop.until(&again, TaskState::Completed).await.unwrap();
    let by = decided(&shop, &again).await;
    assert!(matches!(&by[..], [Some(DecidedBy::Rule { rule: it })] if *it != rule), "{by:?}");
    shop.close().await.unwrap();
}

/// An answer that waits for its question is for the command in the sandbox, not for the same one outside.
#[tokio::test]
async fn an_answer_for_a_command_in_the_sandbox_is_none_for_one_outside() {
    let stage = stage_of(
        "0.166.0",
        vec![
            (AFTER_PAUSE, vec![escalated(LEAVES_A_LINE), text("Done.")]),
            (PROMPT, vec![command(LEAVES_A_LINE)]),
        ],
    );
    let shop = Workshop::open(&stage).await.unwrap();
    let asking = |settings: &mut ostler_model::TaskSettings| {
        untrusted(settings);
        settings.on_crash = ostler_model::task::OnCrash::Ask;
    };
    let task = shop.start_with(&stage, PROMPT, asking).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    shop.kill_codex(&stage, &task).await.unwrap();
    shop.until(&task, TaskState::Parked).await.unwrap();
    shop.answer(&ask, Decision::Session).await.unwrap();
    let asks = shop.engine.store().undecided_asks_of(&task).await.unwrap();
    let ours = asks.iter().find(|ask| ask.source.is_none()).unwrap();
    shop.answer(ours, Decision::Once).await.unwrap();
    shop.until(&task, TaskState::WaitingForApproval).await.unwrap();

    let other = shop.ask(&task).await.unwrap();
    assert_ne!((&other.id, &other.digest), (&ask.id, &ask.digest));
    assert_eq!(stage.lines("ran.log"), [""; 0]);
    shop.close().await.unwrap();
}

/// Codex proposes the beginning of the first of two commands, which no rule of ours can be about.
#[tokio::test]
async fn what_no_rule_can_be_made_of_is_not_offered_for_good() {
    let both = "touch stable && touch barn";
    let stage = stage("0.166.0", vec![command(both), text("Done.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    let offers = &ask.content.offers;
    assert!(offers.contains(&Decision::Once), "{offers:?}");
    assert!(!offers.iter().any(|it| matches!(it, Decision::Always(_))), "{offers:?}");
    shop.close().await.unwrap();
}

#[tokio::test]
async fn a_rule_ends_when_it_was_to_end() {
    let stage = stage("0.166.0", vec![command(PLAIN), text("Done.")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let soon = i64::try_from(now.as_millis()).unwrap() + 3_000;
    let task = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    always(&shop, &ask, Reach::Everywhere, Some(soon)).await;
    shop.until(&task, TaskState::Completed).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(3_100)).await;

    let other = shop.start_with(&stage, PROMPT, untrusted).await.unwrap();
    shop.until(&other, TaskState::WaitingForApproval).await.unwrap();
    assert_eq!(decided(&shop, &other).await, [None]);
    shop.close().await.unwrap();
}

fn patch(path: &str) -> ostler_scripted_model::Answer {
    let patch = format!("*** Begin Patch\n*** Add File: {path}\n+leather\n*** End Patch\n");
    let calls = vec![ostler_scripted_model::Call::apply_patch(&patch)];
    ostler_scripted_model::Answer { calls, ..Default::default() }
}

/// A rule for a folder lets patches in it through, each use on record, and nothing that leads out of it.
#[rstest]
#[tokio::test]
async fn a_rule_for_files_allows_patches_in_its_folder_and_none_that_leads_out(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    let answers = vec![patch("saddle/girth.txt"), patch("out/stolen.txt"), text("Done.")];
    let stage = stage(version, answers);
    let workspace = std::fs::canonicalize(stage.workspace()).unwrap();
    let outside = workspace.join("elsewhere");
    for folder in ["elsewhere", "yard"] {
        std::fs::create_dir_all(workspace.join(folder).join("saddle")).unwrap();
    }
    let yard = workspace.join("yard");
    std::os::unix::fs::symlink(&outside, yard.join("out")).unwrap();
    let rule = Rule {
        id: "config-1".into(),
        effect: Effect::Allow,
        matcher: Matcher::FilesBelow(Folder::try_from(yard.display().to_string()).unwrap()),
        sandboxing: Rule::usual_sandboxing(),
        cwd: None,
        scope: Scope::Everywhere,
        expires_at: None,
        made_by: "test".to_owned(),
        made_at: 0,
        from_ask: None,
    };
    let id = rule.id.clone();
    let shop = Workshop::open_with(&stage, |settings| settings.rules = vec![rule]).await.unwrap();
    let in_yard = |settings: &mut ostler_model::TaskSettings| {
        settings.cwd = yard.display().to_string();
        settings.approval = ostler_model::task::Approval::Untrusted;
        settings.sandbox.mode = ostler_model::task::SandboxMode::ReadOnly;
    };
    let task = shop.start_with(&stage, PROMPT, in_yard).await.unwrap();

    // The first patch needs nobody; the second leads out by a link.
    let ask = shop.ask(&task).await.unwrap();
    let by = decided(&shop, &task).await;
    assert_eq!(by, [Some(DecidedBy::Rule { rule: id.clone() }), None], "{ask:?}");
    assert_eq!(std::fs::read_to_string(yard.join("saddle/girth.txt")).unwrap(), "leather\n");
    assert_eq!(shop.engine.store().rule_uses(&id, 9).await.unwrap().len(), 1);
    shop.answer(&ask, Decision::Deny).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    assert!(!outside.join("stolen.txt").exists());
    shop.close().await.unwrap();
}

/// Another task that may write there could put a link on the way while Codex makes the change, so a person decides until it is over.
#[rstest]
#[tokio::test]
async fn a_rule_for_files_decides_nothing_while_another_task_may_write_there(
    #[values("0.142.5", "0.166.0")] version: &str,
) {
    let patches = vec![patch("girth.txt"), patch("strap.txt"), text("Done.")];
    let stage = stage_of(
        version,
        vec![("flip a link", vec![command(LEAVES_A_LINE), text("Done.")]), (PROMPT, patches)],
    );
    let yard = std::fs::canonicalize(stage.workspace()).unwrap().join("yard");
    std::fs::create_dir(&yard).unwrap();
    let rule = Rule {
        id: "config-1".into(),
        effect: Effect::Allow,
        matcher: Matcher::FilesBelow(Folder::try_from(yard.display().to_string()).unwrap()),
        sandboxing: Rule::usual_sandboxing(),
        cwd: None,
        scope: Scope::Everywhere,
        expires_at: None,
        made_by: "test".to_owned(),
        made_at: 0,
        from_ask: None,
    };
    let id = rule.id.clone();
    let shop = Workshop::open_with(&stage, |settings| settings.rules = vec![rule]).await.unwrap();
    let in_yard = |mode| {
        let cwd = yard.display().to_string();
        move |settings: &mut ostler_model::TaskSettings| {
            settings.cwd = cwd;
            settings.approval = Approval::Untrusted;
            settings.sandbox.mode = mode;
        }
    };
    let other =
        shop.start_with(&stage, "flip a link", in_yard(SandboxMode::WorkspaceWrite)).await.unwrap();
    let others = shop.ask(&other).await.unwrap();

    let task = shop.start_with(&stage, PROMPT, in_yard(SandboxMode::ReadOnly)).await.unwrap();
    let ask = shop.ask(&task).await.unwrap();
    assert_eq!(decided(&shop, &task).await, [None]);
    let why = format!(
        "a rule for files is not enough: task {other} may write there at the same time, so a link could lead elsewhere"
    );
    assert_eq!(ask.content.reason, Some(why));

    shop.answer(&others, Decision::Deny).await.unwrap();
    shop.until(&other, TaskState::Completed).await.unwrap();
    shop.answer(&ask, Decision::Once).await.unwrap();
    shop.until(&task, TaskState::Completed).await.unwrap();
    let by = decided(&shop, &task).await;
    assert_eq!(by[1..], [Some(DecidedBy::Rule { rule: id })]);
    assert_eq!(std::fs::read_to_string(yard.join("strap.txt")).unwrap(), "leather\n");
    shop.close().await.unwrap();
}
