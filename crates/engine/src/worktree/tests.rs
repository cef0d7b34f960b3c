//! On real git, in folders with spaces.
#![expect(clippy::disallowed_methods, reason = "git is where the tests' own PATH says")]

use std::process::Command;

use tempfile::TempDir;

use super::*;

/// A repository with one commit on `main`, and worktrees beside it.
struct World {
    folder: TempDir,
    worktrees: Worktrees,
}

impl World {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        // What an operator may have: hooks in every repository, signatures on every commit.
        let config = "[user]\nname = Somebody\nemail = somebody@example.org\n[init]\ndefaultBranch = main\n\
                      [commit]\ngpgSign = true\n[gpg]\nprogram = /bin/false\n";
        std::fs::write(home.join(".gitconfig"), config).unwrap();
        let settings = WorktreeSettings {
            folder: folder.path().join("work trees"),
            branch_prefix: "ostler/".to_owned(),
        };
        let environment = [
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), home.into_os_string()),
            // Whatever the daemon was started from must not lead git astray.
            ("GIT_DIR".into(), "/nowhere".into()),
        ];
        let world = Self { worktrees: Worktrees::new(settings, &environment), folder };
        std::fs::create_dir_all(world.repository().join("sub folder")).unwrap();
        world.git(&["init", "--quiet"]);
        world.write("a.txt", "one\n");
        world.write("sub folder/b.txt", "two\n");
        world.commit("first");
        world
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("the repository")
    }

    fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "commit.gpgSign=false"])
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path().join("home"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.repository(), arguments)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.repository().join(name), text).unwrap();
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    async fn make(&self, task: &str) -> Made {
        self.worktrees
            .make(&TaskId::new(task), &self.repository().join("sub folder"))
            .await
            .unwrap()
    }

    async fn refusal(&self, folder: &Path) -> WorktreeError {
        self.worktrees.make(&TaskId::new("t"), folder).await.unwrap_err()
    }

    fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path().join("work trees"));
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn task(id: &str) -> TaskId {
    TaskId::new(id)
}

#[tokio::test]
async fn work_is_shown_and_merged_committed_or_not_and_then_the_worktree_can_go() {
    let world = World::new();
    let Made { worktree, cwd } = world.make("t1").await;
    let place = world.folder.path().canonicalize().unwrap().join("work trees/t1");
    assert_eq!(
        (Path::new(&cwd), worktree.branch.as_str(), worktree.into.as_deref()),
        (place.join("sub folder").as_path(), "ostler/t1", Some("main"))
    );
    std::fs::write(place.join("a.txt"), "one\nmore\n").unwrap();
    std::fs::write(place.join("sub folder/new file.txt"), "new\n").unwrap();

    let diff = world.worktrees.diff(&task("t1"), &worktree).await.unwrap();
    assert!(diff.contains("+more") && diff.contains("sub folder/new file.txt"), "{diff}");
    assert_eq!(
        world.git_in(&place, &["status", "--porcelain"]),
        " M a.txt\n?? \"sub folder/new file.txt\""
    );
    let refused = world.worktrees.remove(&task("t1"), &worktree, Force::No).await.unwrap_err();
    let uncommitted = vec!["a.txt".to_owned(), "sub folder/new file.txt".to_owned()];
    let work = Work { uncommitted, ..Work::default() };
    assert_eq!(refused, WorktreeError::NotMerged { work, kept_as: "refs/ostler/t1".to_owned() });

    let merged = world.worktrees.merge(&task("t1"), &worktree, "do it").await.unwrap();
    let head = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(merged, Merged::FastForward { into: "main".to_owned(), commit: head });
    assert_eq!(world.git(&["log", "-1", "--format=%an %s"]), "Somebody Work of task t1: do it");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(std::fs::read_to_string(world.repository().join("a.txt")).unwrap(), "one\nmore\n");
    assert_eq!(world.git_in(&place, &["status", "--porcelain"]), "");
    let again = world.worktrees.merge(&task("t1"), &worktree, "do it").await.unwrap();
    assert_eq!(again, Merged::Nothing { into: "main".to_owned() });

    assert_eq!(world.worktrees.remove(&task("t1"), &worktree, Force::No).await, Ok(None));
    assert_eq!(
        (world.left(), world.git(&["branch", "--list", "ostler/*"])),
        (vec![], String::new())
    );
}

