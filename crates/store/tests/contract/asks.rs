//! Asks and intents: the first decision wins, and secrets do not stay.

use ostler_model::task::{
    AskClosed, AskRecord, AskState, DecidedBy, DecisionRecord, IntentState, NotDone, Receipt,
};
use ostler_model::{Decision, Event};
use ostler_store::{Attempt, Committed, HostAskRow, Retention, Store, StoreError, Write};

use crate::samples::{
    NOON, answer, answers, ask, decided, event, id, intent, new, secret_ask, task,
};
use crate::world::{World, refused, write};

fn decide(ask: &str, decision: Decision, name: &str) -> Write {
    let decision = Box::new(decided(decision, name));
    Write::Decide { ask: ask.into(), decision, then: AskState::Decided }
}

fn put(ask: AskRecord) -> Write {
    Write::Ask(Box::new(ask))
}

async fn ids(asks: impl Future<Output = Result<Vec<AskRecord>, StoreError>>) -> Vec<String> {
    asks.await.unwrap().into_iter().map(|ask| ask.id.to_string()).collect()
}

#[tokio::test]
async fn the_first_decision_wins_and_the_second_learns_whose_it_was() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1")), put(ask("a1", "t1"))]).await;
    let won = AskRecord {
        state: AskState::Decided,
        decision: Some(decided(Decision::Once, "ada")),
        ..ask("a1", "t1")
    };

    assert_eq!(
        write(&store, vec![decide("a1", Decision::Once, "ada")]).await,
        Committed::Written(vec![])
    );
    let second = vec![event("t1", 1), decide("a1", Decision::Deny, "bob"), event("t1", 2)];
    assert_eq!(write(&store, second).await, Committed::Lost(Box::new(won.clone())));
    assert_eq!(store.events(&id("t1"), 0, 9).await.unwrap(), []);
    assert_eq!(store.ask(&"a1".into()).await.unwrap(), Some(won));
    let error = refused(&store, vec![decide("none", Decision::Once, "ada")]).await;
    assert!(matches!(error, StoreError::NoAsk(ask) if ask == "none".into()));
}

#[tokio::test]
async fn many_who_decide_at_once_have_one_winner() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1")), put(ask("a1", "t1"))]).await;
    let people = (0..20).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let name = format!("p{number}");
            let decided = decide("a1", Decision::Once, &name);
            (write(&store, vec![decided]).await, name)
        })
    });
    let mut winners = Vec::new();
    for person in people.collect::<Vec<_>>() {
        let (committed, name) = person.await.unwrap();
        if let Committed::Written(_) = committed {
            winners.push(name);
        }
    }
    assert_eq!(winners.len(), 1);
    let found = store.ask(&"a1".into()).await.unwrap().unwrap();
    assert_eq!(found.decision, Some(decided(Decision::Once, &winners[0])));
}

#[tokio::test]
async fn asks_are_found_by_all_that_is_known_of_them() {
    let world = World::new();
    let store = world.open();
    let parked = AskRecord { state: AskState::Parked, ..ask("ab2", "t1") };
    let closed = AskRecord {
        state: AskState::Closed,
        closed: Some(AskClosed::Overtaken),
        ..ask("ad4", "t1")
    };
    write(&store, vec![new(task("t1")), new(task("t2"))]).await;
    let asks = [ask("ab1", "t2"), parked.clone(), ask("ac3", "t1"), closed, ask("b1", "t1")];
    write(&store, asks.map(put).into()).await;
    write(&store, vec![decide("b1", Decision::Once, "ada")]).await;

    assert_eq!(ids(store.undecided_asks()).await, ["ab1", "ab2", "ac3"]);
    assert_eq!(ids(store.undecided_asks_of(&id("t1"))).await, ["ab2", "ac3"]);
    assert_eq!(ids(store.asks_of(&id("t1"))).await, ["ab2", "ac3", "ad4", "b1"]);
    assert_eq!(ids(store.asks_by_prefix("ab", 9)).await, ["ab1", "ab2"]);
    assert_eq!(ids(store.asks_by_prefix("a", 3)).await, ["ab1", "ab2", "ac3"]);
    assert_eq!(store.ask(&"ab2".into()).await.unwrap(), Some(parked));
}

#[tokio::test]
async fn an_id_of_an_ask_cannot_be_taken_over_by_another_task() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![new(task("t1")), new(task("t2")), put(ask("a1", "t1"))]).await;
    let error = refused(&store, vec![put(ask("a1", "t2"))]).await;
    assert!(matches!(error, StoreError::AskIdTaken(ask) if ask == "a1".into()));
    assert_eq!(store.ask(&"a1".into()).await.unwrap(), Some(ask("a1", "t1")));
}

