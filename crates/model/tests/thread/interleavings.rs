//! Whatever happens in whatever order, the machine keeps its promises.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use ostler_model::thread::{Limits, OnStall};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, proptest};
use proptest::prop_oneof;
use proptest::strategy::Just;

use crate::simulation::Choices;
use crate::simulation::codex::Version;
use crate::simulation::driver::World;

/// So many stories are told in each run, in about four seconds. With 15,000 a machine that takes late events as its own
/// was not always caught.
const STORIES: u32 = 60_000;

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V130), Just(Version::V142), Just(Version::V166)]
}

fn limits() -> impl Strategy<Value = Limits> {
    let on_stall = prop_oneof![Just(OnStall::Warn), Just(OnStall::Interrupt), Just(OnStall::Fail)];
    let budget = prop_oneof![Just(None), Just(Some(Duration::from_secs(20)))];
    let deadline = prop_oneof![Just(None), Just(Some(Duration::from_secs(5)))];
    (on_stall, budget, deadline).prop_map(|(on_stall, budget, ask_deadline)| Limits {
        on_stall,
        budget,
        ask_deadline,
        ..Limits::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: STORIES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_story_keeps_every_promise(
        version in version(),
        limits in limits(),
        choices in vec(any::<u16>(), 0..150),
    ) {
        let tell = |story| {
            let mut world = World::new(version, limits.clone(), Choices::new(choices.clone()));
            world.story = story;
            let told = catch_unwind(AssertUnwindSafe(|| world.play()));
            (told, world.story.unwrap_or_default())
        };
        if let (Err(panic), _) = tell(None) {
            let (_, story) = tell(Some(Vec::new()));
            eprintln!("{}\n", story.join("\n"));
            resume_unwind(panic);
        }
    }
}
