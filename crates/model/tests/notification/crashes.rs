//! Stories in which the daemon is killed anywhere: before the intent is on disk, before, in and after an attempt, and before what
//! became of it is on disk. Whoever is told knows each thing by its name, and has it once.

use std::collections::{BTreeMap, BTreeSet};

use ostler_model::notification::{Outcome, Persistence, State};
use ostler_model::{DeliveryId, Notification};
use proptest::prelude::*;

use crate::{NOON, told};

#[derive(Debug, Clone)]
enum Happening {
    /// Something is to be told; it is on disk or, with everything about it, not.
    Told {
        number: u8,
        is_on_disk: bool,
    },
    /// The daemon is killed: what is in its memory is gone.
    Killed,
    /// All that is due is tried, with this luck for each.
    Tried(Luck),
    Later(u32),
    /// Somebody wants all that was given up sent again.
    Replayed,
}

#[derive(Debug, Clone, Copy)]
enum Luck {
    /// It arrives, is answered, and that is written down.
    Good,
    /// It does not arrive.
    Lost,
    /// It arrives, and the answer comes too late.
    Late,
    /// It arrives, and the daemon is killed before that is on disk.
    KilledAfter,
    /// The daemon is killed before anything is sent.
    KilledBefore,
    Refused,
}

fn happening() -> impl Strategy<Value = Happening> {
    let luck = prop_oneof![
        Just(Luck::Good),
        Just(Luck::Lost),
        Just(Luck::Late),
        Just(Luck::KilledAfter),
        Just(Luck::KilledBefore),
        Just(Luck::Refused),
    ];
    prop_oneof![
        (0..20_u8, any::<bool>())
            .prop_map(|(number, is_on_disk)| Happening::Told { number, is_on_disk }),
        Just(Happening::Killed),
        luck.prop_map(Happening::Tried),
        (0..10_000_000_u32).prop_map(Happening::Later),
        Just(Happening::Replayed),
    ]
}

#[derive(Default)]
struct World {
    now: i64,
    /// What is on disk, by name: the first of a name counts.
    disk: BTreeMap<DeliveryId, Notification>,
    /// What the receiver got, and how often.
    received: BTreeMap<DeliveryId, u32>,
    /// What the receiver has done about it: once for each name.
    done: BTreeSet<DeliveryId>,
    told: BTreeSet<u8>,
}

const PERSISTENCE: Persistence = Persistence { attempts: 4, first_wait_ms: 1000 };

impl World {
    fn play(&mut self, happening: &Happening) {
        match happening {
            Happening::Told { number, is_on_disk: true } => {
                let row = told(&number.to_string(), "ops");
                self.disk.entry(row.id.clone()).or_insert(row);
                self.told.insert(*number);
            }
            // What caused it is not on disk either, so it did not happen; and there is nothing else in memory that counts.
            Happening::Told { is_on_disk: false, .. } | Happening::Killed => {}
            Happening::Tried(luck) => self.try_all(*luck),
            Happening::Later(ms) => self.now += i64::from(*ms),
            Happening::Replayed => {
                let now = NOON + self.now;
                for row in self.disk.values_mut().filter(|row| row.state == State::Failed) {
                    row.replay(now);
                }
            }
        }
    }

    fn try_all(&mut self, luck: Luck) {
        let now = NOON + self.now;
        let due = self.disk.values().filter(|row| row.due_at.is_some_and(|at| at <= now));
        let due: Vec<Notification> = due.cloned().collect();
        for mut row in due {
            if let Luck::Good | Luck::Late | Luck::KilledAfter = luck {
                *self.received.entry(row.id.clone()).or_default() += 1;
                self.done.insert(row.id.clone());
            }
            let failed = |why: &str| Outcome::Failed { why: why.to_owned(), retry_after_ms: None };
            let outcome = match luck {
                Luck::Good => Outcome::Delivered { answer: "HTTP 200".to_owned() },
                Luck::Lost => failed("cannot connect"),
                Luck::Late => failed("no answer within 15s"),
                Luck::Refused => Outcome::Refused { why: "HTTP 410".to_owned() },
                Luck::KilledAfter | Luck::KilledBefore => continue,
            };
            row.tried(now, 1, outcome, &PERSISTENCE, 7);
            self.disk.insert(row.id.clone(), row);
        }
    }

    fn check(&self) {
        // One row, and so one name, for each thing that was told.
        assert_eq!(self.disk.len(), self.told.len());
        for (id, row) in &self.disk {
            assert_eq!((id, row.due_at.is_some()), (&row.id, row.state == State::Pending));
            assert!(row.attempts <= PERSISTENCE.attempts, "{row:?}");
            if row.state == State::Sent {
                assert!(self.done.contains(id), "a receipt without a delivery: {row:?}");
                assert!(row.receipt.is_some());
            }
        }
        // The receiver heard of nothing that is not on disk.
        assert!(self.received.keys().all(|id| self.disk.contains_key(id)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_nothing_is_doubled(story in prop::collection::vec(happening(), 1..80)) {
        let mut world = World::default();
        for happening in &story {
            world.play(happening);
            world.check();
        }
        // When all is well again and somebody has sent again what was given up, everything has arrived, once each.
        for _ in 0..3 {
            world.play(&Happening::Replayed);
            world.play(&Happening::Later(7 * 3600 * 1000));
            world.play(&Happening::Tried(Luck::Good));
        }
        world.check();
        prop_assert!(world.disk.values().all(|row| row.state == State::Sent));
        let names: BTreeSet<DeliveryId> = world.disk.keys().cloned().collect();
        prop_assert_eq!(&world.done, &names);
    }
}
