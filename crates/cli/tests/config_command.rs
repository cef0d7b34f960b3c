//! `ostler config`, as a person sees it, and what a broken file does to other commands.

#[cfg(test)]
mod config_command {
    mod transcript;
    mod world;
}
