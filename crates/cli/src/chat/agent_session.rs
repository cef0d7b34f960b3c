//! A session of the real agent.

use ostler_agent::{Activity, Agent, Controls, Hear, Runtime, TurnOutcome};
use tokio::sync::mpsc;

use super::models::Catalogue;
use super::session::{ConversationShown, ConversationUsage, Manner, Session, UserInput, Work};

/// Questions of the agent's own tools that wait to be shown. A turn has one or two.
pub(super) const SHOWN: usize = 64;

pub(super) struct AgentSession {
    agent: Agent,
    /// What the agent's own tools show of their questions.
    shown: mpsc::Receiver<Activity>,
    /// What turns really are run by: Codex serves only some providers.
    is_codex_served: bool,
    catalogue: Catalogue,
    /// Chosen since the last turn.
    model: Option<String>,
    effort: Option<Option<String>>,
}

impl AgentSession {
    pub(super) fn new(
        agent: Agent,
        shown: mpsc::Receiver<Activity>,
        is_codex_served: bool,
        catalogue: Catalogue,
    ) -> Self {
        Self { agent, shown, is_codex_served, catalogue, model: None, effort: None }
    }

    /// What was chosen holds from this turn on.
    async fn choose(&mut self) -> Result<(), ostler_agent::AgentError> {
        if let Some(model) = self.model.take() {
            self.agent.set_model(Some(model)).await?;
        }
        if let Some(effort) = self.effort.take() {
            self.agent.set_effort(effort).await?;
        }
        Ok(())
    }
}

impl Session for AgentSession {
    fn conversation(&self) -> ConversationShown {
        let shown = self.agent.shown();
        ConversationShown {
            id: shown.id,
            title: Some(shown.title).filter(|title| !title.is_empty()),
            cwd: shown.cwd,
            updated_at: shown.created_at,
            messages: u64::try_from(shown.messages).unwrap_or(u64::MAX),
        }
    }

    fn manner(&self) -> Manner {
        let model = self.model.clone().unwrap_or_else(|| self.agent.model());
        Manner {
            runtime: if self.is_codex_served { self.agent.runtime() } else { Runtime::Auto },
            model: Some(model).filter(|model| !model.is_empty()),
            effort: self.effort.clone().unwrap_or_else(|| self.agent.effort()),
        }
    }

    fn take_up<'a>(
        &'a mut self,
        controls: &'a Controls,
        hear: Hear<'a>,
    ) -> Work<'a, Option<TurnOutcome>> {
        let Self { agent, shown, .. } = self;
        Box::pin(async move { beside(agent.take_up(controls, hear), shown, hear).await })
    }

    fn turn<'a>(
        &'a mut self,
        input: UserInput,
        controls: &'a Controls,
        hear: Hear<'a>,
    ) -> Work<'a, TurnOutcome> {
        Box::pin(async move {
            if let Err(error) = self.choose().await {
                hear(Activity::Note(format!("the choice could not be kept: {error}")));
            }
            let images = input.images.iter().map(|image| image.display().to_string()).collect();
            let input = ostler_agent::UserInput { text: input.text, images };
            let Self { agent, shown, .. } = self;
            beside(agent.turn(input, controls, hear), shown, hear).await
        })
    }

    fn compress<'a>(
        &'a mut self,
        controls: &'a Controls,
        hear: Hear<'a>,
    ) -> Work<'a, Result<String, String>> {
        let Self { agent, shown, .. } = self;
        Box::pin(async move {
            let done = beside(agent.compress(controls, hear), shown, hear).await;
            done.map_err(|error| error.to_string())
        })
    }

    fn models(&self) -> Work<'static, Result<Vec<String>, String>> {
        self.catalogue.look()
    }

    fn set_model(&mut self, model: String) {
        self.model = Some(model);
    }

    fn set_effort(&mut self, effort: Option<String>) {
        self.effort = Some(effort);
    }

    fn set_runtime(&mut self, runtime: Runtime) -> Work<'_, Result<(), String>> {
        // Codex would ask its own provider, with an account that the user did not choose for this conversation.
        let runtime = if self.is_codex_served { runtime } else { Runtime::Auto };
        Box::pin(
            async move { self.agent.set_runtime(runtime).await.map_err(|error| error.to_string()) },
        )
    }

    fn usage(&self) -> ConversationUsage {
        let usage = self.agent.usage();
        ConversationUsage {
            tokens: usage.total,
            last_call: usage.last_call,
            context_window: usage.context_window,
            calls: usage.api_calls,
            turns: usage.turns,
        }
    }

    fn memory_shown(&self) -> String {
        self.agent.memory_shown()
    }

    fn skills_shown(&self) -> String {
        self.agent.skills_shown()
    }

    fn pin_skill(&mut self, name: &str) -> Result<(), String> {
        self.agent.pin_skill(name).map_err(|error| error.to_string())
    }

    fn unpin_skill(&mut self, name: &str) -> Result<(), String> {
        self.agent.unpin_skill(name).map_err(|error| error.to_string())
    }

    fn close(mut self: Box<Self>) -> Work<'static, ()> {
        Box::pin(async move {
            if let Err(error) = self.choose().await {
                tracing::warn!(%error, "what was chosen is not kept with the conversation");
            }
            self.agent.close().await;
        })
    }
}

/// The work, and what is shown beside it in the meantime.
async fn beside<T>(
    work: impl Future<Output = T>,
    shown: &mut mpsc::Receiver<Activity>,
    hear: Hear<'_>,
) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            Some(activity) = shown.recv() => hear(activity),
            done = &mut work => return done,
        }
    }
}
