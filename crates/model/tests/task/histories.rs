//! Whatever happens to a task in whatever order, and whenever our process is killed, the rules keep their promises.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ostler_model::task::{Budget, OnCrash, TaskSettings};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, proptest};
use proptest::prop_oneof;

use crate::world::World;

/// So many histories are told in each run, in a few seconds.
const HISTORIES: u32 = 40_000;

fn settings() -> impl Strategy<Value = TaskSettings> {
    let on_crash = prop_oneof![Just(OnCrash::Continue), Just(OnCrash::Ask), Just(OnCrash::Fail)];
    let tokens = prop_oneof![2 => Just(None), 1 => Just(Some(50))];
    let work_ms = prop_oneof![3 => Just(None), 1 => Just(Some(5_000))];
    let turns = prop_oneof![3 => Just(None), 1 => Just(Some(2))];
    (on_crash, tokens, work_ms, turns).prop_map(|(on_crash, tokens, work_ms, turns)| TaskSettings {
        on_crash,
        budget: Budget { tokens, work_ms, turns },
        ..TaskSettings::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: HISTORIES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_keeps_every_promise(
        settings in settings(),
        choices in vec(any::<u8>(), 0..160),
    ) {
        let tell = |story| {
            let mut world = World::new(settings.clone(), choices.clone(), story);
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
