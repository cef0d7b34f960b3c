//! Where conversations are kept, opened when somebody needs them: a tool server must answer its greeting at once, and the file may be
//! locked by others for seconds.

use std::path::PathBuf;

use ostler_store::conversations::Conversations;
use tokio::sync::OnceCell;

pub(crate) struct Shelf {
    path: PathBuf,
    opened: OnceCell<Conversations>,
}

impl Shelf {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, opened: OnceCell::new() }
    }

    pub(crate) fn opened(conversations: Conversations) -> Self {
        let path = conversations.path().to_owned();
        Self { path, opened: OnceCell::new_with(Some(conversations)) }
    }

    pub(crate) async fn open(&self) -> Result<&Conversations, String> {
        let opening = || Conversations::open(self.path.clone());
        self.opened.get_or_try_init(opening).await.map_err(|error| error.to_string())
    }
}
