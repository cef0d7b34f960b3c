//! The state of a folder as a git tree, without touching it.
//!
//! Git runs with a folder of ours as its repository: no configuration of the user's or of the checkout's is read, so no filter, no
//! hook, no file monitor and no other program of theirs can run, and neither their index nor their objects are written. Git is not
//! started inside of a repository that lies in the folder either (see `worktree::index`). Objects that a checkout has already are
//! read from there, and a copy of its index saves reading every file again.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};

use ostler_codex::secrets::Secrets;

use super::record::{Place, Record, State};
use super::withheld::withheld;
use crate::worktree::WorktreeError;
use crate::worktree::git::{Git, text};
use crate::worktree::index::{Changed, LIST, copy_plain, drop_links};

/// Files to be read for one state, and their bytes: some seconds on an ordinary disk.
const MOST_FILES: usize = 20_000;
pub(super) const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// How a checkout's files are read. None of these starts a program.
const READING: &str =
    r"^core\.(autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|excludesfile)$";

/// More repositories inside than that are not a folder to work in.
const MOST_NESTED: usize = 500;

/// Why a state is not known.
#[derive(Debug)]
pub(super) enum NotTaken {
    /// It is no use to try again.
    TooMuch(String),
    Failed(String),
}

impl From<WorktreeError> for NotTaken {
    fn from(error: WorktreeError) -> Self {
        match error {
            WorktreeError::TooLarge { .. } => Self::TooMuch("it has too many files".to_owned()),
            error => Self::Failed(error.to_string()),
        }
    }
}

/// The folder now.
pub(super) async fn take(
    git: &Git,
    own: &Path,
    cwd: &Path,
    secrets: &Secrets,
    record: &mut Record,
) -> Result<State, NotTaken> {
    if !cwd.is_dir() {
        return Err(NotTaken::Failed("it is not there".to_owned()));
    }
    let place = match &record.place {
        Some(place) => place.clone(),
        None => {
            let place = prepare(git, own, cwd).await?;
            record.place.insert(place).clone()
        }
    };
    let private = private(git, own, &place);
    match tree_of(&private, &place, secrets).await {
        Ok(state) => Ok(state),
        // A copied index may use what only its own repository has.
        Err(NotTaken::Failed(_)) if fs::remove_file(own.join("index")).is_ok() => {
            tree_of(&private, &place, secrets).await
        }
        Err(why) => Err(why),
    }
}

/// What differs between two trees. Binary files are named.
pub(super) async fn compare(
    git: &Git,
    own: &Path,
    place: &Place,
    before: &str,
    after: &str,
) -> Result<String, String> {
    let diff = [
        "diff-tree",
        "-r",
        "-p",
        "-M",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules",
        before,
        after,
    ];
    let arguments = settings(place).into_iter().chain(diff.map(str::to_owned));
    // Without the files: the folder may be gone by now.
    let out = ours(git, own).run(own, arguments).await;
    out.map(|out| String::from_utf8_lossy(&out).into_owned()).map_err(|error| error.to_string())
}

async fn tree_of(git: &Git, place: &Place, secrets: &Secrets) -> Result<State, NotTaken> {
    let with = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        settings(place).into_iter().chain(words).collect::<Vec<_>>()
    };
    let listed = git.run(&place.top, with(&LIST)).await?;
    let (top, secrets) = (place.top.clone(), secrets.clone());
    let look = move || {
        let mut changed = Changed::read(&top, &listed);
        check_size(&top, &changed)?;
        let withheld = withheld(&top, &changed.files, &secrets)?;
        changed.files.retain(|file| !withheld.paths.contains(file));
        let nested: BTreeSet<String> =
            changed.nested.iter().map(|folder| secrets.hidden_in(folder.clone())).collect();
        Ok((changed, withheld.shown, nested))
    };
    let (changed, withheld, nested) = blocking(look).await?;
    changed.put(git, &place.top, &settings(place)).await?;
    let tree = git.run(&place.top, with(&["write-tree"])).await?;
    Ok(State::Tree { tree: text(&tree), nested, withheld })
}

/// Looks at many files, or writes some.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NotTaken> + Send + 'static,
) -> Result<T, NotTaken> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(NotTaken::Failed(error.to_string())))
}

fn check_size(top: &Path, changed: &Changed) -> Result<(), NotTaken> {
    let (files, nested) = (&changed.files, changed.nested.len());
    if files.len() > MOST_FILES || nested > MOST_NESTED {
        return Err(NotTaken::TooMuch(format!(
            "{} files and {nested} repositories would have to be read, and {MOST_FILES} and {MOST_NESTED} are the most",
            files.len()
        )));
    }
    let bytes =
        |file: &PathBuf| fs::symlink_metadata(top.join(file)).map_or(0, |found| found.len());
    match files.iter().map(bytes).fold(0, u64::saturating_add) {
        bytes if bytes > MOST_BYTES => Err(NotTaken::TooMuch(format!(
            "{} MB would have to be read, and {} MB are the most",
            bytes >> 20,
            MOST_BYTES >> 20
        ))),
        _ => Ok(()),
    }
}

