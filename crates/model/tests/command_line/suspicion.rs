//! Whether a line could run what somebody refused: in doubt it could.

use ostler_model::CommandLine;

use crate::cases::shown;

fn could_run(script: &str, wanted: &str) -> bool {
    let wanted: Vec<_> = wanted.split(' ').map(str::to_owned).collect();
    CommandLine::read(&shown(script)).could_run(&wanted)
}

#[test]
fn a_refused_command_is_found_wherever_it_may_begin() {
    for script in [
        "rm -rf build",
        "/bin/rm -rf build",
        "./rm -rf build",
        "RM -rf build",
        "rm -rf build extra",
        "ls && rm -rf build",
        "ls;rm -rf build",
        "ls | rm -rf build",
        "ls & rm -rf build",
        "ls\nrm -rf build",
        "ls || (rm -rf build)",
        "{ rm -rf build; }",
        "{rm,-rf,build}",
        "echo $(rm -rf build)",
        "echo \"$(rm -rf build)\"",
        "echo `rm -rf build`",
        "cat <(rm -rf build)",
        "A=b rm -rf build",
        "! rm -rf build",
        "if true; then rm -rf build; fi",
        "while rm -rf build; do ls; done",
        "> out rm -rf build",
        "2>&1 rm -rf build",
        "r''m -r\"f\" build; ls",
        "r\\m -rf build; ls",
        "rm \\\n-rf build",
        "$X -rf build",
        "a=rm; $a -rf build",
        "r? -rf build",
        "$'\\x72m' -rf build",
        "rm $FLAGS build",
        "rm -rf $X",
        "rm -rf b*",
        "env A=b rm -rf build",
        "sudo -u root rm -rf build",
        "xargs rm -rf build",
        "timeout 5 rm -rf build",
        "sh -c 'rm -rf build'",
        "bash -c \"ls; rm -rf build\"",
        "eval 'rm -rf build'",
        "trap 'rm -rf build' EXIT",
        "echo rm -rf build | sh",
        "find . -exec rm -rf build {} +",
        "find . -exec rm -rf build '+'",
        "ls 'rm -rf build; sh",
        "rm -rf build 'unbalanced",
    ] {
        assert!(could_run(script, "rm -rf build"), "{script}");
    }
}

#[test]
fn other_commands_are_not_suspected() {
    for script in [
        "ls",
        "echo rm -rf build",
        "git commit -m 'rm -rf build'",
        "rm -r build",
        "rm",
        "rmdir -rf build",
        "ls && echo rm -rf build",
        "ls && git commit -m 'rm -rf build'",
        "cd sub && cargo test",
        "[ -f x ] && ls",
        "ls > rm",
        "sudo ls",
        "echo $HOME; ls *",
        "for f in a b; do cat $f; done",
    ] {
        assert!(!could_run(script, "rm -rf build"), "{script}");
    }
}

#[test]
fn what_is_typed_into_a_running_program_is_searched_as_a_whole() {
    let typed = |text: &str| {
        let wanted = ["rm".to_owned(), "-rf".to_owned()];
        CommandLine::typed(text).could_run(&wanted)
    };
    assert!(typed("write_stdin --session-id 1 'rm -rf x\n'"));
    assert!(typed("write_stdin --session-id 1 'ls; /bin/rm -rf x\n'"));
    assert!(!typed("write_stdin --session-id 1 'ls\n'"));
}

/// A word that does not stay one word without its quotes cannot be looked for, so the words before it decide.
#[test]
fn refused_words_with_blanks_are_looked_for_up_to_there() {
    let wanted = ["git", "commit", "-m", "a b"].map(str::to_owned);
    assert!(CommandLine::read(&shown("ls; git commit -m 'a b'")).could_run(&wanted));
    assert!(!CommandLine::read(&shown("ls; git commit -a")).could_run(&wanted));
}
