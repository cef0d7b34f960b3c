//! Rules for changes of files.

use ostler_model::ask::{FileChangeAsk, FileChangeKind, FileDiff};
use ostler_model::policy::{Folder, Matcher};
use ostler_model::{Ask, AskKind};

use crate::rig::{CWD, FITS, MISSES, UNCLEAR, ask, file, files, folder, reach};

fn below(path: &str) -> Matcher {
    Matcher::FilesBelow(folder(path))
}

#[test]
fn all_files_must_be_below_the_folder() {
    let repo = below(CWD);
    for (paths, reached) in [
        (&["/work/repo/a"][..], FITS),
        (&["/work/repo/a", "/work/repo/sub/b"], FITS),
        (&["/work/repo//./a"], FITS),
        (&["a", "sub/b"], FITS),
        (&["/work/repo/a", "/work/other/b"], UNCLEAR),
        (&["/work/repository/a"], MISSES),
        (&["/work"], MISSES),
        (&["/"], MISSES),
        (&["/work/repo/../other/a"], UNCLEAR),
        (&["../other/a"], UNCLEAR),
        (&["/work/repo/a\0b"], UNCLEAR),
        (&[], UNCLEAR),
    ] {
        assert_eq!(reach(&repo, &files(paths)), reached, "{paths:?}");
    }
}

/// What stands there is run by tools later: a hook of git is no change of a file like any other.
#[test]
fn guarded_folders_need_a_rule_of_their_own() {
    for path in [
        "/work/repo/.git/hooks/x",
        "/work/repo/sub/.GIT/config",
        "/work/repo/.codex/x",
        "/work/repo/.git",
    ] {
        assert_eq!(reach(&below(CWD), &files(&[path])), UNCLEAR, "{path}");
    }
    assert_eq!(reach(&below("/work/repo/.git"), &files(&["/work/repo/.git/config"])), FITS);
    assert_eq!(reach(&below(CWD), &files(&["/work/repo/.github/x", "/work/repo/a.git"])), FITS);
}

fn changed(change: FileChangeKind) -> Ask {
    let files = vec![FileDiff { change, ..file("/work/repo/a") }];
    ask(AskKind::FileChange(FileChangeAsk { files, grant_root: None }))
}

#[test]
fn both_ends_of_a_move_count() {
    let moved = |to: &str| changed(FileChangeKind::Update { moved_to: Some(to.to_owned()) });
    assert_eq!(reach(&below(CWD), &moved("/work/repo/b")), FITS);
    assert_eq!(reach(&below(CWD), &moved("/etc/b")), UNCLEAR);
    assert_eq!(reach(&below("/etc"), &moved("/etc/b")), UNCLEAR);
    assert_eq!(reach(&below("/usr"), &moved("/etc/b")), MISSES);
    assert_eq!(reach(&below(CWD), &changed(FileChangeKind::Delete)), FITS);
    assert_eq!(reach(&below(CWD), &changed(FileChangeKind::Other("link".into()))), UNCLEAR);
}

#[test]
fn a_folder_for_the_whole_session_is_more_than_files() {
    let granting = |root: &str| {
        let files = vec![file("/work/repo/a")];
        let grant_root = Some(root.to_owned());
        ask(AskKind::FileChange(FileChangeAsk { files, grant_root }))
    };
    assert_eq!(reach(&below(CWD), &granting(CWD)), UNCLEAR);
    assert_eq!(reach(&below("/secrets"), &granting("/secrets/x")), UNCLEAR);
    assert_eq!(reach(&below("/secrets"), &granting("/")), UNCLEAR);
    assert_eq!(reach(&below("/secrets"), &granting("/other")), MISSES);
}

#[test]
fn folders_are_whole_and_plain() {
    for (path, plain) in [("/", "/"), ("/a//b/./c/", "/a/b/c"), ("//a", "/a")] {
        assert_eq!(folder(path).as_str(), plain);
    }
    for path in ["", "a", "./a", "~/a", "/a/../b", "/a\nb"] {
        Folder::try_from(path.to_owned()).unwrap_err();
    }
    assert_eq!(reach(&below("/"), &files(&["/anything"])), FITS);
}
