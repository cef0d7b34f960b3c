//! `ostler chat`: what was typed on the command line becomes a talk, one question, or a list.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use ostler_agent::Activity;
use ostler_agent::runtime::{self, Asked, Runtime};
use ostler_agent::{ListedConversation, Unfinished};
use serde_json::json;

use crate::bench::Bench;
use crate::chat::commands;
use crate::chat::editor::Editor;
use crate::chat::history::History;
use crate::chat::house::Home;
use crate::chat::inbox::Inbox;
use crate::chat::one_shot::{self, Telling};
use crate::chat::retention;
use crate::chat::session::{ConversationShown, House, Opening, UserInput, Which};
use crate::chat::surface::{Size, Surface};
use crate::chat::switching::runtime_of;
use crate::chat::talk::{Parts, Person, Talk, Until, which};
use crate::chat::view::Commentary;
use crate::daemon::ReachArguments;
use crate::failure::{Exit, Failure};
use crate::folder_trust;
use crate::places;
use crate::prompt;
use crate::running::{self, Interruption};
use crate::tasks::table::{Cell, table};
use crate::tasks::time;
use crate::terminal::raw::{self, Raw};
use crate::terminal::{Output, height, safe, width};
use crate::turn::Signs;

/// Of a terminal that does not say.
const USUAL_SIZE: Size = Size { columns: 80, rows: 24 };

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Without --query you talk: /help lists the commands, Ctrl-C ends a turn, Ctrl-D leaves. Conversations are kept; --resume goes on
with one. With --query, and whenever something is piped in, there is one answer and the exit code of the turn: 0, 1 failed,
4 what it asked was declined because nobody was there, 5 limit reached, 7 interrupted, 75 try again later.
--json gives one object, with --stream a line for each thing that happens and the same object as the last.")]
pub(crate) struct ChatArguments {
    #[command(subcommand)]
    action: Option<ChatAction>,
    /// One question; what is piped in is added to it, and `-` is all of it
    #[arg(short, long, value_name = "TEXT")]
    query: Option<String>,
    /// With --json: tell each thing as it happens
    #[arg(long)]
    stream: bool,
    /// Go on with a conversation: its id or the beginning of it, or `last`
    #[arg(long, value_name = "ID|last")]
    resume: Option<String>,
    /// List the conversations
    #[arg(long, conflicts_with_all = ["query", "resume", "image"])]
    list: bool,
    /// Who runs the turns of this chat: auto or codex_app_server
    #[arg(long, value_name = "RUNTIME", value_parser = a_runtime)]
    runtime: Option<Runtime>,
    /// The model
    #[arg(long)]
    model: Option<String>,
    /// How hard the model thinks
    #[arg(long)]
    effort: Option<String>,
    /// The folder to work in; without it that of the conversation, or this one
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// An image to go with the question
    #[arg(long, value_name = "FILE", requires = "query")]
    image: Vec<PathBuf>,
    #[command(flatten)]
    reach: ReachArguments,
}

#[derive(Debug, Subcommand)]
enum ChatAction {
    /// Remove conversations, with all that was said in them
    #[command(after_help = "\
What was remembered and learned in them stays, and so does the task on which Codex has one: `ostler rm` removes that. A
conversation that is open in another chat cannot be removed.")]
    Rm {
        /// The conversations; the first letters of their ids are enough
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
        /// Also those whose last turn has no end, because it was cut off or Codex is still at work on it
        #[arg(long)]
        force: bool,
    },
}

pub(crate) fn run(arguments: &ChatArguments, output: Output) -> Result<ExitCode, Failure> {
    let bench = Bench::lay_out(output)?;
    let usual = runtime_of(bench.config.config().agent.runtime);
    let is_on_codex = arguments.runtime.unwrap_or(usual) == Runtime::CodexAppServer;
    if is_on_codex && arguments.action.is_none() && !arguments.list {
        // Before signals are listened to: a question can be left with Ctrl-C. A folder that is none is told later.
        let cwd = arguments.cwd.as_deref().unwrap_or(Path::new("."));
        let home = bench.usual_codex_home();
        folder_trust::look(&bench.places, home.as_deref(), cwd, output)?;
    }
    let runtime = running::runtime()?;
    let result = runtime.block_on(work(arguments, bench, output));
    // A read from the terminal that nobody waits for any more cannot be called off.
    runtime.shutdown_background();
    result
}

