//! `ostler runtime`, as a person sees it, on real Codex.

#[cfg(test)]
mod runtime_command {
    mod transcript;
}
