//! Commands that are known to only read, whatever their arguments say.

use ostler_model::CommandLine;

/// They have no option that writes, runs another program or speaks to the network.
const READERS: &str = "
    basename cat cksum cmp comm cut dirname du echo expr false fold grep egrep fgrep groups head id
    join ls md5sum nl nproc od paste printenv pwd readlink realpath seq sha1sum sha256sum sha512sum
    stat strings tac tail tr true uname wc which whoami
";

/// What they write to, delete or run comes behind one of these.
const FIND_OPTIONS: [&str; 8] =
    ["-delete", "-fls", "-fprint", "-fprint0", "-fprintf", "-exec", "-ok", "-okdir"];

/// Sub-commands of git that only look. A configured pager or external diff is run by some of them, inside the sandbox.
const GIT: [&str; 8] =
    ["status", "log", "show", "diff", "rev-parse", "ls-files", "blame", "describe"];

/// Whether this line can be run without asking even where every command is asked for. In doubt it cannot.
pub(super) fn is_harmless(line: &str) -> bool {
    let CommandLine::Simple { argv } = CommandLine::read(line) else { return false };
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    match words.as_slice() {
        // A variable would be filled in by the shell; the reader has seen to it that there is none.
        ["find", rest @ ..] => {
            !rest.iter().any(|word| FIND_OPTIONS.iter().any(|it| word.starts_with(it)))
        }
        ["rg", rest @ ..] => !rest.iter().any(|word| {
            word.starts_with("--pre")
                || word.starts_with("--hostname-bin")
                || is_short_with(word, 'z')
                || word.starts_with("--search-zip")
        }),
        ["git", sub, rest @ ..] => {
            GIT.contains(sub)
                && !rest.iter().any(|word| {
                    word.starts_with("--output")
                        || word.starts_with("--ext-diff")
                        || word.starts_with("--textconv")
                        || word.starts_with("--contents")
                })
        }
        [program, ..] => READERS.split_whitespace().any(|reader| reader == *program),
        [] => false,
    }
}

fn is_short_with(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn only_what_is_known_to_read_is_harmless() {
        let harmless =
            ["ls -la", "cat 'a b'", "find . -name x", "git diff HEAD", "rg foo src", "pwd"];
        let not = [
            "",
            "rm x",
            "ls > x",
            "cat $(rm x)",
            "ls; rm x",
            "find . -delete",
            "find . -exec rm x +",
            "find . -fprint0 x",
            "git push",
            "git diff --output=x",
            "git -c a=b status",
            "rg --pre sh x",
            "/tmp/ls",
            "env ls",
            "A=b ls",
            "ls | tee x",
            "echo $HOME > x",
            "git diff --ext-diff",
        ];
        let judged = |all: &[&str]| all.iter().map(|line| is_harmless(line)).collect::<Vec<_>>();

        assert_eq!(judged(&harmless), [true; 6]);
        assert_eq!(judged(&not), [false; 18]);
    }
}
