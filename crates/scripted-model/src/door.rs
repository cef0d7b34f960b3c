//! The listening socket, which can be closed for a while and opened again on the same port.

use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Why connections can be neither refused nor accepted.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    #[error("cannot listen on 127.0.0.1:{port} again: {source}")]
    Listen { port: u16, source: io::Error },
    #[error("the scripted model has been stopped")]
    Stopped,
}

/// Connections that wait to be accepted; more than any test opens at once.
const BACKLOG: u32 = 1024;

/// After a failure to accept (too many open files) or to listen, the next try waits this long.
const RETRY: Duration = Duration::from_millis(50);

/// Orders that wait; each sender waits for its answer, so there is one per caller at most.
const ORDERS: usize = 16;

/// Gives orders to a [`Door`].
#[derive(Debug, Clone)]
pub(crate) struct DoorBell {
    orders: mpsc::Sender<Order>,
    /// Changes when the door is closed, so that idle connections end as well.
    closings: watch::Receiver<u64>,
}

/// Owns the listening socket.
#[derive(Debug)]
pub(crate) struct Door {
    port: u16,
    /// Bound but never listening: it keeps the port ours while the door is closed.
    _reservation: TcpSocket,
    listener: Option<TcpListener>,
    open_at: Option<Instant>,
    orders: mpsc::Receiver<Order>,
    closings: watch::Sender<u64>,
}

#[derive(Debug)]
enum Order {
    Close { time: Option<Duration>, done: oneshot::Sender<Result<(), DoorError>> },
    Open { done: oneshot::Sender<Result<(), DoorError>> },
}

impl DoorBell {
    /// Returns when connections are refused; they are accepted again after `time`, if one is given.
    pub(crate) async fn close(&self, time: Option<Duration>) -> Result<(), DoorError> {
        self.order(|done| Order::Close { time, done }).await
    }

    /// Returns when connections are accepted.
    pub(crate) async fn open(&self) -> Result<(), DoorError> {
        self.order(|done| Order::Open { done }).await
    }

    /// Tells of every time the door is closed from now on.
    pub(crate) fn closings(&self) -> watch::Receiver<u64> {
        let mut closings = self.closings.clone();
        closings.mark_unchanged();
        closings
    }

    async fn order(
        &self,
        order: impl FnOnce(oneshot::Sender<Result<(), DoorError>>) -> Order,
    ) -> Result<(), DoorError> {
        let (done, answer) = oneshot::channel();
        let sent = self.orders.send(order(done)).await;
        sent.map_err(|_| DoorError::Stopped)?;
        answer.await.map_err(|_| DoorError::Stopped)?
    }
}

impl Door {
    /// Port 0 takes any free one.
    pub(crate) fn open_on(port: u16) -> io::Result<(Self, DoorBell, u16)> {
        let reservation = bound(port)?;
        let port = reservation.local_addr()?.port();
        let listener = bound(port)?.listen(BACKLOG)?;
        let (orders_sender, orders) = mpsc::channel(ORDERS);
        let (closings, closings_receiver) = watch::channel(0);
        let door = Self {
            port,
            _reservation: reservation,
            listener: Some(listener),
            open_at: None,
            orders,
            closings,
        };
        let bell = DoorBell { orders: orders_sender, closings: closings_receiver };
        Ok((door, bell, port))
    }

    /// Accepts connections and takes orders until told to stop.
    pub(crate) async fn keep(mut self, stop: CancellationToken, mut enter: impl FnMut(TcpStream)) {
        loop {
            // Every branch may be dropped: a connection not yet accepted stays with the listener, an order
            // not yet taken in its channel.
            tokio::select! {
                () = stop.cancelled() => return,
                Some(order) = self.orders.recv() => self.obey(order),
                stream = accept(self.listener.as_ref()) => match stream {
                    Ok(stream) => enter(stream),
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(RETRY).await;
                    }
                },
                () = wait_until(self.open_at) => {
                    if let Err(error) = self.open() {
                        tracing::warn!(%error, "will try again");
                        self.open_at = Some(Instant::now() + RETRY);
                    }
                }
            }
        }
    }

    fn obey(&mut self, order: Order) {
        let (done, result) = match order {
            Order::Close { time, done } => {
                self.listener = None;
                self.open_at = time.map(|time| Instant::now() + time);
                self.closings.send_modify(|closings| *closings += 1);
                (done, Ok(()))
            }
            Order::Open { done } => (done, self.open()),
        };
        // Whoever gave the order may have gone; it is carried out all the same.
        drop(done.send(result));
    }

    fn open(&mut self) -> Result<(), DoorError> {
        self.open_at = None;
        if self.listener.is_some() {
            return Ok(());
        }
        let port = self.port;
        let listener = bound(port).and_then(|socket| socket.listen(BACKLOG));
        self.listener = Some(listener.map_err(|source| DoorError::Listen { port, source })?);
        Ok(())
    }
}

/// A socket on loopback; several may share the port as long as only one listens.
fn bound(port: u16) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    Ok(socket)
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => Ok(listener.accept().await?.0),
        None => pending().await,
    }
}

async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}
