//! No network: the calls that lead there are refused by seccomp.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::supervise::SandboxError;

/// Refused whatever they are given. Even a socket in a file may lead out: to a container's daemon, to Ostler's own. Calls by
/// way of `io_uring` are seen by no filter.
const REFUSED: [i64; 11] = [
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_ptrace,
];

/// The second set of numbers that an x86-64 kernel may take for the same calls.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Holds the calling thread and all that it starts from now on. Pairs of local sockets work: programs speak with their own
/// children by them.
pub(super) fn refuse() -> Result<(), SandboxError> {
    let filter = filter().map_err(|error| SandboxError::Network(error.to_string()))?;
    seccompiler::apply_filter(&filter).map_err(|error| SandboxError::Network(error.to_string()))
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let not_local = || {
        let local = u64::from(libc::AF_UNIX.unsigned_abs());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, local)
            .and_then(|condition| SeccompRule::new(vec![condition]))
    };
    // Without an address it goes to the other end of the pair.
    let to_an_address = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)
        .and_then(|condition| SeccompRule::new(vec![condition]))?;

    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.into_iter().map(|call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, vec![not_local()?]);
    rules.insert(libc::SYS_socketpair, vec![not_local()?]);
    rules.insert(libc::SYS_sendto, vec![to_an_address]);
    #[cfg(target_arch = "x86_64")]
    rules.extend(
        rules.clone().into_iter().map(|(call, rules)| (call | X32, rules)).collect::<Vec<_>>(),
    );

    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refusal, architecture)?.try_into()
}
