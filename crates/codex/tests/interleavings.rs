//! Whatever happens in whatever order, the messages of a turn stay whole: the stories that judge the machine in
//! `crates/model/tests/thread`, projected.

#[path = "../../model/tests/thread/simulation/mod.rs"]
mod simulation;

use std::collections::BTreeSet;

use ostler_codex::projection::{KnownInputs, Projector};
use ostler_model::message::Role;
use ostler_model::thread::{Limits, Update};
use ostler_model::{Message, TurnId};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, proptest};
use proptest::prop_oneof;
use proptest::strategy::Just;

use simulation::Choices;
use simulation::codex::Version;
use simulation::driver::World;

const STORIES: u32 = 10_000;

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V130), Just(Version::V142), Just(Version::V166)]
}

/// The messages of each turn, as a driver collects them.
fn projected(told: &[Update]) -> Vec<Vec<Message>> {
    let mut turns = Vec::new();
    let mut current: Option<(TurnId, Projector, Vec<Message>)> = None;
    for update in told {
        match update {
            Update::TurnBegan { turn } => {
                let projector = Projector::new(turn, KnownInputs::default());
                current = Some((turn.clone(), projector, Vec::new()));
            }
            Update::ItemEnded { turn, item, how } => {
                if let Some((id, projector, messages)) = &mut current {
                    assert_eq!(id, turn, "an item of another turn");
                    messages.extend(projector.push(item, *how));
                }
            }
            Update::TurnEnded { .. } => {
                if let Some((_, projector, mut messages)) = current.take() {
                    messages.extend(projector.finish());
                    turns.push(messages);
                }
            }
            _ => {}
        }
    }
    turns
}

/// The first tool message that does not stand right behind its call, or the first role that is repeated.
fn broken(messages: &[Message]) -> Option<&Message> {
    let pairs = messages.iter().zip(messages.iter().skip(1));
    let first = messages.first().filter(|message| message.role == Role::Tool);
    first.or_else(|| {
        let mut bad = pairs.filter(|(before, message)| {
            let is_orphan = message.role == Role::Tool
                && !before
                    .tool_calls
                    .iter()
                    .any(|call| Some(&call.id) == message.tool_call_id.as_ref());
            is_orphan || before.role == message.role
        });
        bad.next().map(|(_, message)| message)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: STORIES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_story_leaves_a_tool_message_without_its_call(
        version in version(),
        choices in vec(any::<u16>(), 0..150),
    ) {
        let mut world = World::new(version, Limits::default(), Choices::new(choices));
        world.play();
        let mut calls = BTreeSet::new();
        for messages in projected(&world.told) {
            prop_assert!(broken(&messages).is_none(), "{messages:#?}");
            for call in messages.iter().flat_map(|message| &message.tool_calls) {
                prop_assert!(calls.insert(call.id.clone()), "{} stands twice", call.id);
                let answers = |it: &&Message| it.tool_call_id.as_ref() == Some(&call.id);
                prop_assert!(messages.iter().filter(answers).count() == 1, "{} unanswered", call.id);
            }
        }
    }
}
