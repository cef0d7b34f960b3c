//! Questions of a host agent's own tools: the same rules, program and people decide them, and no task is behind them.

use std::time::Duration;

use ostler_engine::{Answer, AnswerError, Approver, HostAsk, Reach, Refusal, Remembering};
use ostler_model::ask::{Ask, AskKind, CommandAsk};
use ostler_model::task::{AskClosed, AskRecord, AskState, DecidedBy};
use ostler_model::thread::Withdrawal;
use ostler_model::{AskId, Decision};
use ostler_testkit::{Stage, Workshop, write_script};

use crate::{stage, text};

const PATIENCE: Duration = Duration::from_secs(60);

fn person(name: &str) -> DecidedBy {
    DecidedBy::Person { name: name.to_owned(), surface: "test".to_owned() }
}

fn wish(owner: &str, key: &str, command: &str) -> HostAsk {
    let command = Some(command.to_owned());
    let cwd = Some("/work".to_owned());
    let kind = AskKind::Command(CommandAsk {
        command,
        cwd,
        sandboxing: ostler_model::ask::Sandboxing::Inside,
        ..CommandAsk::default()
    });
    let offers = vec![Decision::Once, Decision::Session, Decision::Deny];
    HostAsk {
        key: key.to_owned(),
        owner: owner.to_owned(),
        cwd: "/work".to_owned(),
        content: Ask { thread: None, turn: None, item: None, reason: None, kind, offers },
        by: "ada".to_owned(),
    }
}

async fn answer(shop: &Workshop, ask: &AskRecord, decision: Decision) -> Result<(), AnswerError> {
    let answer = Answer { decision, reason: None, remember: None, by: person("ada") };
    shop.engine.answer(&ask.id, answer).await
}

async fn decided(shop: &Workshop, ask: &AskId) -> (Decision, DecidedBy) {
    let ask = shop.engine.host_decision(ask, PATIENCE).await.unwrap().unwrap();
    let decision = ask.decision.unwrap();
    (decision.decision, decision.by)
}