#[tokio::test]
async fn a_branch_that_has_moved_is_joined_and_a_conflict_changes_nothing() {
    let world = World::new();
    let one = world.make("t1").await.worktree;
    let other = world.make("t2").await.worktree;
    std::fs::write(Path::new(&one.path).join("c.txt"), "c\n").unwrap();
    std::fs::write(Path::new(&other.path).join("a.txt"), "theirs\n").unwrap();
    world.write("a.txt", "ours\n");
    world.commit("second");

    let merged = world.worktrees.merge(&task("t1"), &one, "add c").await.unwrap();
    let head = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(merged, Merged::MergeCommit { into: "main".to_owned(), commit: head.clone() });
    assert_eq!(std::fs::read_to_string(world.repository().join("c.txt")).unwrap(), "c\n");

    let refused = world.worktrees.merge(&task("t2"), &other, "change a").await.unwrap_err();
    let files = vec!["a.txt".to_owned()];
    assert_eq!(refused, WorktreeError::Conflicts { into: "main".to_owned(), files });
    assert_eq!(
        (world.git(&["rev-parse", "HEAD"]), world.git(&["status", "--porcelain"])),
        (head, String::new())
    );
    let place = Path::new(&other.path);
    assert_eq!(world.git_in(place, &["rev-parse", "HEAD"]), other.base);
    assert_eq!(world.git_in(place, &["status", "--porcelain"]), " M a.txt");
}

#[tokio::test]
async fn what_lies_changed_in_the_checkout_is_not_overwritten() {
    let world = World::new();
    let made = world.make("t1").await.worktree;
    std::fs::write(Path::new(&made.path).join("a.txt"), "task\n").unwrap();
    world.write("a.txt", "not committed\n");

    let refused = world.worktrees.merge(&task("t1"), &made, "x").await.unwrap_err();

    assert!(
        matches!(&refused, WorktreeError::TargetBusy { into, .. } if into == "main"),
        "{refused:?}"
    );
    assert_eq!(
        std::fs::read_to_string(world.repository().join("a.txt")).unwrap(),
        "not committed\n"
    );
    assert_eq!(world.git(&["rev-parse", "HEAD"]), made.base);
}

#[tokio::test]
async fn a_branch_that_is_not_checked_out_is_moved_all_the_same() {
    let world = World::new();
    let made = world.make("t1").await.worktree;
    std::fs::write(Path::new(&made.path).join("a.txt"), "task\n").unwrap();
    world.git(&["checkout", "--quiet", "-b", "other"]);

    world.worktrees.merge(&task("t1"), &made, "x").await.unwrap();

    assert_eq!(world.git(&["show", "main:a.txt"]), "task");
    assert_eq!(std::fs::read_to_string(world.repository().join("a.txt")).unwrap(), "one\n");
}

#[tokio::test]
async fn work_that_is_removed_by_force_is_kept_under_a_name() {
    let world = World::new();
    let made = world.make("t1").await.worktree;
    let place = PathBuf::from(&made.path);
    std::fs::write(place.join("a.txt"), "committed\n").unwrap();
    world.git_in(&place, &["commit", "--quiet", "-am", "by the task"]);
    std::fs::write(place.join("b.txt"), "untracked\n").unwrap();

    let work = world.worktrees.work(&task("t1"), &made).await.unwrap();
    let ignored = Vec::new();
    let uncommitted = vec!["b.txt".to_owned()];
    assert_eq!(work, Work { uncommitted, unmerged_commits: 1, ignored });
    let kept = world.worktrees.remove(&task("t1"), &made, Force::KeepAsRef).await.unwrap();

    assert_eq!(kept.as_deref(), Some("refs/ostler/t1"));
    assert_eq!(world.git(&["show", "refs/ostler/t1:b.txt"]), "untracked");
    assert_eq!(world.git(&["show", "refs/ostler/t1:a.txt"]), "committed");
    assert_eq!(world.left(), [""; 0]);
}

