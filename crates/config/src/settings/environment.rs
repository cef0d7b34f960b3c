//! `[environment]`: which variables Codex sees.

use crate::section::section;
use crate::value::VariableName;

section! {
    /// Which variables of the daemon Codex, and with it every command of the model, sees. The rule stands in
    /// `docs/environment.md`.
    Environment = "environment", _at;

    /// Variables that are passed on although the rule withholds them, such as the key of a model provider. `*` and `%`
    /// mean what they mean in the rule. `OSTLER_*` cannot be passed on.
    pass: Vec<VariableName> = Vec::new();
}
