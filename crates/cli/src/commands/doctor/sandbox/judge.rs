//! What the attempts say about the sandbox.

use super::{Attempt, Kernel, Network, Ran, Trial};
use crate::commands::doctor::check::{Check, Name};

/// Enough for what bubblewrap says before it gives up, which is one line.
const TAIL_LINES: usize = 3;
const TAIL_CHARS: usize = 300;

pub(in crate::commands::doctor) fn judge(trial: &Trial) -> Check {
    let problem = |found: String| Check::problem(Name::Sandbox, found);
    let leaks = leaks(trial);
    if !leaks.is_empty() {
        let bubblewrap = trial.bubblewrap.as_ref().map_or_else(
            || "install the bubblewrap package of your system".to_owned(),
            |path| format!("look whether {} is the real bubblewrap", path.display()),
        );
        return problem(format!("does NOT confine: {}", leaks.join("; "))).advise(format!(
            "{bubblewrap}; until then a command of Codex can do here whatever you can, so use it only where that does no harm"
        ));
    }
    for attempt in [&trial.read_only, &trial.inside, &trial.outside] {
        match &attempt.ran {
            Err(error) => {
                return problem(format!("Codex runs no command in it: {error}"))
                    .advise(remedy(trial, error));
            }
            Ok(Ran { started: false, stderr, .. }) => {
                let said = tail(stderr);
                return problem(format!("does not start: {said}")).advise(remedy(trial, &said));
            }
            Ok(_) => {}
        }
    }
    if !trial.inside.appeared {
        let said = trial.inside.ran.as_ref().map(|ran| tail(&ran.stderr)).unwrap_or_default();
        return problem(format!("lets nothing be written, not even in the workspace: {said}"))
            .advise("look whether the file system of the state folder is an unusual one");
    }
    let network = match trial.network {
        Network::Closed | Network::Reached => ", no network",
        Network::Untried => "; the network was not tried",
    };
    let whose = match &trial.bubblewrap {
        Some(path) => format!(" ({})", path.display()),
        None => String::new(),
    };
    Check::ok(
        Name::Sandbox,
        format!("confines: read-only holds, writes stay in the workspace{network}{whose}"),
    )
    .with_details(modes(trial))
}

/// What was found in each mode.
fn modes(trial: &Trial) -> Vec<String> {
    let reach = |network: Network| match network {
        Network::Closed => "no network",
        Network::Reached => "network",
        Network::Untried => "network not tried",
    };
    let git = if trial.git.appeared { "and in its .git" } else { "not in its .git" };
    vec![
        format!("read-only: nothing can be written, {}", reach(trial.read_only_network)),
        format!(
            "workspace-write: files in the workspace, {git}, nothing beside it, {}",
            reach(trial.network)
        ),
        format!("workspace-write with network allowed: {}", reach(trial.allowed_network)),
    ]
}

/// What a command could do although it must not.
fn leaks(trial: &Trial) -> Vec<&'static str> {
    let mut leaks = Vec::new();
    for (attempt, wrote, was_let) in [
        (
            &trial.read_only,
            "a command that may only read wrote a file",
            "a command that may only read was not refused to write",
        ),
        (
            &trial.outside,
            "a command wrote a file outside its workspace",
            "a command was not refused to write outside its workspace",
        ),
    ] {
        match attempt {
            Attempt { appeared: true, .. } => leaks.push(wrote),
            Attempt { ran: Ok(Ran { started: true, succeeded: true, .. }), .. } => {
                leaks.push(was_let);
            }
            Attempt { .. } => {}
        }
    }
    if [trial.network, trial.read_only_network].contains(&Network::Reached) {
        leaks.push("a command without network reached a port of this machine");
    }
    leaks
}

/// The switch that is off, if one is; else what most often helps.
fn remedy(trial: &Trial, said: &str) -> String {
    let Kernel {
        max_user_namespaces,
        unprivileged_userns_clone,
        apparmor_restrict_unprivileged_userns,
    } = trial.kernel;
    if max_user_namespaces == Some(0) {
        return "switch user namespaces on: `sudo sysctl -w user.max_user_namespaces=15000`"
            .to_owned();
    }
    if unprivileged_userns_clone == Some(0) {
        return "switch user namespaces on: `sudo sysctl -w kernel.unprivileged_userns_clone=1`"
            .to_owned();
    }
    if apparmor_restrict_unprivileged_userns == Some(1) && trial.bubblewrap.is_none() {
        return "AppArmor forbids user namespaces to programs it does not know: install the bubblewrap package, \
                or `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
            .to_owned();
    }
    if said.contains("Operation not permitted") || said.contains("Permission denied") {
        return "inside a container, let it make user namespaces (for Docker: --security-opt seccomp=unconfined); \
                elsewhere install the bubblewrap package"
            .to_owned();
    }
    "install the bubblewrap package of your system, e.g. `sudo apt install bubblewrap`".to_owned()
}

