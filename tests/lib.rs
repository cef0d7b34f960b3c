//! End-to-end tests. Each file below `e2e/` is one behaviour, run on every Codex version in `testkit::VERSIONS`.
