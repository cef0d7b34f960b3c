//! What a form for a new task needs to know, and whether the daemon is fit to take one.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use ostler_engine::{Cursor, ModelShown, TaskFilter};
use ostler_model::Failure;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::api::{Defaults, LimitList, ModelList, Ready};
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;

/// Models change with a new Codex or another login: rarely, and a page that was just opened may ask twice.
const MODELS_KNOWN_FOR: Duration = Duration::from_secs(5 * 60);

/// A form is shown without the models rather than late. An app-server starts within a second.
const FORM_PATIENCE: Duration = Duration::from_secs(4);

/// Tasks that are looked at for where they were started, and how many places are shown.
const LOOKED_AT: usize = 200;
const PLACES: usize = 20;

/// What Codex said last, and when. Whoever asks while Codex is asked waits for the same answer.
#[derive(Debug, Default)]
pub(crate) struct KnownModels(Mutex<Option<(Instant, Vec<ModelShown>)>>);

impl KnownModels {
    #[expect(
        clippy::await_holding_invalid_type,
        reason = "Codex is asked once, however many want to know"
    )]
    async fn read(&self, office: &Office) -> Result<Vec<ModelShown>, Failure> {
        let mut known = self.0.lock().await;
        if let Some((since, models)) = &*known
            && since.elapsed() < MODELS_KNOWN_FOR
        {
            return Ok(models.clone());
        }
        let models = office.engine.models(&office.usual().settings).await?;
        *known = Some((Instant::now(), models.clone()));
        Ok(models)
    }
}

pub(crate) async fn models(State(office): State<Arc<Office>>) -> Result<Json<ModelList>, Problem> {
    let models = office.models.read(&office).await.map_err(|failure| {
        let advice = failure.advice();
        Problem::new(Trouble::Unavailable, failure.message).hint(advice)
    })?;
    Ok(Json(ModelList { models }))
}

pub(crate) async fn limits(State(office): State<Arc<Office>>) -> Json<LimitList> {
    Json(LimitList { limits: office.engine.limits().await })
}

pub(crate) async fn defaults(State(office): State<Arc<Office>>) -> Result<Json<Defaults>, Problem> {
    let store = office.engine.store();
    let page = store.tasks(&TaskFilter::default(), Cursor::FIRST, LOOKED_AT).await?;
    let mut cwds: Vec<String> = Vec::new();
    for task in page.tasks {
        // A worktree is the task's own; the next one begins in the repository.
        let cwd = task.settings.worktree.map_or(task.settings.cwd, |worktree| worktree.repository);
        if cwds.len() < PLACES && !cwds.contains(&cwd) {
            cwds.push(cwd);
        }
    }
    let asked = {
        let office = office.clone();
        // On its own, so that what is learnt too late for this form is there for the next.
        tokio::spawn(async move { office.models.read(&office).await })
    };
    let models = match timeout(FORM_PATIENCE, asked).await {
        Ok(Ok(Ok(models))) => models,
        _ => Vec::new(),
    };
    let usual = office.usual();
    let (settings, worktree) = (usual.settings.clone(), usual.worktree);
    let targets = office.engine.targets();
    Ok(Json(Defaults { settings, models, cwds, worktree, targets }))
}

/// Whether a task would be taken: for whoever watches over machines. It tells nothing else.
pub(crate) async fn ready(State(office): State<Arc<Office>>) -> Result<Json<Ready>, Problem> {
    if office.hall.closing().is_cancelled() {
        return Err(Problem::new(Trouble::Closing, "the daemon is about to end"));
    }
    if office.engine.store().health().failing.is_some() {
        return Err(Problem::new(Trouble::Unavailable, "the store cannot be written"));
    }
    Ok(Json(Ready { ready: true }))
}