/// No commit has them, so they go only when somebody says so.
#[tokio::test]
async fn what_git_ignores_goes_only_by_force() {
    let world = World::new();
    world.write(".gitignore", "*.db\nbuilt/\n");
    world.commit("ignore what is made");
    let made = world.make("t1").await.worktree;
    let place = PathBuf::from(&made.path);
    std::fs::write(place.join("guests.db"), "three\n").unwrap();
    std::fs::create_dir(place.join("built")).unwrap();
    std::fs::write(place.join("built/report.txt"), "full\n").unwrap();

    let ignored = vec!["built/".to_owned(), "guests.db".to_owned()];
    let work = Work { ignored, ..Work::default() };
    assert_eq!(work.to_string(), "built/, guests.db, which git ignores");
    let refused = world.worktrees.remove(&task("t1"), &made, Force::No).await;
    assert_eq!(refused, Err(WorktreeError::OnlyIgnored { work }));
    world.worktrees.tidy(world.worktrees.notes()).await;
    assert!(place.join("guests.db").exists() && place.join("built/report.txt").exists());

    let kept = world.worktrees.remove(&task("t1"), &made, Force::KeepAsRef).await;
    assert_eq!(kept, Ok(None));
    assert_eq!(world.left(), [""; 0]);
}

#[tokio::test]
async fn what_a_worktree_cannot_be_made_of_is_said() {
    let world = World::new();
    let place = world.folder.path();
    let plain = place.join("plain");
    std::fs::create_dir(&plain).unwrap();
    assert_eq!(world.refusal(&plain).await, WorktreeError::NoRepository { folder: plain });
    let dot_git = world.repository().join(".git");
    assert_eq!(world.refusal(&dot_git).await, WorktreeError::NoCheckout { folder: dot_git });
    let empty = place.join("empty");
    std::fs::create_dir(&empty).unwrap();
    world.git_in(&empty, &["init", "--quiet"]);
    let repository = empty.canonicalize().unwrap();
    assert_eq!(world.refusal(&empty).await, WorktreeError::NoCommit { repository });
    let fresh = world.repository().join("fresh");
    std::fs::create_dir(&fresh).unwrap();
    assert_eq!(world.refusal(&fresh).await, WorktreeError::FolderNotCommitted { folder: fresh });

    world.git(&["clone", "--quiet", ".", "../library"]);
    let library = place.join("library");
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    world.git(&[&add[..], &[library.to_str().unwrap(), "lib"]].concat());
    world.commit("with a library");
    let submodules = vec!["lib".to_owned()];
    let repository = world.repository().canonicalize().unwrap();
    let refused = WorktreeError::HasSubmodules { repository, submodules };
    assert_eq!(world.refusal(&world.repository()).await, refused);
    let inside = world.refusal(&world.repository().join("lib")).await;
    assert!(matches!(inside, WorktreeError::IsSubmodule { .. }), "{inside:?}");
    assert_eq!(world.left(), [""; 0], "nothing is left of what was refused");
}

#[tokio::test]
async fn without_a_branch_there_is_nothing_to_merge_into() {
    let world = World::new();
    world.git(&["checkout", "--quiet", "--detach"]);
    let made = world.make("t1").await.worktree;
    let refused = world.worktrees.merge(&task("t1"), &made, "x").await.unwrap_err();
    assert_eq!(refused, WorktreeError::NoTarget { branch: "ostler/t1".to_owned() });
}

