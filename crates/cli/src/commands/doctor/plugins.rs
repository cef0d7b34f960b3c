//! The plugins that Codex knows of.

use ostler_codex::protocol::request::account::{Plugin, Plugins};

use super::check::{Check, Name};
use super::page::count;

/// That they cannot be listed is worth a note and no more: Codex works without.
pub(super) fn judge(plugins: &Result<Plugins, String>) -> Check {
    let plugins = match plugins {
        Ok(plugins) => plugins,
        Err(why) => {
            return Check::warning(Name::Plugins, format!("cannot be listed: {why}"))
                .advise("tasks run without them; `codex plugin list` may say more");
        }
    };
    let all = || plugins.marketplaces.iter().flat_map(|market| &market.plugins);
    let installed = |enabled: bool| {
        let names = all().filter(|plugin| plugin.installed && plugin.enabled == enabled).map(name);
        names.collect::<Vec<String>>()
    };
    let (on, off) = (installed(true), installed(false));
    let mut found = match on.len() {
        0 => "none is in use".to_owned(),
        in_use => format!("{in_use} in use: {}", on.join(", ")),
    };
    if !off.is_empty() {
        found.push_str(&format!("; installed but switched off: {}", off.join(", ")));
    }
    let waiting = all().filter(|plugin| plugin.enabled && !plugin.installed).map(name);
    let waiting: Vec<String> = waiting.collect();
    let errors = plugins.marketplace_load_errors.iter().map(|error| {
        let place = error.marketplace_path.as_deref().unwrap_or("a marketplace");
        format!("{place}: {}", error.message)
    });
    let errors: Vec<String> = errors.collect();
    if errors.is_empty() && waiting.is_empty() {
        return Check::ok(Name::Plugins, found);
    }
    let lost = waiting.iter().map(|name| format!("{name}: switched on, but not installed"));
    let details: Vec<String> = errors.iter().cloned().chain(lost).collect();
    let found = match errors.len() {
        0 => found,
        lost => format!("{found}; {} cannot be read", count(lost, "marketplace")),
    };
    Check::warning(Name::Plugins, found).with_details(details).advise(
        "look at [marketplaces] and [plugins] in Codex's config; tasks run without what is missing",
    )
}

fn name(plugin: &Plugin) -> String {
    plugin.id.clone()
}

#[cfg(test)]
mod tests {
    use ostler_codex::protocol::request::account::{Marketplace, MarketplaceLoadError};

    use super::*;

    #[test]
    fn what_is_missing_is_a_warning() {
        let plugin = |id: &str, installed, enabled| Plugin {
            id: id.to_owned(),
            name: None,
            installed,
            enabled,
            availability: None,
        };
        let market = |plugins| Marketplace { name: "local".to_owned(), path: None, plugins };
        let list = |plugins, errors| Plugins {
            marketplaces: vec![market(plugins)],
            marketplace_load_errors: errors,
        };
        let none = judge(&Ok(Plugins::default()));
        assert_eq!(none, Check::ok(Name::Plugins, "none is in use"));
        let well = vec![
            plugin("a@local", true, true),
            plugin("b@local", true, false),
            plugin("c@local", false, false),
        ];
        let found = "1 in use: a@local; installed but switched off: b@local";
        assert_eq!(judge(&Ok(list(well.clone(), vec![]))), Check::ok(Name::Plugins, found));

        let error = MarketplaceLoadError {
            marketplace_path: Some("/m".to_owned()),
            message: "no json".to_owned(),
        };
        let check = judge(&Ok(list(vec![plugin("d@local", false, true)], vec![error])));
        assert_eq!(check.found, "none is in use; 1 marketplace cannot be read");
        let details = ["/m: no json", "d@local: switched on, but not installed"];
        assert_eq!(check.details, details);
    }
}
