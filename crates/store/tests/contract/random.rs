//! Batches of all kinds, in any order, some of them wrong: the store says what a few maps say.

use std::collections::BTreeMap;

use ostler_model::TaskState;
use ostler_store::{Batch, Committed, Seqs, Write};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use proptest::test_runner::Config;

use crate::samples::{NOON, event, id, in_state, new, task};
use crate::world::World;

#[derive(Debug, Clone)]
enum Step {
    New(u8),
    Event(u8),
    State(u8, TaskState),
    Remove(u8),
}

#[derive(Debug, Clone)]
enum Action {
    Commit(Vec<Step>),
    Append(Vec<Step>),
    Reopen,
    /// Without closing.
    Drop,
}

fn step() -> impl Strategy<Value = Step> {
    let state = proptest::sample::select(&TaskState::ALL[..]);
    prop_oneof![
        2 => (0..6_u8).prop_map(Step::New),
        6 => (0..6_u8).prop_map(Step::Event),
        3 => ((0..6_u8), state).prop_map(|(task, state)| Step::State(task, state)),
        1 => (0..6_u8).prop_map(Step::Remove),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => vec(step(), 0..8).prop_map(Action::Commit),
        3 => vec(step(), 0..8).prop_map(Action::Append),
        1 => Just(Action::Reopen),
        1 => Just(Action::Drop),
    ]
}

/// What is there: for each task its state and the numbers in its log.
type Model = BTreeMap<String, (TaskState, Vec<u64>)>;

/// The batch on the model: what it becomes, and the seqs. None if the batch is refused.
fn expected(model: &Model, steps: &[(Step, u64)]) -> Option<(Model, Vec<Seqs>)> {
    let mut model = model.clone();
    let mut seqs = BTreeMap::<String, Seqs>::new();
    for (step, number) in steps {
        let name = |task: &u8| format!("t{task}");
        match step {
            Step::New(task) if model.contains_key(&name(task)) => return None,
            Step::New(task) => {
                model.insert(name(task), (TaskState::Queued, Vec::new()));
            }
            Step::Event(task) => {
                let (_, log) = model.get_mut(&name(task))?;
                log.push(*number);
                let last = log.len() as u64;
                let fresh = || Seqs { task: id(&name(task)), first: last, last };
                seqs.entry(name(task)).or_insert_with(fresh).last = last;
            }
            Step::State(task, state) => model.get_mut(&name(task))?.0 = *state,
            Step::Remove(task) => {
                model.remove(&name(task))?;
                seqs.remove(&name(task));
            }
        }
    }
    Some((model, seqs.into_values().collect()))
}

fn writes(steps: &[(Step, u64)]) -> Vec<Write> {
    let write = |(step, number): &(Step, u64)| match step {
        Step::New(name) => new(task(&format!("t{name}"))),
        Step::Event(name) => event(&format!("t{name}"), *number),
        Step::State(name, state) => {
            Write::Task(Box::new(in_state(&format!("t{name}"), *state, NOON)))
        }
        Step::Remove(name) => Write::RemoveTask(id(&format!("t{name}"))),
    };
    steps.iter().map(write).collect()
}

async fn play(actions: Vec<Action>) {
    let world = World::new();
    let mut store = world.open();
    let mut model = Model::new();
    let mut number = 0;
    let mut numbered = |steps: Vec<Step>| -> Vec<(Step, u64)> {
        let next = |step| {
            number += 1;
            (step, number)
        };
        steps.into_iter().map(next).collect()
    };
    for action in actions {
        match action {
            Action::Commit(steps) => {
                let steps = numbered(steps);
                let committed = store.commit(Batch(writes(&steps))).await;
                match expected(&model, &steps) {
                    Some((after, seqs)) => {
                        assert_eq!(committed.unwrap(), Committed::Written(seqs));
                        model = after;
                    }
                    None => assert!(committed.unwrap_err().is_of_the_batch()),
                }
            }
            Action::Append(steps) => {
                let steps = numbered(steps);
                store.append(Batch(writes(&steps))).await.unwrap();
                if let Some((after, _)) = expected(&model, &steps) {
                    model = after;
                }
            }
            Action::Reopen => {
                store.close().await;
                store = world.open();
            }
            Action::Drop => {
                // What was appended and not waited for may be lost with the process, so it is waited for here.
                store.commit(Batch::new()).await.unwrap();
                drop(store);
                store = world.open();
            }
        }
    }
    store.commit(Batch::new()).await.unwrap();
    let mut found = Model::new();
    for task in store.tasks_by_prefix("t", 99).await.unwrap() {
        let log = store.events(&task.id, 0, 9999).await.unwrap();
        let seqs: Vec<_> = log.iter().map(|logged| logged.seq).collect();
        assert_eq!(seqs, (1..=task.last_seq).collect::<Vec<_>>());
        let numbers = log.iter().map(|logged| (logged.at - NOON).cast_unsigned()).collect();
        found.insert(task.id.to_string(), (task.state, numbers));
    }
    assert_eq!(found, model);
    let mut counts = BTreeMap::new();
    for (state, _) in model.values() {
        *counts.entry(*state).or_insert(0) += 1;
    }
    assert_eq!(store.counts().await.unwrap(), counts);
    store.close().await;
}

proptest! {
    #![proptest_config(Config { cases: 40, failure_persistence: None, ..Config::default() })]

    #[test]
    fn the_store_says_what_a_few_maps_say(actions in vec(action(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play(actions));
    }
}
