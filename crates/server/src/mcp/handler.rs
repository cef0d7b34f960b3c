//! A table of tools and a library, as the SDK asks for them.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::library::Library;
use super::table::{Call, Progress, ToolAnswer, ToolTable};

/// Serves one caller; holds nothing of its own.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) table: Arc<ToolTable>,
    pub(crate) library: Option<Arc<dyn Library>>,
}

/// Who asks, where it says so.
fn client(context: &RequestContext<RoleServer>) -> Option<String> {
    context.client_info().map(|info| info.name)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = match self.library {
            Some(_) => ServerCapabilities::builder().enable_tools().enable_resources().build(),
            None => ServerCapabilities::builder().enable_tools().build(),
        };
        let table = &self.table;
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(table.server.clone(), table.version.clone()))
            .with_instructions(table.instructions.clone())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.table.listed()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.table.find(name).map(super::McpTool::listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.table.find(&request.name) else {
            let names = self.table.names();
            let message = format!("there is no tool {:?}; the tools are {names}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let mut arguments = request.arguments.unwrap_or_default();
        // Some models write every field that there is; null says no more than nothing.
        arguments.retain(|_, value| *value != Value::Null);
        let call = Call {
            arguments,
            client: client(&context),
            progress: Progress::new(context.peer.clone(), context.meta.get_progress_token()),
            stop: context.ct.clone(),
        };
        // In a task of its own, so that a panic ends the call and not the server.
        let answer = tokio::spawn((tool.call)(call)).await.unwrap_or_else(|error| {
            tracing::error!(tool = tool.name, %error, "a tool has failed");
            ToolAnswer::failed(format!(
                "`{}` has failed by a fault of its own; how far it came is not known",
                tool.name
            ))
        });
        Ok(CallToolResult::from(answer).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let Some(library) = &self.library else { return Ok(ListResourcesResult::default()) };
        let found = library.list(&client(&context).unwrap_or_default()).await;
        let found = found.map_err(|why| ErrorData::internal_error(why, None))?;
        let shown = found.into_iter().map(|shelf| {
            Resource::new(shelf.uri, shelf.name)
                .with_description(shelf.description)
                .with_mime_type(shelf.media_type)
        });
        Ok(ListResourcesResult::with_all_items(shown.collect()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.library.iter().flat_map(|library| library.templates());
        let shown = templates.map(|template| {
            ResourceTemplate::new(template.uri, template.name)
                .with_description(template.description)
                .with_mime_type(template.media_type)
        });
        Ok(ListResourceTemplatesResult::with_all_items(shown.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let name = client(&context).unwrap_or_default();
        let found = match &self.library {
            Some(library) => library.read(&request.uri, &name).await,
            None => Ok(None),
        };
        let found = found.map_err(|why| ErrorData::internal_error(why, None))?;
        let Some(document) = found else {
            let message = format!("there is nothing at {:?}", request.uri);
            return Err(ErrorData::resource_not_found(message, None));
        };
        let contents =
            ResourceContents::text(document.text, request.uri).with_mime_type(document.media_type);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}
