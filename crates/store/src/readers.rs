//! The threads that read. Each has a connection of its own, so neither the writer nor another reader holds it up.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::{Semaphore, oneshot};

use crate::StoreError;
use crate::open::{StoreSettings, open_reader};

/// Reads that may wait; then whoever reads waits. A read takes some ten microseconds.
const QUEUE: usize = 256;

type Read = Box<dyn FnOnce(&mut Connection) + Send>;

pub(crate) struct Readers {
    reads: Mutex<Option<Sender<Read>>>,
    room: Semaphore,
    threads: Mutex<Vec<JoinHandle<()>>>,
    settings: StoreSettings,
}

impl Readers {
    pub(crate) fn start(settings: &StoreSettings) -> Result<Self, StoreError> {
        let (reads, received) = mpsc::channel::<Read>();
        let received = Arc::new(Mutex::new(received));
        let mut threads = Vec::new();
        for number in 0..settings.readers.max(1) {
            let connection = open_reader(settings)?;
            let received = Arc::clone(&received);
            let thread = thread::Builder::new()
                .name(format!("store-reader-{number}"))
                .spawn(move || read_all(connection, &received))
                .map_err(|error| StoreError::Other(format!("no thread for a reader: {error}")))?;
            threads.push(thread);
        }
        Ok(Self {
            reads: Mutex::new(Some(reads)),
            room: Semaphore::new(QUEUE),
            threads: Mutex::new(threads),
            settings: settings.clone(),
        })
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _room = self.room.acquire().await.map_err(|_| StoreError::Closed)?;
        let (reply, found) = oneshot::channel();
        let read: Read = Box::new(move |connection| {
            // Whoever asked may have gone.
            drop(reply.send(at_one_moment(connection, read)));
        });
        let reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        reads.ok_or(StoreError::Closed)?.send(read).map_err(|_| StoreError::Closed)?;
        let found = found.await.map_err(|_| StoreError::Closed)?;
        found.map_err(|error| error.about(&self.settings.path))
    }

    pub(crate) fn close(&self) {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(crate) fn threads(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// All statements of one read see the same state.
fn at_one_moment<T>(
    connection: &mut Connection,
    read: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let moment = connection.transaction()?;
    let found = read(&moment);
    moment.commit()?;
    found
}

fn read_all(mut connection: Connection, reads: &Mutex<Receiver<Read>>) {
    loop {
        let next = reads.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(read) = next else { return };
        read(&mut connection);
    }
}
