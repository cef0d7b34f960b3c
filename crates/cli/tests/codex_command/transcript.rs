//! What is printed, word for word.

use std::fs;

use insta::assert_snapshot;

use super::fixture::{Home, write_script};

#[test]
fn a_new_home_has_nothing_and_says_what_to_do() {
    let home = Home::empty();
    assert_snapshot!(home.run("codex list"), @r"
    --- stderr
    note: no Codex is in use; run `ostler codex install` to fetch one
    --- exit 0
    ");
    assert_snapshot!(home.run("codex list --json"), @r#"
    {"in_use":null,"codex":[],"passed_over":[]}
    --- stderr
    note: no Codex is in use; run `ostler codex install` to fetch one
    --- exit 0
    "#);
    assert_snapshot!(home.run("codex path"), @r"
    --- stderr
    error: no Codex was found
      run `ostler codex install` to fetch one
    --- exit 3
    ");
    assert_snapshot!(home.run("codex install"), @r"
    --- stderr
    asking the npm registry for the newest Codex
    error: cannot learn which Codex is newest: npm is not on PATH; install Node.js with npm, or put npm on PATH
      or name a Codex that you have: `ostler codex use /path/to/codex`
    --- exit 1
    ");
    assert_snapshot!(home.run("codex use 0.142.5"), @r"
    --- stderr
    error: Codex 0.142.5 is not installed
      run `ostler codex install 0.142.5`
    --- exit 3
    ");
}

#[test]
fn versions_that_cannot_be_are_refused_at_the_door() {
    let home = Home::empty();
    assert_snapshot!(home.run("codex install 0.124.0"), @r"
    --- stderr
    error: invalid value '0.124.0' for '[VERSION]': Codex 0.124.0 is too old; the oldest that works is 0.125.0

    For more information, try '--help'.
    --- exit 2
    ");
    assert_snapshot!(home.run("codex install 0.130"), @r#"
    --- stderr
    error: invalid value '0.130' for '[VERSION]': "0.130" is not a Codex version; write three numbers such as 0.130.0, or latest

    For more information, try '--help'.
    --- exit 2
    "#);
    assert_snapshot!(home.run("codex install 0.130.0-linux-x64"), @r#"
    --- stderr
    error: invalid value '0.130.0-linux-x64' for '[VERSION]': "0.130.0-linux-x64" is the package of one platform, not a Codex version; leave the platform name off

    For more information, try '--help'.
    --- exit 2
    "#);
}

#[test]
fn an_installed_version_is_listed_used_and_checked() {
    let home = Home::with_codex();
    assert_snapshot!(home.run("codex list"), @r"
       VERSION  FROM       SIZE       WHERE
    *  0.130.0  installed  ###.## MB  [HOME]/cache/codex/0.130.0
    --- stderr
    --- exit 0
    ");
    assert_snapshot!(home.run("codex install 0.130.0"), @r"
    Codex 0.130.0 is already installed in [HOME]/cache/codex/0.130.0
    --- stderr
    --- exit 0
    ");
    assert_snapshot!(home.run("codex install"), @r"
    the newest installed is Codex 0.130.0 in [HOME]/cache/codex/0.130.0
    --- stderr
    asking the npm registry for the newest Codex
    note: cannot learn which Codex is newest: npm is not on PATH; install Node.js with npm, or put npm on PATH
    --- exit 0
    ");
    assert_snapshot!(home.run("codex use 0.130.0"), @r"
    Codex 0.130.0 is now in use
    --- stderr
    --- exit 0
    ");
    assert_eq!(fs::read_to_string(home.config_file()).unwrap(), "[codex]\nversion = \"0.130.0\"\n");
    assert_snapshot!(home.run("codex path --json"), @r#"
    {"version":"0.130.0","path":"[HOME]/cache/codex/0.130.0/[TRIPLE]/codex/codex","source":"configured_version"}
    --- stderr
    --- exit 0
    "#);
    assert_snapshot!(home.run("codex path 0.130.0"), @r"
    [HOME]/cache/codex/0.130.0/[TRIPLE]/codex/codex
    --- stderr
    --- exit 0
    ");
    assert_snapshot!(home.run("codex check"), @r"
    Codex 0.130.0, [HOME]/cache/codex/0.130.0/[TRIPLE]/codex/codex
    ok: sha256 of 3 files is as recorded at the install
    ok: `codex --version` says 0.130.0
    ok: `codex app-server` starts
    ok: speaks the protocol as we know it
    --- stderr
    --- exit 0
    ");
    assert_snapshot!(home.run("codex remove 0.130.0"), @r"
    removed Codex 0.130.0 from [HOME]/cache/codex/0.130.0
    --- stderr
    note: the config file still names 0.130.0; `ostler codex use` chooses another
    --- exit 0
    ");
    assert_snapshot!(home.run("codex path"), @r"
    --- stderr
    error: no Codex that works was found:
      Codex 0.130.0 is configured but not installed
      run `ostler codex install` to fetch one
    --- exit 3
    ");
}

#[test]
fn a_damaged_version_is_told() {
    let home = Home::with_codex();
    let folder = home.vendor();
    let size_bytes = fs::metadata(folder.join("path/rg")).unwrap().len().to_string();
    fs::write(folder.join("path/rg"), "not rg").unwrap();
    let checked = home.run("codex check 0.130.0").replace(&size_bytes, "[SIZE]");
    assert_snapshot!(checked, @r"
    Codex 0.130.0, [HOME]/cache/codex/0.130.0/[TRIPLE]/codex/codex
    problem: [TRIPLE]/path/rg has 6 bytes instead of [SIZE]
    ok: `codex --version` says 0.130.0
    ok: `codex app-server` starts
    ok: speaks the protocol as we know it
    run `ostler codex remove 0.130.0` and `ostler codex install 0.130.0` to replace it
    --- stderr
    --- exit 1
    ");
    fs::remove_file(folder.join("codex/codex")).unwrap();
    assert_snapshot!(home.run("codex list"), @r"
       VERSION  FROM       SIZE  WHERE
    !  0.130.0  installed        [HOME]/cache/codex/0.130.0
    --- stderr
    note: passed over: [HOME]/cache/codex/0.130.0 is damaged: [TRIPLE]/codex/codex: No such file or directory (os error 2)
    note: no Codex is in use; run `ostler codex install` to fetch one
    --- exit 0
    ");
    assert_snapshot!(home.run("codex check 0.130.0"), @r"
    --- stderr
    error: [HOME]/cache/codex/0.130.0 is damaged: [TRIPLE]/codex/codex: No such file or directory (os error 2)
      run `ostler codex install 0.130.0` to replace it
    --- exit 1
    ");
}

#[test]
fn what_is_passed_over_is_told_and_the_next_is_used() {
    let home = Home::with_codex();
    fs::create_dir(home.path().join("bin")).unwrap();
    write_script(&home.path().join("bin/codex"), "exec /somewhere/else");
    assert_snapshot!(home.run("codex list"), @r"
       VERSION  FROM       SIZE       WHERE
    !  ?        PATH       31 B       [HOME]/bin/codex
    *  0.130.0  installed  ###.## MB  [HOME]/cache/codex/0.130.0
    --- stderr
    note: passed over: [HOME]/bin/codex is a script that hides the native binary; name the native binary itself
    --- exit 0
    ");
    assert_snapshot!(home.run("codex use /no/such/codex"), @r"
    --- stderr
    error: /no/such/codex is not there
      nothing was changed; `ostler codex list` shows what there is
    --- exit 1
    ");
}

#[test]
fn the_config_file_keeps_what_a_person_wrote() {
    let home = Home::with_codex();
    fs::create_dir(home.path().join("config")).unwrap();
    let written = "# my settings\n[codex]\nversion = \"0.142.5\" # pinned\nhome = \"~/c\"\n";
    fs::write(home.config_file(), written).unwrap();
    assert_snapshot!(home.run("codex use 0.130.0"), @r"
    Codex 0.130.0 is now in use
    --- stderr
    --- exit 0
    ");
    assert_eq!(
        fs::read_to_string(home.config_file()).unwrap(),
        written.replace("0.142.5", "0.130.0")
    );
    let binary = home.vendor().join("codex/codex");
    let chosen = home.run(&format!("codex use {}", binary.display()));
    assert_snapshot!(chosen, @r"
    [HOME]/cache/codex/0.130.0/[TRIPLE]/codex/codex (Codex 0.130.0) is now in use
    --- stderr
    --- exit 0
    ");
    home.run("codex use --clear");
    assert_eq!(
        fs::read_to_string(home.config_file()).unwrap(),
        "# my settings\n[codex]\nhome = \"~/c\"\n"
    );
    fs::write(home.config_file(), "[codex]\npath = bin/codex\n").unwrap();
    assert_snapshot!(home.run("codex list"), @r"
    --- stderr
    error: [HOME]/config/config.toml: line 2: string values must be quoted, expected literal string
      correct the file; `ostler config check` shows the places
    --- exit 2
    ");
}
