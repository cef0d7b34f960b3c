//! The audit log: only added to, with every decision in it, and bounded.

use ostler_model::task::AskState;
use ostler_model::{AuditEntry, AuditKind, Decision};
use ostler_store::{AuditFilter, Batch, Committed, PlacedAudit, Retention, Store, Write};

use crate::samples::{NOON, ask, decided, id, new, task};
use crate::world::{World, write};

fn entry(kind: AuditKind, at: i64, who: &str) -> Write {
    Write::Audit(Box::new(AuditEntry::new(kind, at, who, "socket", "GET /")))
}

async fn all(store: &Store) -> Vec<PlacedAudit> {
    store.audit(&AuditFilter::default(), None, 500).await.unwrap().entries
}

#[tokio::test]
async fn every_decision_is_in_it_once() {
    let world = World::new();
    let store = world.open();
    let open = |name: &str| Write::Ask(Box::new(ask(name, "t1")));
    let mut at_once = ask("a2", "t1");
    at_once.state = AskState::Decided;
    at_once.decision = Some(decided(Decision::Deny, "grace"));
    write(&store, vec![new(task("t1")), open("a1"), Write::Ask(Box::new(at_once.clone()))]).await;
    let decide = |by: &str| Write::Decide {
        ask: "a1".into(),
        decision: Box::new(decided(Decision::Once, by)),
        then: AskState::Decided,
    };
    write(&store, vec![decide("ada")]).await;
    // Who comes second decides nothing, and what is written anew is decided already.
    let late = store.commit(decide("eve").into()).await.unwrap();
    assert!(matches!(late, Committed::Lost(_)));
    at_once.state = AskState::Closed;
    write(&store, vec![Write::Ask(Box::new(at_once))]).await;

    let found = all(&store).await;
    let said: Vec<_> =
        found.iter().map(|it| (it.entry.who.as_str(), it.entry.ask.clone())).collect();
    assert_eq!(said, [("ada", Some("a1".into())), ("grace", Some("a2".into()))]);
    assert_eq!(found[0].entry.task, Some(id("t1")));
    assert!(found[0].entry.what.starts_with("once: run "), "{:?}", found[0]);
    assert!(found[1].entry.what.starts_with("deny: "), "{:?}", found[1]);
    store.close().await;
}

#[tokio::test]
async fn an_entry_never_changes() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![entry(AuditKind::TokenMade, NOON, "ada")]).await;
    store.close().await;
    let raw = rusqlite::Connection::open(world.settings().path).unwrap();
    let changed = raw.execute("UPDATE audit SET body = '{}'", []);
    assert!(changed.unwrap_err().to_string().contains("append-only"));
}

#[tokio::test]
async fn of_each_kind_so_many_are_kept_and_all_are_counted() {
    let world = World::new();
    let store = world.open();
    write(&store, vec![entry(AuditKind::LoggedIn, NOON, "ada")]).await;
    let most = usize::try_from(AuditKind::HostRefused.most_kept()).unwrap();
    let more = 25;
    let flood =
        (0..most + more).map(|number| entry(AuditKind::HostRefused, NOON, &number.to_string()));
    store.commit(Batch(flood.collect())).await.unwrap();
    let filter = AuditFilter { kind: Some(AuditKind::HostRefused), ..AuditFilter::default() };
    let kept = store.audit(&filter, None, most + more).await.unwrap().entries;
    // A hundred go at once.
    assert_eq!((kept.len(), kept.last().unwrap().entry.who.as_str()), (most - 75, "100"));
    // Nobody drives out what is of another kind.
    let filter = AuditFilter { kind: Some(AuditKind::LoggedIn), ..AuditFilter::default() };
    assert_eq!(store.audit(&filter, None, 9).await.unwrap().entries.len(), 1);
    let counts = store.audit_counts().await.unwrap();
    let written =
        counts.iter().find(|(kind, _)| *kind == AuditKind::HostRefused).unwrap().1.written;
    assert_eq!(usize::try_from(written).unwrap(), most + more);
    store.close().await;
}

