//! `/mcp`: many callers, each by a token. Nothing is kept between two requests.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::map_response;
use axum::response::Response;
use http_body_util::Full;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::bridge::{self, Bridge};
use super::daemon::Inside;
use super::handler::Handler;
use crate::Caller;
use crate::audit::Auditor;
use crate::given::{BodyDeadline, read_whole};
use crate::guard::{KeyKind, Need, Rights};
use crate::problem::{Problem, Trouble, only_problems};
use crate::table::Routes;
use crate::tasks::{Office, task_table};
use crate::to_the_end::Work;

/// To be somebody is enough to come in: what each tool does needs what its route needs.
pub(crate) fn mcp_table() -> Routes<Arc<Office>> {
    Routes::new().conversation("/mcp", Need::Login, answer)
}

async fn answer(
    State(office): State<Arc<Office>>,
    caller: Caller,
    rights: Rights,
    auditor: Auditor,
    request: Request,
) -> Result<Response, Problem> {
    if matches!(&rights, Rights::Key { key, .. } if key.kind != KeyKind::Token) {
        let detail = "MCP is for programs, and a login is a person's";
        let hint = "make a token with `ostler token new`, and send `Authorization: Bearer TOKEN`";
        return Err(Problem::new(Trouble::Unauthorized, detail).hint(hint));
    }
    let (parts, body) = request.into_parts();
    // Here and not by the SDK, so that a body that is too long or too slow is told like everywhere else.
    let body = read_whole(body, &parts.extensions).await?;
    let deadline = parts.extensions.get::<BodyDeadline>().copied();
    let deadline = deadline.unwrap_or(BodyDeadline(std::time::Duration::ZERO));
    let router = task_table().with_state(office.clone()).into_router();
    let router = router.layer(map_response(only_problems));
    let work = parts.extensions.get::<Work>().cloned().unwrap_or_default();
    let inside = Arc::new(Inside { router, caller, rights, deadline, work, auditor });
    let bridge = Arc::new(Bridge { daemon: inside, cwd: None });
    let handler = Handler {
        table: Arc::new(bridge::table(&bridge, &office.hall.version)),
        library: Some(bridge),
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        // One answer is one JSON document; only a call that tells of its progress is a stream.
        .with_json_response(true)
        .with_cancellation_token(office.hall.closing().child_token())
        .with_max_request_body_bytes(body.len().max(1))
        // The guard has looked at both before.
        .disable_allowed_hosts();
    let service = StreamableHttpService::new(
        move || Ok::<_, io::Error>(handler.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let request = axum::http::Request::from_parts(parts, Full::new(body));
    Ok(service.handle(request).await.map(Body::new))
}
