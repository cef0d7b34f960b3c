//! An answer for good makes a rule, and the rule decides the next ask.

use std::time::{SystemTime, UNIX_EPOCH};

use ostler_engine::{Answer, Reach, Remembering};
use ostler_model::policy::{Effect, Folder, Matcher, Rule, Scope};
use ostler_model::task::{AskRecord, DecidedBy};
use ostler_model::{Decision, Event, TaskId, TaskState};
use ostler_testkit::{Stage, Workshop};
use rstest::rstest;

use crate::{PROMPT, command, stage, text, untrusted};

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