/// Whoever is refused most loses the oldest of what they were refused, and nobody else anything.
#[tokio::test]
async fn a_flood_drives_out_nobody_else_s_refusals() {
    let world = World::new();
    let store = world.open();
    let refused = |who: &str| {
        let entry = AuditEntry::new(AuditKind::ScopeRefused, NOON, who, "tcp", "POST /v1/tokens");
        Write::Audit(Box::new(entry.from_origin(who)))
    };
    store.commit(refused("token ci").into()).await.unwrap();
    let most = usize::try_from(AuditKind::ScopeRefused.most_kept()).unwrap();
    let flood = (0..most + 300).map(|_| refused("token flood"));
    store.commit(Batch(flood.collect())).await.unwrap();
    let filter = |who: &str| AuditFilter { who: Some(who.to_owned()), ..AuditFilter::default() };
    let all = 2 * most;
    let of = async |who| store.audit(&filter(who), None, all).await.unwrap().entries.len();
    assert_eq!(of("token ci").await, 1);
    assert!((most - 100..=most).contains(&of("token flood").await));
    store.close().await;
}

#[tokio::test]
async fn it_is_found_followed_looked_at_and_in_time_removed() {
    let world = World::new();
    let store = world.open();
    let days = |count: i64| NOON + count * 24 * 3600 * 1000;
    write(
        &store,
        vec![
            entry(AuditKind::TokenMade, days(0), "ada"),
            entry(AuditKind::HostRefused, days(1), "nobody"),
            entry(AuditKind::SelfApproval, days(2), "an agent of ada"),
        ],
    )
    .await;
    let who = |found: &[PlacedAudit]| -> Vec<String> {
        found.iter().map(|it| it.entry.who.clone()).collect()
    };
    let none = AuditFilter::default;
    let filters = [
        (AuditFilter { only_refusals: true, ..none() }, vec!["an agent of ada", "nobody"]),
        (AuditFilter { who: Some("ada".to_owned()), ..none() }, vec!["an agent of ada", "ada"]),
        (AuditFilter { since: Some(days(1)), ..none() }, vec!["an agent of ada", "nobody"]),
        (AuditFilter { task: Some(id("t9")), ..none() }, vec![]),
    ];
    for (filter, expected) in filters {
        let found = store.audit(&filter, None, 9).await.unwrap();
        assert_eq!(who(&found.entries), expected, "{filter:?}");
    }
    let page = store.audit(&none(), None, 2).await.unwrap();
    let rest = store.audit(&none(), page.next, 2).await.unwrap();
    assert_eq!((who(&rest.entries), rest.next), (vec!["ada".to_owned()], None));
    let first = rest.entries[0].number;
    let later = store.audit_after(&none(), first, 9).await.unwrap();
    assert_eq!(who(&later.entries), ["nobody", "an agent of ada"]);

    assert_eq!(store.unseen_audit().await.unwrap(), 2);
    write(&store, vec![Write::AuditSeen { up_to: later.entries[0].number }]).await;
    assert_eq!(store.unseen_audit().await.unwrap(), 1);
    // Nobody makes unseen what was seen.
    write(&store, vec![Write::AuditSeen { up_to: 0 }]).await;
    assert_eq!(store.unseen_audit().await.unwrap(), 1);

    let retention = Retention { age_ms: Some(days(1) - days(0)), ..Retention::none() };
    let report = store.sweep(days(2), &retention).await.unwrap();
    assert_eq!((report.audit, who(&all(&store).await).len()), (1, 2));
    // Places are never given out twice, or whoever follows would miss an entry.
    let newest = store.newest_audit().await.unwrap();
    store.sweep(days(9), &retention).await.unwrap();
    write(&store, vec![entry(AuditKind::TokenMade, days(9), "ada")]).await;
    assert_eq!(store.newest_audit().await.unwrap(), newest + 1);
    store.close().await;
}