fn tail(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.len().saturating_sub(TAIL_LINES);
    let text: Vec<&str> = lines.into_iter().skip(last).collect();
    match text.join(" ").chars().take(TAIL_CHARS).collect::<String>() {
        empty if empty.is_empty() => "it says nothing".to_owned(),
        text => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(started: bool, succeeded: bool, stderr: &str) -> Result<Ran, String> {
        Ok(Ran { started, succeeded, stderr: stderr.to_owned() })
    }

    fn refused() -> Attempt {
        Attempt { ran: ran(true, false, "sh: Read-only file system"), appeared: false }
    }

    fn written() -> Attempt {
        Attempt { ran: ran(true, true, ""), appeared: true }
    }

    fn confining() -> Trial {
        Trial {
            read_only: refused(),
            inside: written(),
            outside: refused(),
            git: refused(),
            network: Network::Closed,
            read_only_network: Network::Closed,
            allowed_network: Network::Reached,
            kernel: Kernel::default(),
            bubblewrap: None,
        }
    }

    fn dead(stderr: &str) -> Trial {
        let attempt = Attempt { ran: ran(false, false, stderr), appeared: false };
        Trial {
            read_only: attempt.clone(),
            inside: attempt.clone(),
            outside: attempt,
            network: Network::Untried,
            ..confining()
        }
    }

    #[test]
    fn a_sandbox_that_confines_is_ok() {
        let modes = |network: &str| {
            let writable =
                "workspace-write: files in the workspace, not in its .git, nothing beside it";
            vec![
                "read-only: nothing can be written, no network".to_owned(),
                format!("{writable}, {network}"),
                "workspace-write with network allowed: network".to_owned(),
            ]
        };
        let ok_with =
            |found: &str, network| Check::ok(Name::Sandbox, found).with_details(modes(network));
        let ok = |found: &str| ok_with(found, "no network");
        let found = "confines: read-only holds, writes stay in the workspace, no network";
        assert_eq!(judge(&confining()), ok(found));
        let trial = Trial { bubblewrap: Some("/usr/bin/bwrap".into()), ..confining() };
        assert_eq!(judge(&trial), ok(&format!("{found} (/usr/bin/bwrap)")));
        let trial = Trial { network: Network::Untried, ..confining() };
        let found =
            "confines: read-only holds, writes stay in the workspace; the network was not tried";
        assert_eq!(judge(&trial), ok_with(found, "network not tried"));
    }

    #[test]
    fn a_file_that_must_not_be_there_is_a_problem_whatever_the_command_says() {
        let said_no = Attempt { appeared: true, ..refused() };
        let said_yes = Attempt { appeared: false, ..written() };
        let never_ran = Attempt { ran: Err("no".to_owned()), appeared: true };
        for (trial, leaks) in [
            (
                Trial { read_only: written(), ..confining() },
                "a command that may only read wrote a file",
            ),
            (
                Trial { read_only: said_no.clone(), ..confining() },
                "a command that may only read wrote a file",
            ),
            (
                Trial { read_only: never_ran, ..confining() },
                "a command that may only read wrote a file",
            ),
            (
                Trial { read_only: said_yes.clone(), ..confining() },
                "a command that may only read was not refused to write",
            ),
            (
                Trial { outside: said_no, ..confining() },
                "a command wrote a file outside its workspace",
            ),
            (
                Trial { outside: said_yes, ..confining() },
                "a command was not refused to write outside its workspace",
            ),
            (
                Trial { network: Network::Reached, ..confining() },
                "a command without network reached a port of this machine",
            ),
            (
                Trial { network: Network::Reached, outside: written(), ..confining() },
                "a command wrote a file outside its workspace; \
                 a command without network reached a port of this machine",
            ),
        ] {
            let advice = "install the bubblewrap package of your system; until then a command of Codex can do here \
                          whatever you can, so use it only where that does no harm";
            let found = format!("does NOT confine: {leaks}");
            assert_eq!(judge(&trial), Check::problem(Name::Sandbox, found).advise(advice));
        }
    }

    #[test]
    fn a_sandbox_that_does_not_start_says_why_and_what_helps() {
        let said = "noise\nmore\n\nbwrap: No permissions to create new namespace\na\nb\n";
        let shown = "does not start: bwrap: No permissions to create new namespace a b";
        let with = |kernel: Kernel| Trial { kernel, ..dead(said) };
        let none = Kernel { max_user_namespaces: Some(0), ..Kernel::default() };
        let debian = Kernel { unprivileged_userns_clone: Some(0), ..Kernel::default() };
        let ubuntu = Kernel { apparmor_restrict_unprivileged_userns: Some(1), ..Kernel::default() };
        for (trial, advice) in [
            (with(none), "user.max_user_namespaces="),
            (with(debian), "kernel.unprivileged_userns_clone="),
            (with(ubuntu), "kernel.apparmor_restrict_unprivileged_userns="),
            (with(Kernel::default()), "apt install bubblewrap"),
        ] {
            let check = judge(&trial);
            assert_eq!(check.found, shown);
            assert!(check.advice.unwrap().contains(advice), "{advice}");
        }
        let check = judge(&dead("bwrap: Operation not permitted"));
        assert!(check.advice.unwrap().contains("container"));
        assert_eq!(judge(&dead("")).found, "does not start: it says nothing");
    }

    #[test]
    fn what_cannot_be_run_or_written_is_a_problem() {
        let stuck = Attempt { ran: Err("not answered within 15 s".to_owned()), appeared: false };
        let trial = Trial { outside: stuck, ..confining() };
        assert_eq!(judge(&trial).found, "Codex runs no command in it: not answered within 15 s");
        let trial = Trial { inside: refused(), ..confining() };
        assert_eq!(
            judge(&trial),
            Check::problem(
                Name::Sandbox,
                "lets nothing be written, not even in the workspace: sh: Read-only file system"
            )
            .advise("look whether the file system of the state folder is an unusual one")
        );
    }
}