#[tokio::test]
async fn one_that_comes_twice_is_one_and_the_first_answer_counts() {
    let stage = stage("0.166.0", vec![text("unheard")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let (first, second) = tokio::join!(
        shop.engine.host_ask(wish("c1", "k1", "touch a")),
        shop.engine.host_ask(wish("c1", "k1", "touch a"))
    );
    let ask = first.unwrap();
    assert_eq!((ask.state, ask.task.as_str()), (AskState::Open, "c1"));
    assert_eq!(second.unwrap(), ask);
    let other = shop.engine.host_ask(wish("c1", "k1", "touch b")).await;
    assert!(matches!(other, Err(Refusal::AskKeyReused { .. })), "{other:?}");

    let engine = shop.engine.clone();
    let (id, waits) = (ask.id.clone(), ask.id.clone());
    let waits = tokio::spawn(async move { engine.host_decision(&waits, PATIENCE).await });
    answer(&shop, &ask, Decision::Once).await.unwrap();
    let heard = waits.await.unwrap().unwrap().unwrap();
    assert_eq!(heard.state, AskState::Decided);
    assert_eq!(decided(&shop, &id).await, (Decision::Once, person("ada")));
    match answer(&shop, &ask, Decision::Deny).await {
        Err(AnswerError::Decided { by }) => assert_eq!(by, person("ada").describe()),
        other => panic!("{other:?}"),
    }
    // What is decided cannot be taken back.
    let kept = shop.engine.withdraw_host_ask(&id).await.unwrap().unwrap();
    assert_eq!(kept, heard);
    shop.close().await.unwrap();
}

#[tokio::test]
async fn one_stays_open_over_a_restart_and_can_be_withdrawn() {
    let stage = stage("0.166.0", vec![text("unheard")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let ask = shop.engine.host_ask(wish("c1", "k1", "touch a")).await.unwrap();
    let left = shop.engine.host_ask(wish("c1", "k2", "touch b")).await.unwrap();
    shop.close().await.unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    let undecided = shop.engine.store().undecided_host_asks().await.unwrap();
    let undecided: Vec<AskRecord> = undecided.into_iter().map(|row| row.ask).collect();
    assert_eq!(undecided, [ask.clone(), left.clone()]);
    assert_eq!(shop.engine.host_ask(wish("c1", "k1", "touch a")).await.unwrap(), ask);
    let still = shop.engine.host_decision(&ask.id, Duration::ZERO).await.unwrap();
    assert_eq!(still, Some(ask.clone()));
    answer(&shop, &ask, Decision::Deny).await.unwrap();
    assert_eq!(decided(&shop, &ask.id).await, (Decision::Deny, person("ada")));
    let reason = Withdrawal::Elsewhere;
    let closed = AskClosed::Withdrawn { reason };
    let expected = AskRecord { state: AskState::Closed, closed: Some(closed), ..left.clone() };
    assert_eq!(shop.engine.withdraw_host_ask(&left.id).await.unwrap(), Some(expected));
    let late = answer(&shop, &left, Decision::Once).await;
    assert!(matches!(late, Err(AnswerError::Closed)), "{late:?}");
    assert_eq!(shop.engine.withdraw_host_ask(&"none".into()).await.unwrap(), None);
    shop.close().await.unwrap();
}

#[tokio::test]
async fn what_was_allowed_for_the_session_holds_for_its_owner_alone() {
    let stage = stage("0.166.0", vec![text("unheard")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let ask = shop.engine.host_ask(wish("c1", "k1", "touch a")).await.unwrap();
    answer(&shop, &ask, Decision::Session).await.unwrap();
    shop.close().await.unwrap();

    let shop = Workshop::open(&stage).await.unwrap();
    let again = shop.engine.host_ask(wish("c1", "k2", "touch a")).await.unwrap();
    let by = DecidedBy::Earlier { ask: ask.id };
    assert_eq!(decided(&shop, &again.id).await, (Decision::Session, by));
    let others = [wish("c2", "k2", "touch a"), wish("c1", "k3", "touch b")];
    for other in others {
        let opened = shop.engine.host_ask(other).await.unwrap();
        assert_eq!(opened.state, AskState::Open);
    }
    shop.close().await.unwrap();
}

#[tokio::test]
async fn an_answer_for_good_makes_a_rule_whose_use_is_on_record() {
    let stage = stage("0.166.0", vec![text("unheard")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let ask = shop.engine.host_ask(wish("c1", "k1", "touch a")).await.unwrap();
    let remember = Some(Remembering { reach: Reach::Directory(None), expires_at: None });
    let (decision, by) = (Decision::Once, person("ada"));
    let answer = Answer { decision, reason: None, remember, by };
    shop.engine.answer(&ask.id, answer).await.unwrap();

    let rule = shop.engine.rules().iter().next().unwrap().id.clone();
    let again = shop.engine.host_ask(wish("c2", "k1", "touch a")).await.unwrap();
    let by = DecidedBy::Rule { rule: rule.clone() };
    assert_eq!(again.decision.map(|record| record.by), Some(by));
    let uses = shop.engine.store().rule_uses(&rule, 9).await.unwrap();
    let uses: Vec<_> = uses.into_iter().map(|used| (used.ask, used.task)).collect();
    assert_eq!(uses, [(again.id, "c2".into())]);
    shop.close().await.unwrap();
}

#[tokio::test]
async fn the_operators_program_decides_also_those_that_it_was_ended_over() {
    let stage = stage("0.166.0", vec![text("unheard")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let before = shop.engine.host_ask(wish("c1", "k1", "touch a")).await.unwrap();
    shop.close().await.unwrap();

    let program = approver(&stage, r#"grep -q '"task":"c1"' && echo '{"decision":"once"}'"#);
    let approver = Approver {
        command: vec![program.clone()],
        timeout: Duration::from_secs(20),
        kinds: Vec::new(),
    };
    let shop = Workshop::open_with(&stage, |settings| settings.approver = Some(approver));
    let shop = shop.await.unwrap();
    let after = shop.engine.host_ask(wish("c1", "k2", "touch b")).await.unwrap();
    let by = DecidedBy::Approver { program };
    for ask in [before.id, after.id] {
        assert_eq!(decided(&shop, &ask).await, (Decision::Once, by.clone()));
    }
    shop.close().await.unwrap();
}

#[tokio::test]
async fn what_nobody_could_answer_is_not_asked() {
    let stage = stage("0.166.0", vec![text("unheard")]);
    let shop = Workshop::open(&stage).await.unwrap();
    let fine = wish("c1", "k1", "touch a");
    let mut no_offer = fine.clone();
    no_offer.content.offers.clear();
    let mut for_programs = fine.clone();
    for_programs.content.kind = AskKind::Other { name: "x".to_owned() };
    let wrong = [
        HostAsk { owner: " ".to_owned(), ..fine.clone() },
        HostAsk { key: "k\n".to_owned(), ..fine.clone() },
        HostAsk { cwd: "work".to_owned(), ..fine.clone() },
        no_offer,
        for_programs,
    ];
    for wrong in wrong {
        let refused = shop.engine.host_ask(wrong).await;
        assert!(matches!(refused, Err(Refusal::Invalid { .. })), "{refused:?}");
    }
    assert_eq!(shop.engine.store().undecided_host_asks().await.unwrap(), []);
    shop.close().await.unwrap();
}

fn approver(stage: &Stage, script: &str) -> String {
    let program = stage.state().join("approver");
    write_script(&program, &format!("#!/bin/sh\n{script}\n"), 0o755).unwrap();
    program.display().to_string()
}