#[tokio::test]
async fn no_program_that_a_task_has_written_is_run() {
    let world = World::new();
    let trap = world.folder.path().join("trap");
    std::fs::write(
        &trap,
        format!("#!/bin/sh\ntouch '{}'\n", world.folder.path().join("ran").display()),
    )
    .unwrap();
    Command::new("chmod").arg("+x").arg(&trap).status().unwrap();
    let hooks = world.folder.path().join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    for hook in
        ["post-checkout", "pre-commit", "post-merge", "reference-transaction", "post-index-change"]
    {
        std::fs::copy(&trap, hooks.join(hook)).unwrap();
    }
    world.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    world.git(&["config", "core.fsmonitor", trap.to_str().unwrap()]);
    world.git(&["config", "diff.external", trap.to_str().unwrap()]);
    let made = world.make("t1").await.worktree;
    std::fs::write(Path::new(&made.path).join("a.txt"), "task\n").unwrap();

    world.worktrees.diff(&task("t1"), &made).await.unwrap();
    world.worktrees.merge(&task("t1"), &made, "x").await.unwrap();
    world.worktrees.remove(&task("t1"), &made, Force::No).await.unwrap();

    assert!(!world.folder.path().join("ran").exists());
}

/// Whoever could write the filter would run it here, without a sandbox.
#[tokio::test]
async fn a_filter_that_lies_among_the_files_is_not_run() {
    let world = World::new();
    let ran = world.folder.path().join("ran");
    let harmless = world.folder.path().join("harmless");
    std::fs::write(&harmless, "#!/bin/sh\ntr a-z A-Z\n").unwrap();
    Command::new("chmod").arg("+x").arg(&harmless).status().unwrap();
    let harmless = format!("'{}'", harmless.display());
    world.git(&["config", "--global", "filter.shout.clean", &harmless]);
    let made = world.make("t1").await.worktree;
    let trap = format!("#!/bin/sh\ntouch '{}'\ncat\n", ran.display());
    for (name, text) in [("trap.sh", trap.as_str()), (".gitattributes", "*.txt filter=shout\n")] {
        std::fs::write(Path::new(&made.path).join(name), text).unwrap();
    }
    std::fs::write(Path::new(&made.path).join("a.txt"), "task\n").unwrap();

    let diff = world.worktrees.diff(&task("t1"), &made).await.unwrap();
    assert!(diff.contains("+TASK"), "the user's own filter runs: {diff}");
    for (setting, program) in [
        ("filter.shout.clean", "./trap.sh"),
        ("filter.shout.process", "sh trap.sh"),
        ("merge.shout.driver", "sh ./trap.sh %A"),
    ] {
        world.git(&["config", "--global", setting, program]);
        let refused = WorktreeError::Programs { setting: setting.into(), program: program.into() };
        let task = &task("t1");
        assert_eq!(world.worktrees.diff(task, &made).await.unwrap_err(), refused);
        assert_eq!(world.worktrees.merge(task, &made, "x").await.unwrap_err(), refused);
        assert_eq!(
            world.worktrees.remove(task, &made, Force::KeepAsRef).await.unwrap_err(),
            refused
        );
        if program != "sh trap.sh" {
            assert_eq!(world.refusal(&world.repository()).await, refused);
        }
        world.git(&["config", "--global", "--unset", setting]);
    }
    assert!(!ran.exists());
}

/// A task can make a whole repository, with a configuration of its own that names programs anywhere.
#[tokio::test]
async fn a_program_that_only_the_repository_names_is_not_run() {
    let world = World::new();
    world.write(".gitattributes", "*.txt filter=x\n");
    world.commit("with attributes");
    let made = world.make("t1").await;
    let ran = world.folder.path().join("ran");
    let program = format!("sh -c 'touch \"{}\"; cat'", ran.display());
    for setting in ["filter.x.smudge", "filter.x.clean", "filter.x.process", "merge.x.driver"] {
        world.git(&["config", setting, &program]);
        let refused =
            WorktreeError::OwnPrograms { setting: setting.into(), program: program.clone() };
        assert_eq!(world.refusal(&world.repository()).await, refused);
        let diff = world.worktrees.diff(&task("t1"), &made.worktree).await;
        assert_eq!(diff.unwrap_err(), refused);
        world.git(&["config", "--unset", setting]);
    }
    // One that git-lfs writes itself is taken.
    world.git(&["config", "filter.y.clean", "git-lfs clean -- %f"]);
    world.make("t2").await;
    assert!(!ran.exists());
}

