//! `ostler asks`: all that waits for a person.

use std::process::ExitCode;

use clap::Args;
use ostler_server::api::AskList;

use crate::daemon::ReachArguments;
use crate::failure::Failure;
use crate::running::block_on;
use crate::tasks::table::{Cell, table};
use crate::tasks::{Desk, time, words};
use crate::terminal::Output;

#[derive(Debug, Args)]
pub(crate) struct AsksArguments {
    #[command(flatten)]
    reach: ReachArguments,
}

pub(crate) fn run(arguments: &AsksArguments, output: Output) -> Result<ExitCode, Failure> {
    block_on(async {
        let mut desk = Desk::open(output, &arguments.reach).await?;
        let list: AskList = desk.get("/v1/asks").await?;
        output.emit(&list);
        if list.asks.is_empty() {
            output.say("nothing waits for you");
            return Ok(ExitCode::SUCCESS);
        }
        let now = time::now();
        let rows: Vec<Vec<Cell>> = list
            .asks
            .iter()
            .map(|shown| {
                let ask = &shown.ask;
                let task: String = ask.task.as_str().chars().take(8).collect();
                vec![
                    Cell::plain(ask.id.as_str()),
                    Cell::plain(task),
                    Cell::dim(time::span(now.saturating_sub(ask.opened_at))),
                    Cell::plain(words::asked(ask)),
                ]
            })
            .collect();
        output.say_styled(&table(&["ASK", "TASK", "SINCE", "WANTS TO"], &rows));
        output.say("see and answer one with `ostler answer ASK`");
        Ok(ExitCode::SUCCESS)
    })
}
