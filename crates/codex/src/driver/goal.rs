//! Reading and changing the goal of a thread, whether it is loaded or not.

use ostler_model::{Failure, FailureClass, Goal, GoalChange, ThreadId};

use super::Driver;
use crate::app_server::{AppServer, CallError};
use crate::peer::RequestError;
use crate::protocol::request::goal::{ThreadGoalClear, ThreadGoalGet, ThreadGoalSet};
use crate::start_fault::StartFault;

impl Driver {
    /// The goal of a thread, as Codex has it.
    pub async fn goal(&self, thread: &ThreadId) -> Result<Option<Goal>, Failure> {
        let on = self.connected().await.map_err(|error| gone(error.to_string()))?;
        let get = ThreadGoalGet { thread_id: thread.clone() };
        let reply = on.server.call(&get).await.map_err(|error| failure(&error))?;
        Ok(reply.goal.as_ref().map(Goal::from))
    }

    /// Changes the goal of a thread, and says how it stands then.
    pub async fn change_goal(
        &self,
        thread: &ThreadId,
        change: &GoalChange,
    ) -> Result<Option<Goal>, Failure> {
        let on = self.connected().await.map_err(|error| gone(error.to_string()))?;
        change_goal(&on.server, thread, change).await.map_err(|error| failure(&error))
    }
}

pub(super) async fn change_goal(
    server: &AppServer,
    thread: &ThreadId,
    change: &GoalChange,
) -> Result<Option<Goal>, CallError> {
    match ThreadGoalSet::of(thread.clone(), change) {
        Some(set) => Ok(server.call(&set).await?.goal.as_ref().map(Goal::from)),
        None => {
            server.call(&ThreadGoalClear { thread_id: thread.clone() }).await?;
            Ok(None)
        }
    }
}

fn gone(message: String) -> Failure {
    Failure::new(FailureClass::ServerGone, message)
}

fn failure(error: &CallError) -> Failure {
    let class = match error {
        CallError::Prepare(_) => FailureClass::BadRequest,
        CallError::Request { source: RequestError::Rpc(error), .. } => {
            match StartFault::of_answer(error) {
                StartFault::Passing => FailureClass::Overload,
                StartFault::NoCodex | StartFault::Lasting => FailureClass::BadRequest,
            }
        }
        _ => FailureClass::ServerGone,
    };
    Failure::new(class, error.to_string())
}
