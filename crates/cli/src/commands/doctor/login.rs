//! Who is logged in, without saying more about them than they need to recognise themselves.

use ostler_codex::protocol::request::account::{Account, AccountState};

use super::check::{Check, Name};
use super::session::Unanswered;

pub(super) fn judge(state: &Result<AccountState, Unanswered>) -> Check {
    match state {
        // Codex 0.166 asks the network about a ChatGPT account, and without network it refuses to say anything.
        Err(Unanswered::Refused(why)) => {
            Check::warning(Name::Login, format!("Codex does not say who is logged in: {why}"))
                .advise("look whether the network is there; `codex login status` says more")
        }
        Err(Unanswered::Lost(why)) => {
            Check::problem(Name::Login, format!("Codex does not answer: {why}"))
                .advise("run `codex login status` to see what it says")
        }
        Ok(AccountState { account: Some(account), .. }) => {
            Check::ok(Name::Login, describe(account))
        }
        Ok(AccountState { account: None, requires_openai_auth: false }) => {
            Check::ok(Name::Login, "the configured model provider needs none")
        }
        Ok(AccountState { account: None, requires_openai_auth: true }) => {
            Check::warning(Name::Login, "nobody is logged in")
                .advise("run `codex login`, or the demo works without")
        }
    }
}

fn describe(account: &Account) -> String {
    match account.kind.as_str() {
        "chatgpt" => {
            let who = account.email.as_deref().map(masked).unwrap_or_default();
            let plan = account.plan_type.as_deref();
            let plan = plan.map_or_else(String::new, |plan| format!(", plan {plan}"));
            format!("ChatGPT account {who}").trim_end().to_owned() + &plan
        }
        "apiKey" => "an API key".to_owned(),
        "" => "an account of a kind that Codex does not name".to_owned(),
        other => format!("an account of the kind {other}"),
    }
}

/// The first letter and the domain: enough to tell one's own accounts apart, too little for a screenshot to leak.
fn masked(email: &str) -> String {
    let Some((person, domain)) = email.rsplit_once('@') else {
        return "…".to_owned();
    };
    let first: String = person.chars().take(1).collect();
    format!("{first}…@{domain}")
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    fn account(kind: &str, email: Option<&str>, plan: Option<&str>) -> AccountState {
        let account = Account {
            kind: kind.to_owned(),
            email: email.map(str::to_owned),
            plan_type: plan.map(str::to_owned),
        };
        AccountState { account: Some(account), requires_openai_auth: true }
    }

    #[test]
    fn every_kind_of_login_has_its_words() {
        let ok = |found: &str| Check::ok(Name::Login, found);
        let nobody = |requires_openai_auth| AccountState { account: None, requires_openai_auth };
        for (state, expected) in [
            (
                account("chatgpt", Some("somebody@example.org"), Some("plus")),
                ok("ChatGPT account s…@example.org, plan plus"),
            ),
            (account("chatgpt", Some("no address"), None), ok("ChatGPT account …")),
            (account("chatgpt", None, Some("pro")), ok("ChatGPT account, plan pro")),
            (account("apiKey", None, None), ok("an API key")),
            (account("amazonBedrock", None, None), ok("an account of the kind amazonBedrock")),
            (account("", None, None), ok("an account of a kind that Codex does not name")),
            (nobody(false), ok("the configured model provider needs none")),
            (
                nobody(true),
                Check::warning(Name::Login, "nobody is logged in")
                    .advise("run `codex login`, or the demo works without"),
            ),
        ] {
            assert_eq!(judge(&Ok(state)), expected);
        }
        let state = |unanswered| judge(&Err(unanswered)).state;
        assert_eq!(state(Unanswered::Refused("no network".to_owned())), State::Warning);
        assert_eq!(state(Unanswered::Lost("timed out".to_owned())), State::Problem);
    }
}
