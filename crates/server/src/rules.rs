//! Rules of the policy over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use ostler_model::RuleId;
use ostler_model::policy::Rule;

use crate::api::RuleRemoved;
use crate::problem::{Problem, Trouble};
use crate::tasks::Office;
use crate::{Caller, Given, ids};

pub(crate) async fn list(State(office): State<Arc<Office>>) -> Json<Vec<Rule>> {
    Json(office.engine.rules().iter().cloned().collect())
}

pub(crate) async fn add(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Given(rule): Given<Rule>,
) -> Result<Json<Rule>, Problem> {
    ids::check(rule.id.as_str())?;
    // Who made it is not for the request to say.
    let rule = Rule { made_by: caller.name(), ..rule };
    office.engine.add_rule(rule.clone()).await?;
    Ok(Json(rule))
}

pub(crate) async fn remove(
    State(office): State<Arc<Office>>,
    Path(rule): Path<String>,
) -> Result<Json<RuleRemoved>, Problem> {
    let rule = RuleId::new(rule);
    if !office.engine.rules().iter().any(|known| known.id == rule) {
        let problem = Problem::new(Trouble::NotFound, format!("there is no rule {rule}"));
        return Err(problem.hint("`ostler policy ls` lists them"));
    }
    office.engine.remove_rule(&rule).await?;
    Ok(Json(RuleRemoved { rule }))
}