async fn work(
    arguments: &ChatArguments,
    bench: Bench,
    output: Output,
) -> Result<ExitCode, Failure> {
    let mut interruption = Interruption::listen()?;
    let commentary = match bench.config.config().agent.show_commentary {
        true => Commentary::Shown,
        false => Commentary::Hidden,
    };
    let state = bench.places.state.clone();
    if let Some(ChatAction::Rm { ids, force }) = &arguments.action {
        let unfinished = if *force { Unfinished::GoToo } else { Unfinished::Stay };
        let each = |gone: &ListedConversation| {
            let ListedConversation { id, title, messages, .. } = gone;
            output.say(&format!("{id} is removed: {}", safe(title).replace('\n', " ")));
            output.emit(&json!({ "conversation": id, "title": title, "messages": messages }));
        };
        interruption.or(retention::remove(&state, ids, unfinished, each)).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let conversation_age = bench.config.config().retention.conversation_age;
    let later = Arc::new(Inbox::default());
    let house: Arc<dyn House> =
        Arc::new(Home { bench, reach: arguments.reach.clone(), later: later.clone() });
    if arguments.list {
        let found = interruption.or(house.list()).await?;
        show(&found, output);
        return Ok(ExitCode::SUCCESS);
    }
    let query = interruption.or(prompt::read(arguments.query.as_deref(), output)).await?;
    let is_attended = !output.is_json() && io::stdin().is_terminal() && io::stdout().is_terminal();
    if query.is_none() && !is_attended {
        return Err(Failure::new(Exit::Usage, "there is no terminal to talk at")
            .hint("ask one question, as in `ostler chat -q \"what is here?\"`, or pipe it in"));
    }
    let images = arguments.image.iter().map(|image| prompt::existing(image, "the image"));
    let images = images.collect::<Result<Vec<_>, _>>()?;
    let first = query.map(|query| UserInput { text: query.text, images });
    let opening = Opening {
        is_cwd_named: arguments.cwd.is_some(),
        cwd: prompt::existing(arguments.cwd.as_deref().unwrap_or(Path::new(".")), "the folder")?,
        runtime: arguments.runtime,
        model: arguments.model.clone(),
        effort: arguments.effort.clone(),
    };
    let wanted = arguments.resume.as_deref().map_or(Which::New, which);
    let session = interruption.or(house.open(wanted, &opening)).await?;
    // Not before one of them is taken up, however old it is.
    let swept = async { Ok(retention::sweep(&state, conversation_age).await) };
    if let Some(line) = interruption.or(swept).await? {
        output.note(&line);
    }
    let mut signs = Signs::listen()?;
    if let (Some(input), false) = (&first, is_attended) {
        let telling = if arguments.stream { Telling::Stream } else { Telling::Outcome };
        let input = input.clone();
        let asked =
            one_shot::ask(house, session, input, commentary, telling, output, &mut signs).await;
        // What a review came to, also where nobody stays to see it.
        for activity in later.take() {
            if let Activity::Note(text) = activity {
                output.note(&text);
            }
        }
        return Ok(ExitCode::from(asked));
    }
    let until = if first.is_some() { Until::Answered } else { Until::Left };
    places::private_folder(&state)?;
    let talk = Talk::new(Parts {
        house,
        opening,
        session,
        surface: Surface::new(io::stdout(), has_colour()),
        size,
        editor: Editor::new(History::load(state.join("chat-history")), commands::complete),
        commentary,
        later,
    });
    let Some(raw) = Raw::begin() else {
        return Err(Failure::new(Exit::Failed, "the terminal cannot be used key by key")
            .hint("ask one question with -q"));
    };
    let code = talk.run(&mut Person { keys: raw::keys(), signs }, first, until).await;
    drop(raw);
    Ok(ExitCode::from(code?))
}

fn a_runtime(word: &str) -> Result<Runtime, String> {
    match runtime::parse(word) {
        Ok(Asked::Set(runtime)) => Ok(runtime),
        Ok(Asked::Report) => Err("say auto or codex_app_server".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn has_colour() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

fn size() -> Size {
    Size {
        columns: width().unwrap_or(USUAL_SIZE.columns),
        rows: height().unwrap_or(USUAL_SIZE.rows),
    }
}

fn show(found: &[ConversationShown], output: Output) {
    let now = time::now();
    let rows: Vec<Vec<Cell>> = found
        .iter()
        .map(|conversation| {
            vec![
                Cell::plain(conversation.id.as_str()),
                Cell::dim(time::ago(conversation.updated_at, now)),
                Cell::plain(conversation.messages.to_string()),
                Cell::dim(conversation.cwd.as_str()),
                Cell::plain(conversation.title.as_deref().unwrap_or_default()),
            ]
        })
        .collect();
    match rows.is_empty() {
        true => output.say("there is no conversation yet; `ostler chat` begins one"),
        false => output.say_styled(&table(&["ID", "LAST", "MESSAGES", "FOLDER", "TITLE"], &rows)),
    }
    output.emit(&json!({ "conversations": found }));
}
