//! A database that is gone, or less than it was: told by what the last daemon noted in its lock file. Nobody begins anew in silence.
//!
//! Noticed are a file that is not there or has nothing in it, one that is older than the last daemon's (its epoch or the number of
//! its tasks says so), and a write-ahead log that is not there after a kill. Not noticed is a log that was cut or changed in place,
//! or one that is lost with a power cut after SQLite had folded the last epoch into the file.

mod left;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ostler_config::Config;
use ostler_engine::{StoreError, Survey, has_log, survey};
use ostler_server::lock::{Claim, DaemonLock, DatabaseMark};

use crate::daemon::VERSION;
use crate::failure::{Exit, Failure};
use crate::places::Places;

/// What a person types who has nothing to bring back.
const ACCEPT: &str = "ostler daemon start --accept-lost-database";

#[derive(Debug, PartialEq, Eq)]
enum Loss {
    Gone,
    Emptied,
    Older { epoch: u64, tasks_ever: u64 },
    Log { is_certain: bool },
}

/// Refuses to begin anew where there were tasks.
pub(crate) fn check(lock: &DaemonLock, places: &Places, config: &Config) -> Result<(), Failure> {
    let Some(mark) = &lock.holder().database else { return Ok(()) };
    let path = config.store.path.as_path();
    if let Some(known) = mark.path.as_deref().filter(|known| *known != path) {
        tracing::warn!(
            before = %known.display(),
            now = %path.display(),
            "the settings name another database than before; the tasks of the old one are not shown"
        );
        return Ok(());
    }
    match loss(mark, path)? {
        None => Ok(()),
        Some(loss) => Err(refusal(&loss, mark, path).hint(hint(&loss, places, config))),
    }
}

/// Notes what the database holds now, so that less is noticed. What cannot be noted is only not noticed later.
pub(crate) fn note(lock: &mut DaemonLock, path: &Path, is_open: bool) {
    let mark = match survey(path) {
        Ok(Survey::Found { epoch, tasks_ever }) => {
            Some(DatabaseMark { path: Some(path.to_owned()), epoch, tasks_ever, is_open })
        }
        Ok(Survey::Missing | Survey::Empty) => None,
        // What was noted before still holds.
        Err(error) => return tracing::warn!(%error, "the state of the database is not noted"),
    };
    if let Err(error) = lock.mark(mark) {
        tracing::warn!(%error, "the state of the database is not noted");
    }
}

/// A person has decided to go on with what is there.
pub(crate) fn accept(places: &Places, config: &Config) -> Result<(), Failure> {
    let claim = Claim {
        version: VERSION.to_owned(),
        started_at: Timestamp::now(),
        is_service: false,
        socket: places.usual_daemon_socket(),
    };
    let mut lock = DaemonLock::take(&places.daemon_lock(), claim)?;
    let path = config.store.path.as_path();
    // SQLite removes a log without its database, and somebody may still find the database.
    let log = beside(path, "-wal");
    if !path.exists() && log.exists() {
        let aside = beside(path, &format!("-wal.lost-{}", Timestamp::now().as_second()));
        std::fs::rename(&log, &aside).map_err(|error| {
            let (log, aside) = (log.display(), aside.display());
            Failure::new(Exit::Failed, format!("cannot move {log} to {aside}: {error}"))
        })?;
    }
    Ok(lock.mark(None)?)
}

fn loss(mark: &DatabaseMark, path: &Path) -> Result<Option<Loss>, StoreError> {
    let has_log = has_log(path);
    let (epoch, tasks_ever) = match survey(path) {
        Ok(Survey::Missing) => return Ok(Some(Loss::Gone)),
        Ok(Survey::Empty) => return Ok(Some(Loss::Emptied)),
        Ok(Survey::Found { epoch, tasks_ever }) => (epoch, tasks_ever),
        // Whoever opens it to write will be told the same, or finds that it has passed.
        Err(error) if error.is_passing() => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_older = epoch < mark.epoch || tasks_ever < mark.tasks_ever;
    // A later epoch is of somebody who has closed it since.
    Ok(if mark.is_open && !has_log && epoch <= mark.epoch {
        Some(Loss::Log { is_certain: is_older })
    } else if is_older {
        Some(Loss::Older { epoch, tasks_ever })
    } else {
        None
    })
}

fn refusal(loss: &Loss, mark: &DatabaseMark, path: &Path) -> Failure {
    let file = path.display();
    let held = match mark.path {
        Some(_) => format!("the last daemon here had {} in it", tasks(mark.tasks_ever)),
        None => "an older daemon ran here".to_owned(),
    };
    let message = match loss {
        Loss::Gone => format!("the database {file} is gone: {held}"),
        Loss::Emptied => format!("the database {file} is empty: {held}"),
        Loss::Older { epoch, tasks_ever } => format!(
            "the database {file} is older than it was: epoch {epoch} and {}, and the last daemon here had epoch {} and {}",
            tasks(*tasks_ever),
            mark.epoch,
            tasks(mark.tasks_ever)
        ),
        Loss::Log { is_certain } => format!(
            "the write-ahead log {file}-wal is gone although the last daemon was killed: what it wrote last {} lost",
            if *is_certain { "is" } else { "may be" }
        ),
    };
    Failure::new(Exit::Failed, message)
}

fn tasks(number: u64) -> String {
    match number {
        1 => "1 task".to_owned(),
        number => format!("{number} tasks"),
    }
}

fn hint(loss: &Loss, places: &Places, config: &Config) -> String {
    let bring_back = match loss {
        Loss::Log { is_certain: true } => "put it back beside the database",
        Loss::Log { is_certain: false } => {
            "put it back beside the database; if another program, such as sqlite3, has opened the database since, nothing is lost"
        }
        _ => "put it back with its -wal file",
    };
    let lines = left::lines(places, config);
    format!("{bring_back}. To go on with what is there: `{ACCEPT}`\n{}", lines.join("\n"))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