fn settings(place: &Place) -> Vec<String> {
    let fixed =
        ["core.untrackedCache=false", "core.looseCompression=1", "core.fsync=none", "gc.auto=0"];
    let all = fixed.into_iter().chain(place.settings.iter().map(String::as_str));
    all.flat_map(|setting| ["-c".to_owned(), setting.to_owned()]).collect()
}

/// Git in our own repository, with their files.
fn private(git: &Git, own: &Path, place: &Place) -> Git {
    ours(git, own).with("GIT_WORK_TREE", &place.top).with("GIT_INDEX_FILE", own.join("index"))
}

fn ours(git: &Git, own: &Path) -> Git {
    git.with("GIT_DIR", own)
        .with("GIT_CONFIG_GLOBAL", "/dev/null")
        .with("GIT_CONFIG_NOSYSTEM", "1")
        .with("GIT_ATTR_NOSYSTEM", "1")
}

async fn prepare(git: &Git, own: &Path, cwd: &Path) -> Result<Place, NotTaken> {
    let Some(checkout) = checkout(git, cwd).await? else { return plain(own, cwd).await };
    let place = Place { top: checkout.top.clone(), settings: reading(git, cwd).await };
    make(own, Some(checkout)).await?;
    if drop_links(&private(git, own, &place), &place.top, &settings(&place)).await.is_err() {
        // It may need what only its own repository has. Without it every file is read.
        drop(fs::remove_file(own.join("index")));
    }
    // A checkout that ignores the folder would show nothing of what changes in it.
    let ignored =
        settings(&place).into_iter().chain(["check-ignore", "-q", "."].map(str::to_owned));
    if !private(git, own, &place).is_so(cwd, ignored).await? {
        return Ok(place);
    }
    let made = own.to_owned();
    blocking(move || fs::remove_dir_all(&made).map_err(|error| not_written(&made, &error))).await?;
    plain(own, cwd).await
}

/// A folder that is taken by itself.
async fn plain(own: &Path, cwd: &Path) -> Result<Place, NotTaken> {
    make(own, None).await?;
    Ok(Place { top: cwd.to_owned(), settings: Vec::new() })
}

fn not_written(own: &Path, error: &io::Error) -> NotTaken {
    NotTaken::Failed(format!("{} cannot be written: {error}", own.display()))
}

async fn make(own: &Path, checkout: Option<Checkout>) -> Result<(), NotTaken> {
    let own = own.to_owned();
    blocking(move || write(&own, checkout.as_ref()).map_err(|error| not_written(&own, &error)))
        .await
}

/// Our own repository: as little as git takes for one.
fn write(own: &Path, checkout: Option<&Checkout>) -> io::Result<()> {
    for folder in ["objects/info", "refs", "info"] {
        fs::create_dir_all(own.join(folder))?;
    }
    fs::write(own.join("HEAD"), "ref: refs/heads/none\n")?;
    let format = checkout.map_or("sha1", |checkout| checkout.format.as_str());
    let config = match format {
        "sha1" => "[core]\n\trepositoryformatversion = 0\n\tbare = false\n".to_owned(),
        format => format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = {format}\n"
        ),
    };
    fs::write(own.join("config"), config)?;
    let Some(checkout) = checkout else { return Ok(()) };
    let alternate = format!("{}\n", checkout.objects.display());
    fs::write(own.join("objects/info/alternates"), alternate)?;
    // A checkout need not have one.
    drop(copy_plain(&checkout.exclude, &own.join("info/exclude")));
    copy_index(&checkout.index, &own.join("index"))
}

struct Checkout {
    top: PathBuf,
    objects: PathBuf,
    index: PathBuf,
    exclude: PathBuf,
    format: String,
}

/// None in a folder that is in no checkout.
async fn checkout(git: &Git, cwd: &Path) -> Result<Option<Checkout>, NotTaken> {
    let ask = [
        "rev-parse",
        "--show-toplevel",
        "--show-object-format",
        "--git-path",
        "objects",
        "--git-path",
        "index",
        "--git-path",
        "info/exclude",
    ];
    let said = git.ask(cwd, ask).await?;
    if said.code != Some(0) {
        return Ok(None);
    }
    let said = text(&said.out);
    let mut lines = said.lines();
    let mut next = || lines.next().map(str::to_owned);
    let (Some(top), Some(format), Some(objects), Some(index), Some(exclude)) =
        (next(), next(), next(), next(), next())
    else {
        return Ok(None);
    };
    let top = PathBuf::from(top);
    // A checkout's own settings may name any folder as its top.
    let is_above = cwd.canonicalize().is_ok_and(|cwd| cwd.starts_with(&top));
    let path = |path: String| cwd.join(path);
    Ok(is_above.then(|| Checkout {
        top,
        objects: path(objects),
        index: path(index),
        exclude: path(exclude),
        format,
    }))
}

async fn reading(git: &Git, cwd: &Path) -> Vec<String> {
    let Ok(out) = git.ask(cwd, ["config", "--null", "--get-regexp", READING]).await else {
        return Vec::new();
    };
    let lines = out.out.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    lines.map(|line| String::from_utf8_lossy(line).replacen('\n', "=", 1)).collect()
}

/// With its time: git takes a file that changed in the moment in which the index was written for one that may have changed.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    match copy_plain(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(modified) => {
            File::options().write(true).open(to)?.set_times(FileTimes::new().set_modified(modified))
        }
    }
}
