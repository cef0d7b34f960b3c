//! Which process is at the other end of a TCP connection, if it is on this machine.
//!
//! The kernel lists every socket with its two ends, its user and its inode (`/proc/net/tcp`, `proc_pid_net(5)`), and the open files of
//! each process name inodes. TCP has no credentials, so this is a look and no proof: it finds an agent that has got hold of a
//! token, and what cannot be looked at counts as one. Only what is for people alone is worth the look, which reads the
//! open files of every process of ours: some milliseconds, once per connection.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
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
    match judge(&socket(from, to), || is_here(from.ip(), to.ip()), geteuid().as_raw()) {
        Verdict::HeldBySomebody { inode } => who_holds(inode, look),
        Verdict::Unseen => Seen::Unseen,
        Verdict::Elsewhere => Seen::Elsewhere,
    }
}

/// What the kernel's row says of the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    HeldBySomebody { inode: u64 },
    Unseen,
    Elsewhere,
}

fn judge(
    found: &io::Result<Option<Socket>>,
    is_here: impl FnOnce() -> bool,
    own_uid: u32,
) -> Verdict {
    match *found {
        // Whoever has closed its end is listed without a file and as nobody's, which is user 0. Its request may still be
        // on its way to us.
        Ok(Some(Socket { inode: 0, .. })) => Verdict::Unseen,
        Ok(Some(socket)) if socket.uid != own_uid => Verdict::Elsewhere,
        Ok(Some(Socket { inode, .. })) => Verdict::HeldBySomebody { inode },
        // The kernel lists all sockets of this machine that we could be connected to, but for those that were reset.
        Ok(None) if !is_here() => Verdict::Elsewhere,
        Ok(None) | Err(_) => Verdict::Unseen,
    }
}

/// Whether an address is one of this machine's: only those can be bound to. The scope of a link's own address is not known
/// here, but whoever reaches us at one from this machine comes from the same.
fn is_here(from: IpAddr, to: IpAddr) -> bool {
    from.is_loopback() || from == to || UdpSocket::bind((from, 0)).is_ok()
}

/// Several may hold one socket. One agent among them is enough.
fn who_holds(inode: u64, look: &Look) -> Seen {
    let wanted = PathBuf::from(format!("socket:[{inode}]"));
    match among(Files::OfProcesses, &wanted, look) {
        Seen::Unseen => among(Files::OfThreads, &wanted, look),
        seen => seen,
    }
}

/// Whose open files are looked through.
#[derive(Clone, Copy)]
enum Files {
    OfProcesses,
    /// A thread may have open files of its own (`CLONE_FILES`). There are many more of these, and hardly any need for them.
    OfThreads,
}

fn among(files: Files, wanted: &PathBuf, look: &Look) -> Seen {
    let mut seen = Seen::Unseen;
    for pid in processes() {
        let Some(file) = holding(pid, files, wanted) else { continue };
        let standing = look(pid);
        // Only now: had it ended before we looked, the pid might have meant somebody else.
        if fs::read_link(file).ok().as_ref() != Some(wanted) {
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
fn holding(pid: i32, files: Files, wanted: &PathBuf) -> Option<PathBuf> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let folders: Vec<PathBuf> = match files {
        Files::OfProcesses => vec![process],
        Files::OfThreads => {
            let threads = fs::read_dir(process.join("task")).ok()?.flatten();
            threads.map(|thread| thread.path()).collect()
        }
    };
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder.join("fd")).ok());
    let mut files = files.flatten().flatten().map(|file| file.path());
    files.find(|file| fs::read_link(file).is_ok_and(|link| &link == wanted))
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

    /// `/proc/PID/fd` shows the files of the first thread only.
    #[test]
    fn a_thread_with_open_files_of_its_own_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES).unwrap();
            let _client = TcpStream::connect(to).unwrap();
            wait.recv().ok();
        });
        let (stream, from) = listener.accept().unwrap();
        let look: Look = Arc::new(|_| Standing::agent("is a test"));
        let seen = look_at(from, stream.local_addr().unwrap(), &look);
        drop(done);
        thread.join().unwrap();
        assert!(matches!(seen, Seen::Process { .. }), "{seen:?}");
    }

    /// An agent that sends its request and closes its end at once must not pass for somebody else.
    #[test]
    fn whoever_has_closed_its_end_is_unseen_whatever_user_we_run_as() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, from) = listener.accept().unwrap();
        drop(client);
        let closed = socket(from, stream.local_addr().unwrap()).unwrap().unwrap();
        assert_eq!(closed, Socket { uid: 0, inode: 0 });
        for own_uid in [0, 1000] {
            assert_eq!(judge(&Ok(Some(closed)), || true, own_uid), Verdict::Unseen, "{own_uid}");
        }
    }

    #[test]
    fn only_what_surely_is_not_ours_is_elsewhere() {
        let held = |uid| Ok(Some(Socket { uid, inode: 7 }));
        let found = [
            judge(&held(1000), || true, 1000),
            judge(&held(1001), || true, 1000),
            // Reset by an agent on this machine that came to an address of the network.
            judge(&Ok(None), || true, 1000),
            judge(&Ok(None), || false, 1000),
            judge(&Err(io::ErrorKind::PermissionDenied.into()), || false, 1000),
        ];
        let expected = [
            Verdict::HeldBySomebody { inode: 7 },
            Verdict::Elsewhere,
            Verdict::Unseen,
            Verdict::Elsewhere,
            Verdict::Unseen,
        ];
        assert_eq!(found, expected);
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let here = ["127.0.0.1", "::1"].map(|own| is_here(ip(own), ip("192.0.2.1")));
        assert_eq!(here, [true, true]);
        assert!(!is_here(ip("192.0.2.7"), ip("192.0.2.1")));
    }
}
