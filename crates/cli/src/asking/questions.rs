//! The model's own questions, one after the other.

use std::collections::BTreeMap;

use ostler_model::ask::Question;
use ostler_model::{Decision, QuestionId};

use super::{Reading, slash_word};
use crate::terminal::safe;

#[derive(Debug)]
pub(crate) struct Questions {
    questions: Vec<Question>,
    /// How many have been answered.
    position: usize,
    answers: BTreeMap<QuestionId, Vec<String>>,
}

impl Questions {
    pub(super) fn new(questions: Vec<Question>) -> Self {
        Self { questions, position: 0, answers: BTreeMap::new() }
    }

    fn current(&self) -> Option<&Question> {
        self.questions.get(self.position)
    }

    pub(super) fn is_secret(&self) -> bool {
        self.current().is_some_and(|question| question.is_secret)
    }

    pub(super) fn question(&self) -> Vec<String> {
        let Some(question) = self.current() else { return vec![String::new()] };
        let mut lines = Vec::new();
        if self.questions.len() > 1 {
            lines.push(format!("{} of {}", self.position + 1, self.questions.len()));
        }
        lines.extend(safe(&question.text).lines().map(str::to_owned));
        for (number, option) in question.options.iter().enumerate() {
            let description = match option.description.as_str() {
                "" => String::new(),
                text => format!("  {}", safe(text)),
            };
            lines.push(format!("  {}  {}{description}", number + 1, safe(&option.label)));
        }
        lines.push(hint(question).to_owned());
        lines
    }

    pub(super) fn read(&mut self, line: &str) -> Reading {
        if let Some(reading) = slash_word(line) {
            return reading;
        }
        let Some(question) = self.current() else {
            return Reading::decided(Decision::Answers(self.answers.clone()));
        };
        let answer = match answer(question, line) {
            Ok(answer) => answer,
            Err(note) => return Reading::again(note),
        };
        self.answers.insert(question.id.clone(), vec![answer]);
        self.position += 1;
        match self.current() {
            Some(_) => Reading::Again(None),
            None => Reading::decided(Decision::Answers(self.answers.clone())),
        }
    }
}

fn answer(question: &Question, line: &str) -> Result<String, &'static str> {
    // Spaces may belong to a password.
    let text = if question.is_secret { line } else { line.trim() };
    if text.is_empty() {
        return Err("an answer is needed; /no declines");
    }
    let number = text.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    if let Some(option) = number.and_then(|number| question.options.get(number)) {
        return Ok(option.label.clone());
    }
    let same = |label: &str| label.eq_ignore_ascii_case(text);
    if let Some(option) = question.options.iter().find(|option| same(&option.label)) {
        return Ok(option.label.clone());
    }
    if question.options.is_empty() || question.allows_other {
        return Ok(text.to_owned());
    }
    Err("choose one of the numbers; /no declines")
}

fn hint(question: &Question) -> &'static str {
    match (question.options.is_empty(), question.allows_other, question.is_secret) {
        (_, _, true) => "what you type is not shown; /no declines",
        (true, ..) => "your answer; /no declines",
        (false, true, _) => "a number, or an answer of your own; /no declines",
        (false, false, _) => "a number; /no declines",
    }
}

#[cfg(test)]
mod tests {
    use ostler_model::ask::QuestionOption;

    use super::*;

    fn question(id: &str, options: &[&str], allows_other: bool) -> Question {
        let option =
            |label: &&str| QuestionOption { label: (*label).into(), description: String::new() };
        Question {
            id: id.into(),
            header: String::new(),
            text: format!("{id}?"),
            options: options.iter().map(option).collect(),
            allows_other,
            is_secret: false,
        }
    }

    #[test]
    fn questions_come_one_after_the_other() {
        let open = question("why", &[], false);
        let mut questions = Questions::new(vec![question("which", &["Bay", "Grey"], false), open]);
        assert_eq!(
            questions.question(),
            ["1 of 2", "which?", "  1  Bay", "  2  Grey", "a number; /no declines"]
        );

        let wrong = questions.read("3");
        let first = questions.read("2");
        assert_eq!(questions.question(), ["2 of 2", "why?", "your answer; /no declines"]);
        let last = questions.read(" It is tall. ");

        assert_eq!(wrong, Reading::again("choose one of the numbers; /no declines"));
        assert_eq!(first, Reading::Again(None));
        let answers = [("which", "Grey"), ("why", "It is tall.")]
            .map(|(id, answer)| (id.into(), vec![answer.to_owned()]));
        assert_eq!(last, Reading::decided(Decision::Answers(answers.into())));
    }

    #[test]
    fn an_option_is_known_by_number_or_name_and_other_text_only_if_allowed() {
        let closed = question("q", &["Bay"], false);
        let open = question("q", &["Bay"], true);
        assert_eq!(answer(&closed, "1"), Ok("Bay".to_owned()));
        assert_eq!(answer(&closed, "bay"), Ok("Bay".to_owned()));
        assert!(answer(&closed, "Roan").is_err());
        assert_eq!(answer(&open, "Roan"), Ok("Roan".to_owned()));
        assert!(answer(&open, "  ").is_err());
    }

    #[test]
    fn a_person_may_decline() {
        let mut questions = Questions::new(vec![question("q", &[], true)]);
        assert_eq!(questions.read("/no"), Reading::decided(Decision::Deny));
    }
}
