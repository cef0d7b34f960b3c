//! The only way out of the browser: a SOCKS server of our own that goes where the guard lets it.
//!
//! Chromium resolves no name itself and has no other way to the network. So whatever a page asks for comes here: pictures, frames,
//! redirects, sockets, what a worker fetches. The address that was judged is the one that is connected to.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use crate::tools::web::{Guard, Refused};

/// Chromium opens up to 256 at once; more wait.
const MOST_CONNECTIONS: usize = 256;

/// For the greeting, and for the connection behind it.
const DEADLINE: Duration = Duration::from_secs(20);

/// Refusals that are remembered until a call tells them.
const MOST_REFUSALS: usize = 8;

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const CONNECT: u8 = 1;

#[derive(Clone, Copy)]
enum Reply {
    Granted = 0,
    Failed = 1,
    NotAllowed = 2,
    NoSuchCommand = 7,
}

type Refusals = Arc<Mutex<VecDeque<String>>>;

/// With it the server ends, and all that goes through it.
pub(super) struct Gate {
    pub(super) port: u16,
    refusals: Refusals,
    _serving: AbortOnDropHandle<()>,
}

impl Gate {
    pub(super) async fn open(guard: Arc<Guard>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let refusals = Refusals::default();
        let serving = tokio::spawn(serve(listener, guard, refusals.clone()));
        Ok(Self { port, refusals, _serving: AbortOnDropHandle::new(serving) })
    }

    /// What was refused since the last look.
    pub(super) fn take_refusals(&self) -> Vec<String> {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.drain(..).collect()
    }
}

async fn serve(listener: TcpListener, guard: Arc<Guard>, refusals: Refusals) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut running = JoinSet::new();
    while let Ok(permit) = room.clone().acquire_owned().await {
        while running.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let passage = Passage { guard: guard.clone(), refusals: refusals.clone() };
                running.spawn(async move {
                    // How it ended is for the browser to say.
                    passage.run(stream).await.ok();
                    drop(permit);
                });
            }
            // No more files, most likely; some will be closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

struct Passage {
    guard: Arc<Guard>,
    refusals: Refusals,
}

impl Passage {
    async fn run(&self, mut near: TcpStream) -> io::Result<()> {
        let opening = tokio::time::timeout(DEADLINE, self.open(&mut near));
        let Some(mut far) = opening.await.map_err(|_| io::ErrorKind::TimedOut)?? else {
            return Ok(());
        };
        copy_bidirectional(&mut near, &mut far).await?;
        Ok(())
    }

    async fn open(&self, near: &mut TcpStream) -> io::Result<Option<TcpStream>> {
        let version = near.read_u8().await?;
        let mut methods = vec![0; usize::from(near.read_u8().await?)];
        near.read_exact(&mut methods).await?;
        if version != VERSION || !methods.contains(&NO_LOGIN) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        near.write_all(&[VERSION, NO_LOGIN]).await?;
        let mut head = [0; 4];
        near.read_exact(&mut head).await?;
        let [_, command, _, kind] = head;
        let host = read_host(near, kind).await?;
        let port = near.read_u16().await?;
        if command != CONNECT {
            answer(near, Reply::NoSuchCommand).await?;
            return Ok(None);
        }
        let addresses = match self.guard.addresses(&host, port).await {
            Ok(addresses) => addresses,
            Err(refused) => {
                // Chromium asks for places of its own, too; that one of them is not known is no news.
                if matches!(refused, Refused::NotPublic { .. }) {
                    self.remember(refused.to_string());
                }
                answer(near, Reply::NotAllowed).await?;
                return Ok(None);
            }
        };
        match TcpStream::connect(addresses.as_slice()).await {
            Ok(far) => {
                answer(near, Reply::Granted).await?;
                Ok(Some(far))
            }
            Err(_) => {
                answer(near, Reply::Failed).await?;
                Ok(None)
            }
        }
    }

    fn remember(&self, refusal: String) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() < MOST_REFUSALS && !refusals.contains(&refusal) {
            refusals.push_back(refusal);
        }
    }
}

/// As it stands in an address: IPv6 in brackets.
async fn read_host(near: &mut TcpStream, kind: u8) -> io::Result<String> {
    let host = match kind {
        1 => IpAddr::from(Ipv4Addr::from(near.read_u32().await?)).to_string(),
        4 => IpAddr::from(Ipv6Addr::from(near.read_u128().await?)).to_string(),
        3 => {
            let mut name = vec![0; usize::from(near.read_u8().await?)];
            near.read_exact(&mut name).await?;
            String::from_utf8(name).map_err(|_| io::ErrorKind::InvalidData)?
        }
        _ => return Err(io::ErrorKind::InvalidData.into()),
    };
    Ok(if host.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host })
}

async fn answer(near: &mut TcpStream, reply: Reply) -> io::Result<()> {
    near.write_all(&[VERSION, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::Gate;
    use crate::tools::web::{Guard, Lookup};

    async fn ask(gate: &Gate, host: &str, port: u16) -> (u8, TcpStream) {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, gate.port)).await.unwrap();
        stream.write_all(&[5, 1, 0]).await.unwrap();
        assert_eq!(stream.read_u16().await.unwrap(), 0x0500);
        let mut request = vec![5, 1, 0, 3, u8::try_from(host.len()).unwrap()];
        request.extend(host.as_bytes());
        request.extend(port.to_be_bytes());
        stream.write_all(&request).await.unwrap();
        let mut reply = [0; 10];
        stream.read_exact(&mut reply).await.unwrap();
        (reply[1], stream)
    }

    #[tokio::test]
    async fn what_is_allowed_goes_through_and_the_rest_is_refused_and_remembered() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = server.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut stream, _) = server.accept().await.unwrap();
            stream.write_all(b"neigh").await.unwrap();
        });
        let guard = Guard::new(&[format!("127.0.0.1:{port}")]);
        let gate = Gate::open(Arc::new(guard)).await.unwrap();

        let (reply, mut stream) = ask(&gate, "127.0.0.1", port).await;
        assert_eq!(reply, 0);
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "neigh");

        for host in ["127.0.0.1", "::1", "169.254.169.254", "localhost"] {
            assert_eq!(ask(&gate, host, 1).await.0, 2, "{host}");
        }
        let refusals = gate.take_refusals();
        assert_eq!(refusals.len(), 4, "{refusals:?}");
        assert!(refusals[1].starts_with("[::1] is refused: ::1 is this machine"), "{refusals:?}");
        assert_eq!(gate.take_refusals(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_name_whose_answer_changes_gains_nothing() {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = looks.clone();
        // Public at the first look, as a check before the request would see it; this machine ever after.
        let lookup: Lookup = Arc::new(move |_| {
            let is_first = counted.fetch_add(1, Ordering::Relaxed) == 0;
            let address = if is_first { [93, 184, 216, 34] } else { [127, 0, 0, 1] };
            Box::pin(async move { Ok(vec![address.into()]) })
        });
        let guard = Arc::new(Guard::with_lookup(&[], lookup));
        guard.addresses("rebind.example", 80).await.unwrap();
        let gate = Gate::open(guard).await.unwrap();
        assert_eq!(ask(&gate, "rebind.example", 80).await.0, 2);
        assert_eq!(looks.load(Ordering::Relaxed), 2);
    }
}
