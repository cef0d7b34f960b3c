//! Rules of the policy over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use ostler_model::RuleId;
use ostler_model::policy::Rule;

use crate::api::RuleRemoved;
use crate::problem::Problem;
use crate::tasks::Office;
use crate::{Caller, Given};

pub(crate) async fn list(State(office): State<Arc<Office>>) -> Json<Vec<Rule>> {
    Json(office.engine.rules().iter().cloned().collect())
}

pub(crate) async fn add(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Given(rule): Given<Rule>,
) -> Result<Json<Rule>, Problem> {
    caller.must_be_person("make a rule")?;
    office.engine.add_rule(rule.clone()).await?;
    Ok(Json(rule))
}

pub(crate) async fn remove(
    State(office): State<Arc<Office>>,
    caller: Caller,
    Path(rule): Path<String>,
) -> Result<Json<RuleRemoved>, Problem> {
    caller.must_be_person("remove a rule")?;
    let rule = RuleId::new(rule);
    office.engine.remove_rule(&rule).await?;
    Ok(Json(RuleRemoved { rule }))
}
