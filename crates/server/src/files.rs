//! Files of tasks: those that were given to it, and those in its folder.
//!
//! The kernel resolves each path (`openat2` with `RESOLVE_BENEATH`) in the moment in which it opens the file, so no link and no
//! rename leads out of the folder, however quick.

mod folder;
mod name;
mod private;
mod range;
mod upload;

use std::io::SeekFrom;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_model::TaskId;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::task::spawn_blocking;
use tokio_util::io::ReaderStream;

use crate::agents::may_touch;
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;
use crate::{Caller, ids};
use folder::{Folder, FolderError};
pub use private::PrivateFiles;
use range::Wanted;

/// What is read of a file at once.
const PIECE_BYTES: usize = 64 * 1024;

/// A file that was given to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    pub name: String,
    /// Absolute, as it can stand in an input.
    pub path: String,
    pub bytes: u64,
}

/// `GET /v1/tasks/{id}/files`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFiles {
    pub task: TaskId,
    pub files: Vec<StoredFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UploadQuery {
    name: String,
}

/// The body is the file.
pub(crate) async fn add(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Path(task): Path<String>,
    Query(query): Query<UploadQuery>,
    request: Request,
) -> Result<Response, Problem> {
    let task = ids::task(office.engine.store(), &task).await?;
    may_touch(&caller, &task, "give a file to")?;
    let task = task.id;
    let name = name::checked(&query.name)?;
    let stored = upload::receive(&office.files_of(&task), &name, request).await?;
    Ok((StatusCode::CREATED, Json(stored)).into_response())
}

pub(crate) async fn list(
    State(office): State<Arc<Office>>,
    Path(task): Path<String>,
) -> Result<Json<StoredFiles>, Problem> {
    let task = ids::task(office.engine.store(), &task).await?.id;
    let place = office.files_of(&task);
    let files = spawn_blocking(move || upload::stored(&place)).await;
    let files =
        files.map_err(|_| Problem::new(Trouble::Internal, "the files cannot be listed"))??;
    Ok(Json(StoredFiles { task, files }))
}

/// A file below the task's folder by its path from there, or one that was given to the task by its whole path.
pub(crate) async fn show(
    State(office): State<Arc<Office>>,
    Path((task, path)): Path<(String, String)>,
    asked: HeaderMap,
) -> Result<Response, Problem> {
    let task = ids::task(office.engine.store(), &task).await?;
    let own = PathBuf::from(&task.settings.cwd);
    let given = office.files_of(&task.id);
    let (root, path) = match path.starts_with('/') {
        false => (own, PathBuf::from(path)),
        true => {
            let path = PathBuf::from(path);
            let roots = [given.clone(), own];
            let below = roots.into_iter().find_map(|root| {
                let rest = path.strip_prefix(&root).ok()?.to_owned();
                Some((root, rest))
            });
            below.ok_or(FolderError::Outside)?
        }
    };
    let wanted = path.clone();
    let usual = office.usual();
    let home = task.settings.codex.home.map(PathBuf::from);
    let open = move || {
        let (file, bytes) = Folder::open(&root)?.file(&wanted)?;
        let mut private = usual.private.clone();
        private.codex_homes.extend(home);
        match root != given && private.holds(&file) {
            true => Err(FolderError::Private),
            false => Ok((file, bytes)),
        }
    };
    let opened = spawn_blocking(open).await;
    let opened =
        opened.map_err(|_| Problem::new(Trouble::Internal, "the file cannot be opened"))?;
    let (file, bytes) = opened?;
    let wanted = Wanted::of(&asked, bytes);
    let (status, part) = match &wanted {
        Wanted::Whole => (StatusCode::OK, 0..bytes),
        Wanted::Part(part) => (StatusCode::PARTIAL_CONTENT, part.clone()),
        Wanted::Nothing => return Ok(behind_the_end(bytes)),
    };
    let mut file = tokio::fs::File::from_std(file);
    if part.start > 0 {
        file.seek(SeekFrom::Start(part.start)).await.map_err(FolderError::System)?;
    }
    let length = part.end - part.start;
    // A file that grows meanwhile is given as long as was said.
    let pieces = ReaderStream::with_capacity(file.take(length), PIECE_BYTES);
    let mut response = Response::new(Body::from_stream(pieces));
    *response.status_mut() = status;
    *response.headers_mut() = described(&path, length);
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {}-{}/{bytes}", part.start, part.end - 1);
        set(response.headers_mut(), header::CONTENT_RANGE, &range);
    }
    Ok(response)
}

fn behind_the_end(bytes: u64) -> Response {
    let detail = format!("the file has {bytes} bytes, and the range begins behind them");
    let problem =
        Problem::new(Trouble::NotSatisfiable, detail).hint("ask for a part that is there");
    let mut response = problem.into_response();
    set(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{bytes}"));
    response
}

/// What holds no line breaks can stand in a header.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// A picture may be shown; all else is for saving. Nothing of it runs, whatever it is.
fn described(path: &FilePath, bytes: u64) -> HeaderMap {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    // Not SVG, which can hold scripts.
    let (kind, manner) = match extension.to_ascii_lowercase().as_str() {
        "png" => ("image/png", "inline"),
        "jpg" | "jpeg" => ("image/jpeg", "inline"),
        "gif" => ("image/gif", "inline"),
        "webp" => ("image/webp", "inline"),
        _ => ("application/octet-stream", "attachment"),
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    let policy = "default-src 'none'; sandbox; frame-ancestors 'none'";
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let disposition = format!("{manner}; {}", name::in_header(&name));
    set(&mut headers, header::CONTENT_DISPOSITION, &disposition);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers
}

impl From<FolderError> for Problem {
    fn from(error: FolderError) -> Self {
        let (trouble, hint) = match &error {
            FolderError::Outside => (Trouble::FileRefused, "name a file below the task's folder"),
            FolderError::Private => (Trouble::FileRefused, "read it on the machine itself"),
            FolderError::NotThere => {
                (Trouble::NotFound, "the path begins at the folder that the task works in")
            }
            FolderError::NoFile => (Trouble::BadRequest, "name one of the files in it"),
            FolderError::Full(_) => {
                (Trouble::TooLarge, "put it where the task can read it, and name the path")
            }
            FolderError::System(_) => {
                (Trouble::Unavailable, "look whether the folder is there and the disk has room")
            }
        };
        Self::new(trouble, error.to_string()).hint(hint)
    }
}
