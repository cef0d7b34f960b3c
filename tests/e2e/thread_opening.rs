//! Threads are opened as asked or not at all: resume, fork, archive, and what stands in the way.

use ostler_codex::protocol::approval_policy::ApprovalPolicy;
use ostler_codex::protocol::request::thread::{ThreadOpened, ThreadResume, ThreadUnsubscribe};
use ostler_codex::protocol::settings::SandboxPolicy;
use ostler_codex::protocol::user_input::UserInput;
use ostler_codex::protocol::words::UnsubscribeStatus;
use ostler_codex::thread::open::OpenError;
use ostler_codex::thread::settings::{ThreadSettings, compare};
use ostler_model::ThreadId;
use ostler_testkit::{Client, Stage};
use rstest::rstest;

use crate::thread_settings::{last_request, quiet, turn, world, writable};
use crate::{LEAVES_A_LINE, PROMPT, command, stage, text};

/// A thread that has run one turn, so that it has a file.
async fn used_thread(client: &mut Client, settings: &ThreadSettings) -> ThreadId {
    let opened = client.server.start_thread(settings).await.unwrap();
    turn(client, &opened.id, settings, "the first word").await;
    opened.id
}

/// What a reply has otherwise than asked, wider things marked.
fn told(asked: &ThreadSettings, got: &ThreadOpened, stage: &Stage) -> Vec<String> {
    let home = stage.codex_home().display().to_string();
    let differences = compare(asked, got, &home).into_iter();
    let mark = |wider| if wider { "WIDER " } else { "" };
    differences.map(|found| format!("{}{found}", mark(found.is_wider()))).collect()
}

#[rstest]
#[tokio::test]
async fn a_resume_in_a_new_process_is_no_wider_because_everything_is_sent_again(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = world(version);
    let narrow = ThreadSettings { approval_policy: ApprovalPolicy::Untrusted, ..quiet(&stage) };
    let wide = ThreadSettings {
        sandbox: writable(&stage),
        model: Some("gpt-5.4".into()),
        effort: Some("high".into()),
        developer_instructions: Some("Mind the oats.".into()),
        ..narrow.clone()
    };
    // Where the user's own file trusts the folder, Codex's defaults are wide.
    let folder = stage.workspace().display().to_string();
    let trusted = format!("\n[projects.{folder:?}]\ntrust_level = \"trusted\"\n");
    stage.configure(|config| config + &trusted).unwrap();
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let wide_thread = used_thread(&mut client, &wide).await;
    let narrow_thread = used_thread(&mut client, &narrow).await;
    client.close().await;
    drop(codex);

    let codex = stage.codex().await.unwrap();
    let client = stage.client(&codex).await.unwrap();
    let bare = client.server.call(&ThreadResume::new(narrow_thread.clone())).await.unwrap();
    let forgotten: &[&str] = match version {
        "0.166.0" => &[],
        _ => &[
            "WIDER sandbox: asked read-only, got workspace-write",
            "WIDER approval policy: asked untrusted, got on-request",
        ],
    };
    assert_eq!(told(&narrow, &bare, &stage), forgotten);
    let bare = client.server.call(&ThreadResume::new(wide_thread.clone())).await.unwrap();
    let hay = stage.workspace().with_file_name("hay").display().to_string();
    let roots = format!("writable roots: asked {hay}, got none");
    let doors = [
        "network: asked allowed, got closed",
        "WIDER $TMPDIR: asked closed, got allowed",
        "WIDER /tmp: asked closed, got allowed",
    ];
    let mut forgotten = doors.to_vec();
    if version != "0.166.0" {
        forgotten.insert(0, &roots);
        forgotten.push("WIDER approval policy: asked untrusted, got on-request");
    }
    assert_eq!(told(&wide, &bare, &stage), forgotten);
    client.close().await;
    drop(codex);

    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    for (thread, settings) in [(&narrow_thread, &narrow), (&wide_thread, &wide)] {
        let opened = client.server.resume_thread(thread, settings).await.unwrap();
        assert_eq!((&opened.id, opened.differences), (thread, vec![]));
        turn(&mut client, thread, settings, "the second word").await;
    }
    let request = last_request(&stage).to_string();
    for part in ["the first word", "the second word", "Mind the oats.", "gpt-5.4"] {
        assert!(request.contains(part), "{part}: {request}");
    }
    client.close().await;
}

#[rstest]
#[tokio::test]
async fn a_loaded_thread_with_more_rights_than_asked_is_refused(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = world(version);
    let codex = stage.codex().await.unwrap();
    let mut first = stage.client(&codex).await.unwrap();
    let wide = ThreadSettings { sandbox: writable(&stage), ..quiet(&stage) };
    let narrow = ThreadSettings { approval_policy: ApprovalPolicy::Untrusted, ..quiet(&stage) };
    let thread = used_thread(&mut first, &wide).await;

    let second = stage.client(&codex).await.unwrap();
    let error = second.server.resume_thread(&thread, &narrow).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "codex gave thread {thread} more rights than asked: \
             sandbox: asked read-only, got workspace-write; approval policy: asked untrusted, got never"
        )
    );
    let unsubscribe = ThreadUnsubscribe { thread_id: thread.clone() };
    let left = second.server.call(&unsubscribe).await.unwrap();
    assert_eq!(left.status, Some(UnsubscribeStatus::NotSubscribed));
    let joined = second.server.resume_thread(&thread, &wide).await.unwrap();
    assert_eq!((joined.id, joined.differences), (thread.clone(), vec![]));
    turn(&mut first, &thread, &wide, "still at work").await;
    first.close().await;
    second.close().await;
}

