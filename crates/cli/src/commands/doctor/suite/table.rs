//! The suite as a table, with the reasons of what failed below it.

use std::path::Path;

use anstyle::{AnsiColor, Style};

use super::super::page::{count, wrapped};
use super::flow::{FlowResult, Tried};
use crate::tasks::table::{Cell, table};
use crate::terminal::safe;

/// The whole page, without its last line end.
pub(super) fn lay_out(path: &Path, version: Option<&str>, flows: &[Tried]) -> String {
    let version =
        version.map_or_else(|| "no Codex".to_owned(), |version| format!("Codex {version}"));
    let heading = format!("{version}, {}", safe(&path.display().to_string()));
    let rows: Vec<Vec<Cell>> = flows.iter().map(row).collect();
    let failed = flows.iter().filter(|tried| tried.result == FlowResult::Failed);
    let mut lines = vec![heading, String::new(), table(&["FLOW", "RESULT", "TIME", "SAW"], &rows)];
    for tried in failed {
        lines.push(String::new());
        lines.extend(wrapped(&format!("{}: {}", tried.flow.word(), tried.saw)));
    }
    lines.push(String::new());
    lines.push(summary(flows));
    lines.join("\n")
}

fn row(tried: &Tried) -> Vec<Cell> {
    let (word, colour) = match tried.result {
        FlowResult::Passed => ("passed", AnsiColor::Green),
        FlowResult::Failed => ("FAILED", AnsiColor::Red),
        FlowResult::NotTried => ("not tried", AnsiColor::Yellow),
    };
    let time = match tried.result {
        FlowResult::NotTried => String::new(),
        _ => format!("{} ms", tried.millis),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    vec![
        Cell::plain(tried.flow.word()),
        Cell::styled(word, style),
        Cell::dim(format!("{time:>8}")),
        Cell::plain(tried.saw.clone()),
    ]
}

fn summary(flows: &[Tried]) -> String {
    let of = |result| flows.iter().filter(|tried| tried.result == result).count();
    let passed = of(FlowResult::Passed);
    match (of(FlowResult::Failed), of(FlowResult::NotTried)) {
        (0, 0) => format!("all {} passed", count(passed, "flow")),
        (failed, 0) => format!("{passed} passed, {failed} failed"),
        (failed, untried) => format!("{passed} passed, {failed} failed, {untried} not tried"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::flow::Flow;
    use super::*;

    #[test]
    fn what_failed_is_told_whole_below_the_table() {
        let took = Duration::from_millis(1234);
        let flows = [
            Tried::new(Flow::Version, Ok("codex 0.130.0".to_owned()), took),
            Tried::new(Flow::Schema, Err("turn/start lost a field".to_owned()), took),
            Tried::not_tried(Flow::Greeting, "because"),
        ];
        let page = lay_out(Path::new("/bin/codex"), Some("0.130.0"), &flows);
        assert_eq!(
            anstream::adapter::strip_str(&page).to_string(),
            "Codex 0.130.0, /bin/codex\n\
             \n\
             FLOW      RESULT     TIME      SAW\n\
             version   passed      1234 ms  codex 0.130.0\n\
             schema    FAILED      1234 ms  turn/start lost a field\n\
             greeting  not tried            because\n\
             \n\
             schema: turn/start lost a field\n\
             \n\
             1 passed, 1 failed, 1 not tried"
        );
    }
}
