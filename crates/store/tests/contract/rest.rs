//! Rules, app-servers, homes, sizes, and what is left of a removed task.

use ostler_store::{AppServerRow, KeyRow, RuleRow, RuleUse, StartKey, Write};

use crate::samples::{NOON, ask, event, id, intent, new, task};
use crate::world::{World, write};

fn rule(name: &str, expires_at: Option<i64>) -> RuleRow {
    RuleRow { id: name.into(), json: format!("{{\"name\":{name:?}}}"), expires_at }
}

#[tokio::test]
async fn rules_hold_until_they_expire_or_go() {
    let world = World::new();
    let store = world.open();
    let rules = [rule("c", None), rule("a", Some(NOON)), rule("b", Some(NOON + 1))];
    write(&store, rules.clone().map(Write::Rule).into()).await;
    let [c, a, b] = rules;
    assert_eq!(store.rules(NOON - 1).await.unwrap(), [a, b.clone(), c.clone()]);
    assert_eq!(store.rules(NOON).await.unwrap(), [b.clone(), c]);
    write(&store, vec![Write::RuleGone("c".into()), Write::Rule(rule("b", Some(NOON + 5)))]).await;
    assert_eq!(store.rules(NOON + 4).await.unwrap(), [rule("b", Some(NOON + 5))]);
}

#[tokio::test]
async fn every_use_of_a_rule_is_on_record_also_after_the_rule() {
    let world = World::new();
    let store = world.open();
    let used =
        |ask: &str, at| Write::RuleUsed { rule: "r".into(), ask: ask.into(), task: id("t1"), at };
    write(&store, vec![Write::Rule(rule("r", None)), used("a1", 1), used("a2", 2), used("a3", 3)])
        .await;
    write(&store, vec![Write::RuleGone("r".into())]).await;
    let expected =
        |ask: &str, at| RuleUse { rule: "r".into(), ask: ask.into(), task: id("t1"), at };
    let found = store.rule_uses(&"r".into(), 2).await.unwrap();
    assert_eq!(found, [expected("a3", 3), expected("a2", 2)]);
}

#[tokio::test]
async fn app_servers_and_pins_are_found_again() {
    let world = World::new();
    let store = world.open();
    let server = |keeper: &str, pool: &str| AppServerRow {
        keeper: keeper.to_owned(),
        version: "0.166.0".to_owned(),
        codex_home: "/home/ada/.codex".to_owned(),
        pool_key: pool.to_owned(),
        started_at: NOON,
        isolated_for: (keeper == "k2").then(|| id("t1")),
    };
    let pin = |version: &str| Write::HomePin {
        codex_home: "/home/ada/.codex".to_owned(),
        version: version.to_owned(),
    };
    let servers = ["k1", "k2", "k3"].map(|keeper| Write::AppServer(server(keeper, "p")));
    write(&store, servers.into()).await;
    write(&store, vec![pin("0.142.5"), pin("0.166.0"), Write::AppServer(server("k1", "q"))]).await;
    write(&store, vec![Write::AppServerGone { keeper: "k3".to_owned() }]).await;
    store.close().await;

    let store = world.open();
    assert_eq!(store.app_servers().await.unwrap(), [server("k1", "q"), server("k2", "p")]);
    let found = store.home_pin("/home/ada/.codex").await.unwrap();
    assert_eq!(found.as_deref(), Some("0.166.0"));
    assert_eq!(store.home_pin("/elsewhere").await.unwrap(), None);
}

#[tokio::test]
async fn nothing_is_left_of_a_removed_task_and_its_key_is_free() {
    let world = World::new();
    let store = world.open();
    let start = |name: &str| Write::NewTask {
        task: Box::new(task(name)),
        key: Some(StartKey { key: "k".to_owned(), digest: name.to_owned() }),
    };
    let mut writes = vec![start("t1"), new(task("t2")), Write::Ask(Box::new(ask("a1", "t1")))];
    let pending = ostler_model::task::IntentState::Pending;
    writes.push(Write::Intent(Box::new(intent("i1", "t1", pending))));
    writes.extend((0..3000).map(|number| event("t1", number)));
    writes.push(event("t2", 1));
    write(&store, writes).await;
    write(&store, vec![Write::RemoveTask(id("t1")), start("t3")]).await;

    assert_eq!(store.task(&id("t1")).await.unwrap(), None);
    assert_eq!(store.events(&id("t1"), 0, 9).await.unwrap(), []);
    assert_eq!(store.undecided_asks().await.unwrap(), []);
    assert_eq!(store.open_intents().await.unwrap(), []);
    let key = StartKey { key: "k".to_owned(), digest: "t3".to_owned() };
    assert_eq!(store.started_with("ada", &key).await.unwrap(), Some(id("t3")));
    // A new task of the same id begins anew, while the old log is still being cleared away.
    write(&store, vec![new(task("t1")), event("t1", 7)]).await;
    assert_eq!(store.events(&id("t1"), 0, 9).await.unwrap().len(), 1);
    world.wait_until_rows(&store, "events", 2).await;
    assert_eq!(store.events(&id("t2"), 0, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn sizes_say_which_table_is_large() {
    let world = World::new();
    let store = world.open();
    let mut writes = vec![new(task("t1"))];
    writes.extend((0..2000).map(|number| event("t1", number)));
    write(&store, writes).await;
    let sizes = store.sizes().await.unwrap();
    assert_eq!(sizes.tables[0].table, "events");
    let tables: u64 = sizes.tables.iter().map(|table| table.bytes).sum();
    assert!(tables <= sizes.file && sizes.free < sizes.file, "{sizes:?}");
    assert!(sizes.tables[0].bytes > 100_000, "{sizes:?}");
}

#[tokio::test]
async fn a_key_that_is_gone_does_not_come_back_by_being_used() {
    let world = World::new();
    let store = world.open();
    let key =
        |json: &str| KeyRow { id: "k1".to_owned(), digest: "d1".to_owned(), json: json.to_owned() };
    store.commit(Write::Key(key("{}")).into()).await.unwrap();
    store.commit(Write::KeyUsed(key("{\"used\":1}")).into()).await.unwrap();
    assert_eq!(store.keys().await.unwrap(), [key("{\"used\":1}")]);
    store.commit(Write::KeyGone { id: "k1".to_owned() }.into()).await.unwrap();
    store.commit(Write::KeyUsed(key("{\"used\":2}")).into()).await.unwrap();
    assert_eq!(store.keys().await.unwrap(), []);
}