#[rstest]
#[tokio::test]
async fn a_fork_has_the_settings_it_is_given(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = world(version);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let wide = ThreadSettings { sandbox: writable(&stage), ..quiet(&stage) };
    let narrow = ThreadSettings {
        model: Some("gpt-5.4".into()),
        approval_policy: ApprovalPolicy::Untrusted,
        ..quiet(&stage)
    };
    let thread = used_thread(&mut client, &wide).await;
    let input = vec![UserInput::Text("the second word".into())];
    let second = client.server.call(&wide.turn_start(thread.clone(), input)).await.unwrap();
    client.turn_end(&thread).await.unwrap();

    for settings in [&narrow, &wide] {
        let fork = client.server.fork_thread(&thread, settings).await.unwrap();
        assert_ne!(fork.id, thread);
        assert_eq!(fork.differences, []);
        assert_eq!(fork.reply.thread.forked_from_id.as_ref(), Some(&thread));
        turn(&mut client, &fork.id, settings, "the fork's word").await;
        let request = last_request(&stage);
        assert_eq!(request["model"] == "gpt-5.4", settings == &narrow);
        let request = request.to_string();
        assert!(request.contains("the second word"), "{request}");
    }

    let first_turn = client
        .seen(|notification| match notification {
            ostler_codex::protocol::Notification::TurnStarted(event) => event.turn.id,
            _ => None,
        })
        .remove(0);
    assert_ne!(Some(&first_turn), second.turn.id.as_ref());
    let fork = client.server.fork_thread_at(&thread, first_turn, &narrow).await;
    if version == "0.166.0" {
        let fork = fork.unwrap();
        assert_eq!(fork.differences, []);
        turn(&mut client, &fork.id, &narrow, "the short fork's word").await;
        let request = last_request(&stage).to_string();
        assert!(request.contains("the first word"), "{request}");
        assert!(!request.contains("the second word"), "{request}");
    } else {
        let error = fork.unwrap_err();
        assert!(matches!(error, OpenError::Unsupported(_)), "{error:?}");
    }
    client.close().await;
}

#[rstest]
#[tokio::test]
async fn an_archived_thread_stays_closed(#[values("0.130.0", "0.142.5", "0.166.0")] version: &str) {
    let stage = world(version);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let settings = quiet(&stage);
    let thread = used_thread(&mut client, &settings).await;
    client.server.archive_thread(&thread).await.unwrap();

    let errors = [
        client.server.resume_thread(&thread, &settings).await.unwrap_err(),
        client.server.fork_thread(&thread, &settings).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(&error, OpenError::Archived { thread: id } if *id == thread), "{error:?}");
    }
    if version != "0.130.0" {
        // Codex's own refusal, should somebody archive the thread between our look and our request.
        let late = client.server.call(&settings.thread_resume(thread.clone())).await.unwrap_err();
        let late = OpenError::from_call_on(&thread, late);
        assert!(matches!(late, OpenError::Archived { .. }), "{late:?}");
    }
    let again = client.server.archive_thread(&thread).await.unwrap_err();
    assert!(matches!(again, OpenError::NotFound { .. }), "{again:?}");
    client.close().await;
}

#[rstest]
#[tokio::test]
async fn a_thread_that_is_not_there_is_not_found(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = world(version);
    let codex = stage.codex().await.unwrap();
    let client = stage.client(&codex).await.unwrap();
    let settings = quiet(&stage);
    let fresh = client.server.start_thread(&settings).await.unwrap().id;
    for id in ["01a1e204-4054-7fe3-9502-fb626e2886a7", "no such id"] {
        let thread = ThreadId::new(id);
        let errors = [
            client.server.resume_thread(&thread, &settings).await.unwrap_err(),
            client.server.fork_thread(&thread, &settings).await.unwrap_err(),
            client.server.archive_thread(&thread).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.to_string(), format!("codex has no thread {id}"));
        }
    }
    // Without a turn a thread has no file yet.
    let error = client.server.resume_thread(&fresh, &settings).await.unwrap_err();
    assert!(matches!(error, OpenError::NotFound { .. }), "{error:?}");
    let nowhere = ThreadSettings { model_provider: Some("nowhere".into()), ..settings.clone() };
    let error = client.server.start_thread(&nowhere).await.unwrap_err();
    assert!(
        matches!(&error, OpenError::Refused(error)
        if error.message.contains("Model provider `nowhere` not found")),
        "{error:?}"
    );
    let error = client.server.start_thread(&ThreadSettings::default()).await.unwrap_err();
    assert!(matches!(error, OpenError::Invalid(_)), "{error:?}");
    client.close().await;
}