#[tokio::test]
async fn what_is_owed_is_found_until_it_is_proven() {
    let world = World::new();
    let store = world.open();
    let sent = IntentState::Sent { after: Some("turn-1".into()) };
    let done = IntentState::Done { receipt: Receipt::Taken { turn: "turn-2".into() } };
    let not_done = IntentState::NotDone { why: NotDone::TooLate };
    let intents = [
        intent("i1", "t2", IntentState::Pending),
        intent("i2", "t1", sent),
        intent("i3", "t1", done.clone()),
        intent("i4", "t1", not_done),
        intent("i5", "t1", IntentState::Unknown { why: "lost".to_owned() }),
    ];
    let mut writes = vec![new(task("t1")), new(task("t2"))];
    writes.extend(intents.clone().map(|intent| Write::Intent(Box::new(intent))));
    write(&store, writes).await;

    let [i1, i2, ..] = intents.clone();
    assert_eq!(store.open_intents().await.unwrap(), [i2.clone(), i1]);
    assert_eq!(store.open_intents_of(&id("t1")).await.unwrap(), [i2]);
    assert_eq!(store.intents(&id("t1")).await.unwrap(), intents[1..]);
    let moved = intent("i2", "t1", done);
    write(&store, vec![Write::Intent(Box::new(moved.clone()))]).await;
    assert_eq!(store.open_intents_of(&id("t1")).await.unwrap(), []);
    assert_eq!(store.intents(&id("t1")).await.unwrap()[0], moved);
    assert_eq!(store.intent(&"i2".into()).await.unwrap(), Some(moved));
}

const SECRET: &str = "s3cret-that-nobody-may-see";

/// A short one stays inside one page of a file, a long one fills several: each has its own way of being left behind.
fn secrets() -> [String; 2] {
    [SECRET.to_owned(), SECRET.repeat(1000)]
}

/// A secret was given, and is owed.
async fn with_a_secret(store: &Store, secret: &str) {
    let intended = answer("i1", "t1", "a1", answers(secret));
    write(store, vec![new(task("t1")), put(secret_ask("a1", "t1"))]).await;
    let record = Box::new(decided(answers(secret), "ada"));
    let decision = record.clone();
    let event = |event| Write::Event { task: id("t1"), at: 0, event: Box::new(event) };
    let writes = vec![
        Write::Decide { ask: "a1".into(), decision, then: AskState::Decided },
        Write::Intent(Box::new(intended.clone())),
        event(Event::Intended { intent: Box::new(intended) }),
        event(Event::AskDecided { ask: "a1".into(), decision: record }),
    ];
    write(store, writes).await;
}

/// What everybody may read about it.
async fn shown(store: &Store) -> String {
    let ask = store.ask(&"a1".into()).await.unwrap();
    let intents = store.intents(&id("t1")).await.unwrap();
    let events = store.events(&id("t1"), 0, 9).await.unwrap();
    format!("{ask:?} {intents:?} {events:?}")
}

#[tokio::test]
async fn a_secret_answer_is_shown_to_nobody_and_known_while_it_is_owed() {
    let world = World::new();
    let store = world.open();
    with_a_secret(&store, SECRET).await;
    let seen = shown(&store).await;
    assert!(!seen.contains(SECRET) && seen.contains("red"), "{seen}");

    let owed = store.owed_decision(&"a1".into()).await.unwrap();
    assert_eq!(owed, Some(answers(SECRET)));
    let open = store.open_intents().await.unwrap();
    assert_eq!(open, [answer("i1", "t1", "a1", answers(SECRET))]);

    // Written again as it was read, it is still owed.
    let read = store.ask(&"a1".into()).await.unwrap().unwrap();
    let moved = store.intents(&id("t1")).await.unwrap().pop().unwrap();
    let sent = IntentState::Sent { after: None };
    let moved = ostler_model::task::Intent { state: sent, ..moved };
    write(&store, vec![put(read), Write::Intent(Box::new(moved))]).await;
    assert_eq!(store.owed_decision(&"a1".into()).await.unwrap(), owed);
    let open = store.open_intents().await.unwrap().pop().unwrap();
    assert_eq!(open.wish, answer("i1", "t1", "a1", answers(SECRET)).wish);
}

#[tokio::test]
async fn a_secret_answer_is_gone_from_the_disk_once_it_is_not_owed() {
    for secret in secrets() {
        let world = World::new();
        let store = world.open();
        with_a_secret(&store, &secret).await;
        assert!(world.holds_on_disk(SECRET), "otherwise this test could not fail");

        let ask = store.ask(&"a1".into()).await.unwrap().unwrap();
        let closed = Some(AskClosed::Answered);
        let ask = AskRecord { state: AskState::Closed, closed, ..ask };
        write(&store, vec![put(ask)]).await;
        let state = IntentState::Done { receipt: Receipt::Answered };
        let intent = store.open_intents().await.unwrap().pop().unwrap();
        let intent = ostler_model::task::Intent { state, ..intent };
        write(&store, vec![Write::Intent(Box::new(intent))]).await;

        assert_eq!(store.owed_decision(&"a1".into()).await.unwrap(), Some(answers("(hidden)")));
        assert_eq!(store.open_intents().await.unwrap(), []);
        assert!(!shown(&store).await.contains(SECRET));
        world.wait_until_gone(&store, SECRET).await;
    }
}