/// An object that is not there is fetched by whatever the configuration says, unless git is told not to.
#[tokio::test]
async fn nothing_is_fetched() {
    let world = World::new();
    let ran = world.folder.path().join("ran");
    let script = world.folder.path().join("p.sh");
    std::fs::write(&script, format!("touch '{}'\n", ran.display())).unwrap();
    let url = format!("ext::sh {}", script.display());
    for (setting, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "o"),
        ("remote.o.promisor", "true"),
        ("protocol.ext.allow", "always"),
        ("remote.o.url", &url),
    ] {
        world.git(&["config", setting, value]);
    }
    let blob = world.git(&["rev-parse", "HEAD:a.txt"]);
    let object = world.repository().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    std::fs::remove_file(object).unwrap();

    let refused = world.refusal(&world.repository()).await;
    assert!(matches!(refused, WorktreeError::Git { .. }), "{refused:?}");
    assert!(!ran.exists());
    // The trap works: git itself falls into it.
    let mut git = Command::new("git");
    git.args(["cat-file", "-p", &blob]).current_dir(world.repository());
    assert!(!git.output().unwrap().status.success() && ran.exists());
}

#[tokio::test]
async fn a_repository_inside_a_worktree_is_named_and_stays() {
    let world = World::new();
    let made = world.make("t1").await.worktree;
    let nested = Path::new(&made.path).join("nested");
    std::fs::create_dir(&nested).unwrap();
    world.git_in(&nested, &["init", "--quiet"]);
    world.git_in(&nested, &["commit", "--quiet", "--allow-empty", "-m", "inside"]);

    // In the place of a file that git knows, it is not shown as a repository.
    let other = world.make("t2").await.worktree;
    let inside = Path::new(&other.path).join("a.txt");
    std::fs::remove_file(&inside).unwrap();
    std::fs::rename(&nested, &inside).unwrap();
    let expected = WorktreeError::Nested { folder: "a.txt".into() };
    assert_eq!(world.worktrees.diff(&task("t2"), &other).await, Err(expected));
    std::fs::rename(&inside, &nested).unwrap();

    let expected = WorktreeError::Nested { folder: "nested".into() };
    assert_eq!(world.worktrees.merge(&task("t1"), &made, "x").await, Err(expected.clone()));
    assert_eq!(world.worktrees.remove(&task("t1"), &made, Force::No).await, Err(expected));
    assert!(nested.join(".git").exists());
}

#[tokio::test]
async fn a_worktree_without_a_task_goes_if_nothing_is_in_it_and_stays_otherwise() {
    let world = World::new();
    let clean = world.make("clean").await.worktree;
    let half = world.make("half").await.worktree;
    // As if git had been killed while it checked out.
    std::fs::remove_file(Path::new(&half.path).join("a.txt")).unwrap();
    let noted = Worktree {
        path: format!("{}x", clean.path),
        branch: "ostler/noted".to_owned(),
        ..clean.clone()
    };
    world.worktrees.write_note(&task("noted"), &noted).unwrap();
    let full = world.make("full").await.worktree;
    std::fs::write(Path::new(&full.path).join("work.txt"), "work\n").unwrap();

    world.worktrees.tidy(world.worktrees.notes()).await;

    assert_eq!(world.left(), ["full", "full.json"]);
    assert_eq!(
        world.git(&["branch", "--list", "ostler/*", "--format=%(refname:short)"]),
        "ostler/full"
    );
}
