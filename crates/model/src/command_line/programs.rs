//! Words that are not what they seem in the place of a program.

/// Words of the grammar of bash, zsh or sh.
const KEYWORDS: &str = "
    ! [[ ]] { } case coproc do done elif else end esac fi for foreach function if in nocorrect
    noglob repeat select then time until while always namespace
";

/// Commands that a shell does by itself, and with more than their words say: they run text (`trap`), load code (`enable`),
/// or calculate with what they are given, and an index in a calculation may run a command (`unset 'a[$(x)]'`). `echo`,
/// `pwd`, `true` and `false` do no such thing and are taken for the programs of that name.
const BUILTINS: &str = "
    . : [ alias autoload bg bind bindkey break builtin bye caller cd chdir command compgen
    complete compopt continue declare dirs disable disown emulate enable eval exec exit export
    fc fg float functions getln getopts hash help history integer jobs kill let limit local
    logout mapfile popd print printf private pushd pushln r read readarray readonly rehash
    return sched set setopt shift shopt source suspend test times trap ttyctl type typeset
    ulimit umask unalias unfunction unhash unlimit unset unsetopt vared wait whence zcompile
    zformat zle zmodload zparseopts zregexparse zsocket zstyle ztcp compdescribe comparguments
    echotc echoti
";

/// Programs whose arguments are a command, or a script.
const RUNNERS: &str = "
    ash bash bwrap busybox caffeinate capsh chroot chrt chpst cmd command csh dash
    dbus-run-session doas elvish entr env eval exec expect faketime fakeroot firejail fish flock
    gdb gtime gtimeout ionice ksh linux32 linux64 ltrace mksh nice nohup nsenter nu numactl oksh
    parallel pkexec powershell proxychains proxychains4 pwsh rbash rlwrap runcon runuser script
    setarch setpriv setsid sh softlimit source stdbuf strace su sudo systemd-run taskset tcsh
    time timeout toybox trap unbuffer unshare watch xargs
";

/// More of them, whose name does not come alone: `zsh-5.9`, `bash5`, `ld-linux-x86-64.so.2`, `ld.so`.
const RUNNER_BEGINNINGS: &str = "bash zsh ld-linux ld.so xvfb-run valgrind";

/// Options after which some programs (`find`, `fd`, `git rebase`) take a command.
const RUNNING_OPTIONS: &str = "-exec -execdir -ok -okdir --exec --exec-batch";

pub(super) fn takes_a_command(option: &str) -> bool {
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    lists(RUNNING_OPTIONS, name)
}

pub(super) fn is_shell_word(word: &str) -> bool {
    lists(KEYWORDS, word) || lists(BUILTINS, word)
}

/// Whether the program runs another one that its arguments name.
pub(super) fn runs_others(program: &str) -> bool {
    let name = name_of(program);
    lists(RUNNERS, &name)
        || RUNNER_BEGINNINGS.split_whitespace().any(|beginning| name.starts_with(beginning))
}

/// The name of a program without its folder, as those file systems see it that do not tell `RM` from `rm`.
pub(super) fn name_of(program: &str) -> String {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = file.to_ascii_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

fn lists(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}
