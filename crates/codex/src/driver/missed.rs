//! Items of a turn that ended while we were not connected.
//!
//! What Codex lists and has written down of a turn is compared with what was told of it. From 0.166.0 on an item has one id
//! everywhere; before, only steps have, and messages are known again by their text.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use ostler_model::thread::Update;
use ostler_model::{Item, ItemBody, ItemId};

use crate::protocol::CodexVersion;
use crate::protocol::versions::R0_166_0;
use crate::secrets::Filter;

/// What was told of the turn that runs.
#[derive(Debug, Default)]
pub(super) struct ToldItems {
    ended: HashSet<ItemId>,
    /// The texts of the messages that have ended, as their hashes: a long turn has many.
    texts: Vec<u64>,
    /// The message that has begun and not ended.
    open_message: Option<ItemId>,
}

impl ToldItems {
    pub(super) fn note(&mut self, update: &Update) {
        match update {
            Update::TurnBegan { .. } => *self = Self::default(),
            Update::ItemBegan { item, .. } if is_message(item) => {
                self.open_message = Some(item.id.clone());
            }
            Update::ItemEnded { item, .. } => {
                self.ended.insert(item.id.clone());
                if let ItemBody::AgentMessage(message) = &item.body {
                    self.texts.push(hash(&message.text));
                    self.open_message.take_if(|open| *open == item.id);
                }
            }
            _ => {}
        }
    }

    /// Those of the turn's listed items that were not told, under the ids by which they are known here.
    pub(super) fn missing(
        &self,
        listed: Vec<Item>,
        version: &CodexVersion,
        filter: &Filter,
    ) -> Vec<Item> {
        let has_own_ids = version.is_at_least(R0_166_0);
        let mut texts = self.texts.clone();
        let mut open_message = self.open_message.clone();
        let mut missing = Vec::new();
        for item in listed {
            if has_own_ids {
                if !self.ended.contains(&item.id) {
                    missing.push(item);
                }
                continue;
            }
            let ItemBody::AgentMessage(message) = &item.body else {
                if item.is_tool() && !self.ended.contains(&item.id) {
                    missing.push(item);
                }
                continue;
            };
            let mut text = message.text.clone();
            // What was told had no secrets.
            filter.text(&mut text);
            match texts.iter().position(|told| *told == hash(&text)) {
                Some(told) => {
                    texts.remove(told);
                }
                None => {
                    let id = open_message.take().unwrap_or_else(|| item.id.clone());
                    missing.push(Item { id, ..item });
                }
            }
        }
        missing
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn is_message(item: &Item) -> bool {
    matches!(item.body, ItemBody::AgentMessage(_))
}

#[cfg(test)]
mod tests {
    use ostler_model::item::{AgentMessage, Command, ItemEnd, Outcome};
    use ostler_model::thread::Update;
    use ostler_model::{Item, ItemBody, TurnId};

    use super::ToldItems;
    use crate::protocol::CodexVersion;
    use crate::secrets::Filter;

    fn message(id: &str, text: &str) -> Item {
        let message = AgentMessage { text: text.to_owned(), ..AgentMessage::default() };
        Item { id: id.into(), body: ItemBody::AgentMessage(message) }
    }

    fn command(id: &str, outcome: Outcome) -> Item {
        Item { id: id.into(), body: ItemBody::Command(Command { outcome, ..Command::default() }) }
    }

    fn told() -> ToldItems {
        let turn = TurnId::new("t");
        let mut told = ToldItems::default();
        told.note(&Update::TurnBegan { turn: turn.clone() });
        told.note(&Update::ItemBegan { turn: turn.clone(), item: message("a", "") });
        let how = ItemEnd::Reported;
        told.note(&Update::ItemEnded { turn: turn.clone(), item: message("a", "First."), how });
        told.note(&Update::ItemBegan { turn, item: message("b", "") });
        told
    }

    #[test]
    fn what_was_told_is_not_told_again() {
        let version = CodexVersion::parse("0.166.0").unwrap();
        let listed =
            vec![message("a", "First."), message("b", "Second."), command("c", Outcome::Succeeded)];

        let missing = told().missing(listed, &version, &Filter::default());

        assert_eq!(missing, [message("b", "Second."), command("c", Outcome::Succeeded)]);
    }

    #[test]
    fn without_common_ids_messages_are_known_by_their_text() {
        let version = CodexVersion::parse("0.142.5").unwrap();
        let listed = vec![
            message("item-1", "First."),
            command("item-2", Outcome::Succeeded),
            message("item-3", "Second."),
            message("item-4", "First."),
        ];

        let missing = told().missing(listed, &version, &Filter::default());

        let expected = [
            command("item-2", Outcome::Succeeded),
            message("b", "Second."),
            message("item-4", "First."),
        ];
        assert_eq!(missing, expected);
    }
}
