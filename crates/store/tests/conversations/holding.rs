//! One process at a time has a conversation.

use ostler_store::conversations::ConversationError;

use crate::world::World;

#[tokio::test]
async fn a_second_holder_is_told_who_the_first_is_until_that_one_lets_go() {
    let world = World::new();
    let (one, other) = (world.open().await, world.open().await);
    let hold = one.hold("c1").await.unwrap();
    let refused = other.hold("c1").await.unwrap_err();
    let pid = std::process::id();
    let ConversationError::InUse { conversation, pid: found } = &refused else {
        panic!("{refused}")
    };
    assert_eq!((conversation.as_str(), *found), ("c1", Some(pid)));
    assert!(refused.to_string().contains(&format!("process {pid}")), "{refused}");
    let _another = other.hold("c2").await.unwrap();
    drop(hold);
    let hold = other.hold("c1").await.unwrap();
    assert!(one.hold("c1").await.is_err());
    drop(hold);
    let files = std::fs::read_dir(format!("{}-holds", world.path().display())).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, ["c2"]);
    for id in ["../x", "", "a/b", "."] {
        assert!(matches!(one.hold(id).await, Err(ConversationError::BadId(_))), "{id}");
    }
}

/// While many want it, never two have it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn never_do_two_have_it() {
    let world = World::new();
    let conversations = world.open().await;
    let held = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let wants = |held: std::sync::Arc<std::sync::atomic::AtomicU32>| {
        let conversations = conversations.clone();
        async move {
            let mut times = 0;
            while times < 50 {
                let Ok(hold) = conversations.hold("c1").await else {
                    tokio::task::yield_now().await;
                    continue;
                };
                let before = held.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                assert_eq!(before, 0);
                tokio::task::yield_now().await;
                held.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                drop(hold);
                times += 1;
            }
        }
    };
    let all: Vec<_> = (0..4).map(|_| tokio::spawn(wants(held.clone()))).collect();
    for one in all {
        one.await.unwrap();
    }
}
