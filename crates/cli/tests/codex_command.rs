//! `ostler codex`, as a person sees it.

#[cfg(test)]
mod codex_command {
    mod fixture;
    mod hostile;
    mod interrupted;
    mod on_terminal;
    mod transcript;
}
