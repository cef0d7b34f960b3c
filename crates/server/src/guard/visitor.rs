//! Which process is at the other end of a TCP connection, if it is on this machine.
//!
//! The kernel lists every socket with its two ends, its user and its inode (`/proc/net/tcp`, `proc_pid_net(5)`), and the open files of
//! each process name inodes. TCP has no credentials, so this is a look and no proof: it finds an agent that has got hold of a
//! token, and what cannot be looked at counts as one. Only what is for people alone is worth the look, which reads the
//! open files of every process of ours: some milliseconds, once per connection.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::process::geteuid;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::caller::{Look, Standing};
use crate::peer::LOOK_DEADLINE;

/// One connection.
pub(crate) struct Visitor {
    pub(crate) from: SocketAddr,
    to: SocketAddr,
    look: Look,
    seen: OnceCell<Seen>,
}

/// What a look at the other end has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A process of our user.
    Process { pid: i32, standing: Standing },
    /// A process of our user, and nothing more is known of it.
    Unseen,
    /// Another machine, or another user of this one: no agent of ours.
    Elsewhere,
}

impl Visitor {
    pub(crate) fn new(from: SocketAddr, to: SocketAddr, look: Look) -> Self {
        let canonical =
            |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        Self { from: canonical(from), to: canonical(to), look, seen: OnceCell::new() }
    }

    /// Of ours, at which it came.
    pub(crate) fn port(&self) -> u16 {
        self.to.port()
    }

    pub(crate) async fn seen(&self) -> Seen {
        let looking = || async {
            let (from, to, look) = (self.from, self.to, self.look.clone());
            let looking = spawn_blocking(move || look_at(from, to, &look));
            match timeout(LOOK_DEADLINE, looking).await {
                Ok(Ok(seen)) => seen,
                _ => Seen::Unseen,
            }
        };
        self.seen.get_or_init(looking).await.clone()
    }
}

fn look_at(from: SocketAddr, to: SocketAddr, look: &Look) -> Seen {
    match socket(from, to) {
        // The kernel lists all sockets of this machine that we could be connected to; who is not there is not on it.
        Ok(None) if !from.ip().is_loopback() => Seen::Elsewhere,
        Ok(Some(socket)) if socket.uid != geteuid().as_raw() => Seen::Elsewhere,
        Ok(Some(socket)) => who_holds(socket.inode, look),
        Ok(None) | Err(_) => Seen::Unseen,
    }
}

/// Several may hold one socket. One agent among them is enough.
fn who_holds(inode: u64, look: &Look) -> Seen {
    let wanted = PathBuf::from(format!("socket:[{inode}]"));
    let mut seen = Seen::Unseen;
    for pid in processes() {
        let Some(file) = holding(pid, &wanted) else { continue };
        let standing = look(pid);
        // Only now: had it ended before we looked, the pid might have meant somebody else.
        if fs::read_link(file).ok().as_ref() != Some(&wanted) {
            return Seen::Unseen;
        }
        let is_agent = standing != Standing::Person;
        seen = Seen::Process { pid, standing };
        if is_agent {
            break;
        }
    }
    seen
}

fn processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The open file of this process that is the one wanted.
fn holding(pid: i32, wanted: &PathBuf) -> Option<PathBuf> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    files.map(|file| file.path()).find(|file| fs::read_link(file).is_ok_and(|link| &link == wanted))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Socket {
    uid: u32,
    inode: u64,
}

/// The other end's own socket: what is `from` and `to` for us is the other way round for it.
fn socket(from: SocketAddr, to: SocketAddr) -> io::Result<Option<Socket>> {
    // Both are there unless IPv6 is not.
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = match fs::read_to_string(table) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if let Some(found) = text.lines().skip(1).find_map(|line| row(line, from, to)) {
            return Ok(Some(found));
        }
    }
    // A table that cannot be there at all is not the same as one without our row.
    fs::metadata("/proc/net/tcp").map(|found| found.ino()).map(|_| None)
}

fn row(line: &str, from: SocketAddr, to: SocketAddr) -> Option<Socket> {
    let mut words = line.split_whitespace().skip(1);
    let (local, remote) = (address(words.next()?)?, address(words.next()?)?);
    // State, queues, timer, retransmits, uid, timeout, inode.
    let mut words = words.skip(4);
    let uid = words.next()?.parse().ok()?;
    let inode = words.nth(1)?.parse().ok()?;
    ((local, remote) == (from, to)).then_some(Socket { uid, inode })
}

/// `0100007F:1FC9`: words of 32 bits, each as this machine writes a number, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let word = u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let bytes = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn our_own_connection_is_found_over_both_kinds_of_address() {
        let own = i32::try_from(std::process::id()).unwrap();
        for bound in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let listener = TcpListener::bind(bound).unwrap();
            let port = listener.local_addr().unwrap().port();
            let reached = if bound == "[::1]:0" {
                format!("[::1]:{port}")
            } else {
                format!("127.0.0.1:{port}")
            };
            let _client = TcpStream::connect(reached).unwrap();
            let (stream, from) = listener.accept().unwrap();
            let look: Look = Arc::new(|_| Standing::agent("is a test"));
            let visitor = Visitor::new(from, stream.local_addr().unwrap(), look.clone());
            let seen = look_at(visitor.from, visitor.to, &look);
            assert_eq!(
                seen,
                Seen::Process { pid: own, standing: Standing::agent("is a test") },
                "{bound}"
            );
        }
    }

    #[test]
    fn whoever_is_gone_is_unseen_and_whoever_is_not_listed_is_elsewhere() {
        let look: Look = Arc::new(|_| Standing::Person);
        let to = "127.0.0.1:9".parse().unwrap();
        assert_eq!(look_at("127.0.0.1:9".parse().unwrap(), to, &look), Seen::Unseen);
        assert_eq!(look_at("192.0.2.7:9".parse().unwrap(), to, &look), Seen::Elsewhere);
    }
}
