//! One caller, over its own input and output.

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};

use super::handler::Handler;
use super::library::Library;
use super::table::ToolTable;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the caller does not speak MCP: {0}")]
    Greeting(String),
    #[error("the server has failed: {0}")]
    Failed(String),
}

/// Serves until the caller closes its end.
pub async fn serve(
    table: ToolTable,
    library: Option<Arc<dyn Library>>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), ServeError> {
    let handler = Handler { table: Arc::new(table), library };
    let running = match handler.serve((input, output)).await {
        Ok(running) => running,
        // One that looks and leaves has done nothing wrong.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Greeting(error.to_string())),
    };
    running.waiting().await.map(drop).map_err(|error| ServeError::Failed(error.to_string()))
}
