//! The schemas that real Codex binaries write of themselves, held against what we rely on; and what we rely on, held
//! against the types that do the sending and reading.

#[cfg(test)]
#[path = "schema/codex_binary.rs"]
mod codex_binary;
#[cfg(test)]
#[path = "schema/drift.rs"]
mod drift;
#[cfg(test)]
#[path = "schema/read.rs"]
mod read;
#[cfg(test)]
#[path = "recorded/read_any.rs"]
mod read_any;
#[cfg(test)]
#[path = "schema/sent.rs"]
mod sent;
#[cfg(test)]
#[path = "schema/sent_answers.rs"]
mod sent_answers;
#[cfg(test)]
#[path = "schema/sent_instances.rs"]
mod sent_instances;
