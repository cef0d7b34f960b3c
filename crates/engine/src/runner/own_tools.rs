//! Tools of our own MCP server need no person's word, if it is really ours that runs: a name alone proves nothing.

use ostler_codex::own_server::Place;
use ostler_model::AskId;
use ostler_model::ask::{Ask, AskKind, ElicitationWant};

use super::{Runner, Work};

impl Runner {
    /// Whether the ask names our server. Only then is it worth a look at what runs.
    pub(super) fn may_be_own_tool(&self, content: &Ask) -> bool {
        let live = self.shared.live();
        let is_ours = |name: &str| live.own_server.as_ref().is_some_and(|own| own.name == name);
        match &content.kind {
            AskKind::Elicitation(asked) => {
                matches!(asked.want, ElicitationWant::ToolApproval { .. }) && is_ours(&asked.server)
            }
            _ => false,
        }
    }

    /// Beside the loop: Codex is asked what it was told to start, and processes are looked at.
    pub(super) fn verify(&mut self, driver: AskId) {
        let (own, stage) = (self.shared.live().own_server.clone(), self.stage.as_ref());
        let Some((own, stage)) = own.zip(stage) else {
            return self.verified(driver, Err("there is no app-server any more".to_owned()));
        };
        let (codex, keeper) = (stage.seat.driver().clone(), stage.seat.keeper());
        let settings = &self.machine.task().settings;
        let (cwd, overrides) = (settings.cwd.clone(), settings.config.clone());
        let keepers = self.shared.pool.keepers();
        self.works.spawn(async move {
            let genuine = async {
                let keeper = keeper.ok_or("no app-server runs")?;
                let server = codex.server().await.map_err(|error| error.message)?;
                let (keepers, keeper, cwd) = (keepers.as_path(), keeper.as_str(), cwd.as_str());
                let place = Place { keepers, keeper, cwd, overrides: &overrides };
                own.is_genuine(&server, place).await
            };
            let genuine = genuine.await.map(|()| own.program.display().to_string());
            Work::Verified { driver, genuine }
        });
    }

    /// The program of ours that asks; or why it is not taken for ours, and goes the way of every other ask.
    pub(super) fn verified(&mut self, driver: AskId, genuine: Result<String, String>) {
        // Codex may need no answer any more.
        let Some(asked) = self.desk.unverified.remove(&driver) else { return };
        if let Err(why) = &genuine {
            tracing::info!(task = %self.id, why, "a server with our name is not ours");
        }
        self.new_ask(driver, asked, genuine.ok());
    }
}