#[rstest]
#[tokio::test]
async fn a_thread_open_in_another_process_is_busy(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = world(version);
    let (one, other) = (stage.codex().await.unwrap(), stage.codex().await.unwrap());
    let mut first = stage.client(&one).await.unwrap();
    let second = stage.client(&other).await.unwrap();
    let settings = quiet(&stage);
    let thread = used_thread(&mut first, &settings).await;

    let resumed = second.server.resume_thread(&thread, &settings).await;
    if version == "0.166.0" {
        let errors =
            [resumed.unwrap_err(), second.server.archive_thread(&thread).await.unwrap_err()];
        for error in errors {
            assert!(matches!(error, OpenError::BusyElsewhere { .. }), "{error:?}");
        }
    } else {
        // Older versions have no lock: one writer per thread is for us to keep.
        assert_eq!(resumed.unwrap().id, thread);
    }
    first.close().await;
    second.close().await;
}

/// Codex refuses a thread that it is putting away at that moment. Only 0.166.0 can be told to do so at once.
#[tokio::test]
async fn a_thread_that_is_being_put_away_is_opened_when_that_is_done() {
    let stage = world("0.166.0");
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let mut settings = quiet(&stage);
    settings.config.insert("thread_unload_delay_secs", 0);
    let thread = used_thread(&mut client, &settings).await;
    for _ in 0..200 {
        let unsubscribe = ThreadUnsubscribe { thread_id: thread.clone() };
        client.server.call(&unsubscribe).await.unwrap();
        let resumed = client.server.resume_thread(&thread, &settings).await;
        assert_eq!(resumed.unwrap().id, thread);
    }
    client.close().await;
}

#[rstest]
#[tokio::test]
async fn an_older_codex_does_not_touch_a_newer_one_s_thread(
    #[values("0.130.0", "0.142.5")] older: &str,
) {
    let stage = world("0.166.0");
    let settings = quiet(&stage);
    let newer = stage.codex().await.unwrap();
    let mut client = stage.client(&newer).await.unwrap();
    let thread = used_thread(&mut client, &settings).await;
    client.close().await;
    drop(newer);

    let codex = stage.codex_of(older).await.unwrap();
    let client = stage.client(&codex).await.unwrap();
    assert_eq!(client.server.version().to_string(), older);
    let errors = [
        client.server.resume_thread(&thread, &settings).await.unwrap_err(),
        client.server.fork_thread(&thread, &settings).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(
            error.to_string(),
            format!(
                "thread {thread} was made by codex 0.166.0, and codex {older} would damage it; \
                 use codex 0.166.0 or later"
            )
        );
    }
    client.close().await;
    drop(codex);

    let newer = stage.codex().await.unwrap();
    let mut client = stage.client(&newer).await.unwrap();
    client.server.resume_thread(&thread, &settings).await.unwrap();
    turn(&mut client, &thread, &settings, "unharmed").await;
    client.close().await;
}

#[rstest]
#[tokio::test]
async fn whoever_joins_a_thread_at_work_learns_its_turn(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
) {
    let stage = stage(version, vec![command(LEAVES_A_LINE), text("Never said.")]);
    let codex = stage.codex().await.unwrap();
    let mut first = stage.client(&codex).await.unwrap();
    let settings = ThreadSettings {
        approval_policy: ApprovalPolicy::Untrusted,
        sandbox: SandboxPolicy::DangerFullAccess,
        ..quiet(&stage)
    };
    let thread = first.server.start_thread(&settings).await.unwrap().id;
    let input = vec![UserInput::Text(PROMPT.to_owned())];
    let started = first.server.call(&settings.turn_start(thread.clone(), input)).await.unwrap();
    first.question().await.unwrap();

    let second = stage.client(&codex).await.unwrap();
    let joined = second.server.resume_thread(&thread, &settings).await.unwrap();
    assert_eq!((joined.id, joined.active_turn), (thread, started.turn.id));
    first.close().await;
    second.close().await;
}

/// What an app-server leaves that is killed while it begins the file of a thread.
#[rstest]
#[tokio::test]
async fn a_thread_whose_file_was_only_begun_is_none(
    #[values("0.130.0", "0.142.5", "0.166.0")] version: &str,
    #[values(0, 40)] bytes: u64,
) {
    let stage = world(version);
    let settings = quiet(&stage);
    let codex = stage.codex().await.unwrap();
    let mut client = stage.client(&codex).await.unwrap();
    let thread = used_thread(&mut client, &settings).await;
    client.close().await;
    drop(codex);
    let file = ostler_codex::rollout::find(&stage.codex_home(), &thread).unwrap();
    std::fs::File::options().write(true).open(file).unwrap().set_len(bytes).unwrap();

    let codex = stage.codex().await.unwrap();
    let client = stage.client(&codex).await.unwrap();
    let error = client.server.resume_thread(&thread, &settings).await.unwrap_err();
    assert!(matches!(error, OpenError::NotFound { .. }), "{error}");
    client.close().await;
}