#[tokio::test]
async fn a_secret_answer_goes_with_its_task() {
    for secret in secrets() {
        let world = World::new();
        let store = world.open();
        with_a_secret(&store, &secret).await;
        write(&store, vec![Write::RemoveTask(id("t1"))]).await;
        assert_eq!(store.ask(&"a1".into()).await.unwrap(), None);
        world.wait_until_gone(&store, SECRET).await;
    }
}

#[tokio::test]
async fn the_answer_to_an_ask_that_is_not_there_counts_as_secret() {
    let world = World::new();
    let store = world.open();
    let intended = answer("i1", "t1", "none", answers(SECRET));
    write(&store, vec![new(task("t1")), Write::Intent(Box::new(intended.clone()))]).await;
    assert!(!shown(&store).await.contains(SECRET));
    assert_eq!(store.open_intents().await.unwrap(), [intended]);
}

fn host_ask(name: &str, owner: &str, key: &str) -> HostAskRow {
    HostAskRow {
        ask: AskRecord { source: None, digest: "d".to_owned(), ..ask(name, owner) },
        key: key.to_owned(),
        cwd: "/work".to_owned(),
        by: "ada".to_owned(),
        attempts: Vec::new(),
    }
}

#[tokio::test]
async fn host_asks_are_found_by_all_that_is_known_of_them() {
    let world = World::new();
    let store = world.open();
    let put = |row: &HostAskRow| Write::HostAsk(Box::new(row.clone()));
    let (first, second) = (host_ask("ab1", "c1", "k1"), host_ask("ab2", "c1", "k2"));
    let other = host_ask("cd3", "c2", "k1");
    write(&store, vec![put(&first), put(&second), put(&other)]).await;
    assert_eq!(
        store.undecided_host_asks().await.unwrap(),
        [first.clone(), second.clone(), other.clone()]
    );
    let for_session = decided(Decision::Session, "ada");
    let decide = |by: &str| Write::DecideHost {
        ask: "ab2".into(),
        decision: Box::new(DecisionRecord { by: person(by), ..for_session.clone() }),
    };
    let attempt = Attempt { who: "p".to_owned(), why: "w".to_owned(), at: NOON };
    let tried = Write::HostAttempt { ask: "ab2".into(), attempt: attempt.clone() };
    write(&store, vec![decide("ada"), tried]).await;
    let mut allowed = second.clone();
    allowed.ask.state = AskState::Decided;
    allowed.ask.decision = Some(for_session.clone());
    allowed.attempts.push(attempt);
    // The first decision counts, and what is decided cannot be taken back.
    let lost = Committed::Lost(Box::new(allowed.ask.clone()));
    let rule = || Write::RuleGone("r".into());
    assert_eq!(write(&store, vec![rule(), decide("bob")]).await, lost);
    let close = Write::CloseHost { ask: "ab2".into(), how: AskClosed::Overtaken };
    assert_eq!(write(&store, vec![close]).await, lost);
    store.close().await;

    let store = world.open();
    assert_eq!(store.undecided_host_asks().await.unwrap(), [first.clone(), other.clone()]);
    assert_eq!(store.host_ask(&"ab2".into()).await.unwrap(), Some(allowed.clone()));
    assert_eq!(store.host_asks_by_prefix("ab", 9).await.unwrap(), [first, allowed.clone()]);
    assert_eq!(store.host_ask_by_key(&"c2".into(), "k1").await.unwrap(), Some(other));
    assert_eq!(store.host_ask_by_key(&"c2".into(), "k2").await.unwrap(), None);
    let allowed_before = async |owner: &str, digest| {
        store.host_ask_for_session(&owner.into(), digest).await.unwrap()
    };
    assert_eq!(allowed_before("c1", "d").await, Some(allowed));
    assert_eq!(allowed_before("c2", "d").await, None);
    assert_eq!(allowed_before("c1", "e").await, None);
    // Neither an id nor a key can be another's.
    let error = refused(&store, vec![put(&host_ask("ab1", "c1", "k9"))]).await;
    assert!(matches!(error, StoreError::AskIdTaken(ask) if ask == "ab1".into()));
    let known = write(&store, vec![put(&host_ask("ef4", "c2", "k1"))]).await;
    assert_eq!(known, Committed::Lost(Box::new(host_ask("cd3", "c2", "k1").ask)));

    let retention = Retention { age_ms: Some(1), ..Retention::none() };
    let report = store.sweep(NOON + 2, &retention).await.unwrap();
    assert_eq!((report.host_asks, report.is_empty()), (1, false));
    assert_eq!(
        ids(async { Ok(rows_of(store.undecided_host_asks().await?)) }).await,
        ["ab1", "cd3"]
    );
    assert_eq!(store.host_ask(&"ab2".into()).await.unwrap(), None);
}

fn person(name: &str) -> DecidedBy {
    DecidedBy::Person { name: name.to_owned(), surface: "terminal".to_owned() }
}

fn rows_of(rows: Vec<HostAskRow>) -> Vec<AskRecord> {
    rows.into_iter().map(|row| row.ask).collect()
}
