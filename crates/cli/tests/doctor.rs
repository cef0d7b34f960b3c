//! `ostler doctor` on real Codex, on machines that are well and on machines that are really broken.

#[cfg(test)]
mod doctor {
    mod broken;
    mod extensions;
    mod fixing;
    mod healthy;
    mod suite;
    mod world;
}
