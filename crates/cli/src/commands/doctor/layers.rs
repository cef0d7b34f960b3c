//! Where settings come from: ours, and Codex's.

use ostler_codex::config_layers::{Layer, LayerSource};
use ostler_config::{Origin, Reading};

use super::check::{Check, Name};
use super::config::OwnConfig;
use super::page::count;

/// Keys that are named; the others are counted.
const NAMED_KEYS: usize = 5;

pub(super) fn judge(own: Option<&OwnConfig>, codex: &Result<Vec<Layer>, String>) -> Check {
    let mut details = Vec::new();
    if let Some(own) = own {
        details.push(format!("ours: {}", of_own(own)));
    }
    let layers = match codex {
        Ok(layers) => layers,
        Err(why) => {
            let found = format!("Codex does not say where its settings come from: {why}");
            return Check::warning(Name::ConfigLayers, found).with_details(details);
        }
    };
    // What the doctor itself started Codex with is nobody's setting.
    let told = layers.iter().filter(|layer| layer.source != LayerSource::Arguments);
    details.extend(told.clone().map(|layer| format!("Codex: {}", of_layer(layer))));
    let in_use = told.filter(|layer| layer.disabled.is_none() && !layer.keys.is_empty()).count();
    let found = match in_use {
        0 => "Codex runs on its defaults alone".to_owned(),
        1 => "Codex's settings come from one file".to_owned(),
        _ => format!("Codex's settings come from {in_use} places, the strongest first"),
    };
    Check::ok(Name::ConfigLayers, found).with_details(details)
}

fn of_own(own: &OwnConfig) -> String {
    let place = own.place.display();
    match &own.reading {
        None => format!("the defaults; there is no {place}"),
        Some(Err(_)) => format!("the defaults; {place} cannot be used"),
        Some(Ok(reading)) => {
            let (file, variables) = origins(reading);
            let mut text = format!("{place} sets {}", count(file, "setting"));
            if !variables.is_empty() {
                text.push_str(&format!("; by the environment: {}", variables.join(", ")));
            }
            text
        }
    }
}

fn origins(reading: &Reading) -> (usize, Vec<String>) {
    let settings = reading.settings();
    let of_file = |origin: &Origin| matches!(origin, Origin::File { .. });
    let file = settings.iter().filter(|setting| of_file(&setting.origin)).count();
    let variables = settings.iter().filter_map(|setting| match setting.origin {
        Origin::Environment { variable } => Some(format!("{} ({variable})", setting.key)),
        _ => None,
    });
    (file, variables.collect())
}

fn of_layer(layer: &Layer) -> String {
    let at = |file: &Option<String>| file.clone().unwrap_or_else(|| "a file".to_owned());
    let source = match &layer.source {
        LayerSource::User { file } => format!("yours, {}", at(file)),
        LayerSource::System { file } => format!("the machine's, {}", at(file)),
        LayerSource::Project { folder } => format!("the project's, {}", at(folder)),
        LayerSource::Arguments => "its arguments".to_owned(),
        LayerSource::Managed { kind, file } => match file {
            Some(file) => format!("an administrator's ({kind}), {file}"),
            None => format!("an administrator's ({kind})"),
        },
        LayerSource::Other { kind, file } => match file {
            Some(file) => format!("{kind}, {file}"),
            None => kind.clone(),
        },
    };
    let mut text = match layer.keys.len() {
        0 => format!("{source}: sets nothing"),
        keys => format!("{source}: sets {}", count(keys, "key")),
    };
    if let Some(why) = &layer.disabled {
        text.push_str(&format!("; not used: {why}"));
    } else if !layer.overruled.is_empty() {
        let named: Vec<&str> =
            layer.overruled.iter().take(NAMED_KEYS).map(String::as_str).collect();
        let more = match layer.overruled.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text.push_str(&format!("; overruled: {}{more}", named.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_has_a_line() {
        let layer = |source, keys: usize, overruled: &[&str], disabled: Option<&str>| Layer {
            source,
            keys: (0..keys).map(|number| format!("k{number}")).collect(),
            overruled: overruled.iter().map(|key| (*key).to_owned()).collect(),
            disabled: disabled.map(str::to_owned),
        };
        let file = |name: &str| Some(name.to_owned());
        let layers = vec![
            layer(LayerSource::Arguments, 2, &[], None),
            layer(LayerSource::Managed { kind: "mdm".to_owned(), file: None }, 1, &[], None),
            layer(LayerSource::User { file: file("/h/config.toml") }, 2, &["k0"], None),
            layer(LayerSource::Project { folder: file("/p/.codex") }, 1, &[], Some("no trust")),
            layer(LayerSource::System { file: file("/etc/codex/config.toml") }, 0, &[], None),
        ];
        let details = [
            "Codex: an administrator's (mdm): sets 1 key",
            "Codex: yours, /h/config.toml: sets 2 keys; overruled: k0",
            "Codex: the project's, /p/.codex: sets 1 key; not used: no trust",
            "Codex: the machine's, /etc/codex/config.toml: sets nothing",
        ];
        let found = "Codex's settings come from 2 places, the strongest first";
        let expected =
            Check::ok(Name::ConfigLayers, found).with_details(details.map(str::to_owned).to_vec());
        assert_eq!(judge(None, &Ok(layers)), expected);
    }
}
