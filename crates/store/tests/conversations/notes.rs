//! What tools note down.

use ostler_store::conversations::Change;

use crate::world::World;

/// A tool server writes beside the chat that holds the conversation, and neither is in the other's way.
#[tokio::test]
async fn a_note_is_kept_while_somebody_else_holds_the_conversation() {
    let world = World::new();
    let (chat, server) = (world.with_one().await, world.open().await);
    let _hold = chat.hold("c1").await.unwrap();
    assert_eq!(server.note("c1", "todos").await.unwrap(), None);
    server.keep_note("c1", "todos", "[1]".to_owned()).await.unwrap();
    server.keep_note("c1", "todos", "[1,2]".to_owned()).await.unwrap();
    assert_eq!(chat.note("c1", "todos").await.unwrap().as_deref(), Some("[1,2]"));
    // The chat's own version is what it was.
    let change = Change { version: 1, title: None, body: Some("{}".to_owned()), at: 9 };
    assert_eq!(chat.update("c1", change).await.unwrap(), 2);
    // One that has not begun may have notes, too.
    server.keep_note("c9", "todos", "[9]".to_owned()).await.unwrap();
    assert_eq!(chat.note("c9", "todos").await.unwrap().as_deref(), Some("[9]"));
    assert!(server.keep_note("../c9", "todos", "[]".to_owned()).await.is_err());
}
