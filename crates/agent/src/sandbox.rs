//! What a command of the host agent may touch, and the walls that hold it there.
//!
//! [`Confinement`] is what the operator wants; [`Boundary`] is that with every path resolved, made once, before any command
//! has run: a command that could put a symbolic link in the place of a writable folder would otherwise choose the walls of
//! the next one. [`Walls`] are what one command gets. They are built by the hidden `ostler sandbox-exec` around itself
//! ([`sandbox_exec`]), which then stays above the command and ends all that it leaves behind.
//!
//! The means are those of Codex on Linux: bubblewrap, with Landlock for files and seccomp for the network inside of it; the
//! latter two alone where bubblewrap is missing or forbidden. Where there is neither, nothing runs without a person's word.
//!
//! Right below a writable folder `.git`, `.codex` and `.agents` decide what programs do later, outside of every sandbox. Bubblewrap keeps
//! commands from them, also where they do not exist yet. Landlock cannot take a part out of what it has allowed; so where there is only
//! Landlock, a command that is not known to be harmless needs a person's word, as a change of these files by a tool does in both cases.
//! Nor does Landlock hold back who changes the rights or the times of a file of their own.

mod boundary;
mod bubblewrap;
mod descendants;
mod landlock_walls;
mod means;
mod network;
mod placeholders;
mod supervise;
mod walls;

pub(crate) use boundary::resolved;
pub use boundary::{Boundary, Confinement, Reach};
pub use means::{Means, Unavailable};
pub use supervise::{SandboxError, sandbox_exec};
pub use walls::Walls;
