//! Which answer plays: no I/O, no clock.

use std::collections::{HashMap, VecDeque};

use crate::incoming::Incoming;
use crate::script::{Answer, Plays, Script};

/// Which answer of the script a request got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// The `match` of its conversation; none for the fallback.
    pub conversation: Option<String>,
    /// How often the prompt stood in the thread, the newest included: 1 the first time.
    pub run: usize,
    /// Its place in the conversation, from 0.
    pub answer: usize,
    /// How many requests this run had before.
    pub request: usize,
}

/// What was chosen for one request.
#[derive(Debug, PartialEq)]
pub(crate) struct Choice<'script> {
    pub(crate) answer: &'script Answer,
    pub(crate) played: Played,
    /// The same for the same thread, conversation and point in it; different for any other.
    pub(crate) seed: String,
}

/// Why no answer plays; the text goes to the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("the request has no user message, so no conversation of the script can match it")]
    NoPrompt,
    #[error(
        "no conversation of the script matches the prompt {0:?}; add a [[conversation]] whose `match` is in it, or a [fallback]"
    )]
    NoMatch(String),
    #[error(
        "conversation {conversation:?} has answers for {answers} requests and this is request {request}; add an answer, `repeat = true` on the last one, or a [fallback]"
    )]
    Exhausted { conversation: String, answers: usize, request: usize },
}

/// Threads are forgotten, oldest first, past this many (thread, conversation, run) triples: far more than
/// one test or demo has, and less than 20 MB.
const REMEMBERED_RUNS: usize = 100_000;

/// A prompt is shown in messages up to this length; a pasted file would hide the message.
const SHOWN_PROMPT_CHARS: usize = 200;

/// How far each thread has come in each conversation.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    requests: HashMap<Run, usize>,
    oldest_first: VecDeque<Run>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Run {
    thread: String,
    /// None is the fallback.
    conversation: Option<usize>,
    number: usize,
}

impl Progress {
    /// Picks the answer and counts the request.
    pub(crate) fn choose<'script>(
        &mut self,
        script: &'script Script,
        incoming: &Incoming,
    ) -> Result<Choice<'script>, NoAnswer> {
        let chosen = self.choose_in_conversation(script, incoming);
        let (Err(_), Some(answer)) = (&chosen, &script.fallback) else {
            return chosen;
        };
        let run = Run { thread: incoming.thread.clone(), conversation: None, number: 1 };
        let seed = run.seed(incoming);
        let request = self.count(run);
        Ok(Choice {
            answer,
            played: Played { conversation: None, run: 1, answer: 0, request },
            seed: format!("{seed}/{request}"),
        })
    }

    fn choose_in_conversation<'script>(
        &mut self,
        script: &'script Script,
        incoming: &Incoming,
    ) -> Result<Choice<'script>, NoAnswer> {
        let (index, conversation) = find(script, &incoming.user_messages)?;
        let occurrences =
            incoming.user_messages.iter().filter(|message| message.contains(&conversation.prompt));
        let run = Run {
            thread: incoming.thread.clone(),
            conversation: Some(index),
            number: occurrences.count(),
        };
        let (number, seed) = (run.number, run.seed(incoming));
        let request = self.count(run);
        let Some((place, answer)) = answer_for(&conversation.answers, request, &incoming.results)
        else {
            return Err(NoAnswer::Exhausted {
                conversation: conversation.prompt.clone(),
                answers: conversation.answers.iter().map(|answer| answer.plays.count()).sum(),
                request: request + 1,
            });
        };
        Ok(Choice {
            answer,
            played: Played {
                conversation: Some(conversation.prompt.clone()),
                run: number,
                answer: place,
                request,
            },
            seed: format!("{seed}/{request}"),
        })
    }

    /// How many requests this run had before this one.
    fn count(&mut self, run: Run) -> usize {
        if let Some(requests) = self.requests.get_mut(&run) {
            *requests += 1;
            return *requests - 1;
        }
        if self.oldest_first.len() >= REMEMBERED_RUNS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.requests.remove(&oldest);
        }
        self.oldest_first.push_back(run.clone());
        self.requests.insert(run, 1);
        0
    }
}

impl Run {
    /// The length of the history is part of it because a forked or resumed thread may have the ids of an
    /// earlier run in its history already.
    fn seed(&self, incoming: &Incoming) -> String {
        let conversation = self.conversation.map_or(-1, |index| index as i64);
        format!("{}/{conversation}/{}/{}", self.thread, self.number, incoming.input_items)
    }
}

impl Plays {
    fn count(&self) -> usize {
        match self {
            Self::Once => 1,
            Self::Times(times) => times.get() as usize,
            Self::Forever | Self::Until(_) => usize::MAX,
        }
    }
}

/// The newest user message that belongs to a conversation decides, so a steer that matches nothing leaves
/// the thread in its conversation.
fn find<'script>(
    script: &'script Script,
    user_messages: &[String],
) -> Result<(usize, &'script crate::script::Conversation), NoAnswer> {
    let newest = user_messages.last().ok_or(NoAnswer::NoPrompt)?;
    user_messages
        .iter()
        .rev()
        .find_map(|message| {
            let mut conversations = script.conversations.iter().enumerate();
            conversations.find(|(_, conversation)| message.contains(&conversation.prompt))
        })
        .ok_or_else(|| NoAnswer::NoMatch(newest.chars().take(SHOWN_PROMPT_CHARS).collect()))
}

fn answer_for<'script>(
    answers: &'script [Answer],
    request: usize,
    results: &[String],
) -> Option<(usize, &'script Answer)> {
    let is_there = |wanted: &String| results.iter().any(|result| result.contains(wanted));
    let is_until = |answer: &Answer| matches!(answer.plays, Plays::Until(_));
    if answers.iter().any(is_until) {
        // What has been done decides, not how often was asked.
        return answers.iter().enumerate().find(|(_, answer)| match &answer.plays {
            Plays::Until(wanted) => !is_there(wanted),
            _ => true,
        });
    }
    let mut earlier = 0_usize;
    answers.iter().enumerate().find(|(_, answer)| {
        earlier = earlier.saturating_add(answer.plays.count());
        request < earlier
    })
}

#[cfg(test)]
mod tests;
