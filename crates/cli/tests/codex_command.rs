//! `ostler codex`, as a person sees it.

#[cfg(test)]
mod codex_command {
    mod fixture;
    mod interrupted;
    mod transcript;
}
