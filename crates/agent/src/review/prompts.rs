//! What a review is asked to do. Nothing here promises what the tools refuse.

use crate::counters::Due;

const MEMORY: &str = "Look back at the conversation above. Did your user tell something about themselves that will matter in other \
    conversations: who they are, what they prefer, how they want you to work, what they expect of you? Did you find out something \
    lasting about their machine or their projects? If so, keep it with the `memory` tool: facts about the user in the profile, \
    everything else in the memory, one short entry each. Replace an entry that no longer holds instead of adding another.";

const SKILLS: &str = "Look back at the conversation above. Did you learn how a kind of task is done: a way that worked after others \
    failed, a correction by your user, an order of steps that others should know? Be active: most work teaches something. First \
    see what is there with `skills_list` and `skill_view`. If one of the skills that were used was wrong or lacks it, mend that one; \
    else add it to the skill that covers this kind of task, in its text or as a file below references, templates or scripts; only \
    if there is none, create one for the whole kind of task, never for this one case.";

const NEVER: &str = "Never keep what passes: failures of this machine's set-up, tools that did not work today, errors that went away, \
    the story of this one task, secrets of any kind.";

const END: &str = "You have the memory and skill tools and no others. When you are done, or if there is nothing worth keeping, say \
    so in one short sentence.";

/// The message of the review.
pub(super) fn wish(due: Due, skill_rules: &str) -> String {
    let mut parts = Vec::new();
    if due.memory {
        parts.push(MEMORY);
    }
    if due.skills {
        parts.push(SKILLS);
        parts.push(skill_rules);
    }
    parts.extend([NEVER, END]);
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::wish;
    use crate::counters::Due;

    #[test]
    fn only_what_is_due_is_asked_for() {
        let memory = wish(Due { memory: true, skills: false }, "RULES");
        let skills = wish(Due { memory: false, skills: true }, "RULES");
        let both = wish(Due { memory: true, skills: true }, "RULES");
        let has = |text: &str| {
            [text.contains("`memory`"), text.contains("skills_list"), text.contains("RULES")]
        };
        let found = [has(&memory), has(&skills), has(&both)];
        assert_eq!(found, [[true, false, false], [false, true, true], [true, true, true]]);
    }
}
