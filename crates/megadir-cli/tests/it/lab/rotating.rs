//! `megadir bench run --disk rotating`: a study on the model of a disk, its counts in the record, and nothing left after every kill.

use std::path::Path;
use std::process::Command;

use megadir_record::Record;
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;

use super::running::{Phase, Running, scratch};
use super::support::{assert_nothing_left, copy_for_all, descendants, privileged, soon};
use crate::support::{output_of, text};

/// A quick drive, so that remounts take little time.
const RUN: [&str; 13] = [
    "listing",
    "--quick",
    "--entries",
    "1000",
    "--rounds",
    "11",
    "--buffer",
    "4KiB",
    "--cache",
    "fs-cold",
    "--fs",
    "ext4",
    "--disk=rotating:rpm=15000,seek_ms=3.4",
];

fn fuse() -> Result<(), String> {
    privileged()?;
    Path::new("/dev/fuse").exists().then_some(()).ok_or_else(|| "this kernel has no FUSE".to_owned())
}

/// Processes below the run that serve a modelled disk.
fn servers(run: &Running) -> Vec<u32> {
    let is_server = |process: &u32| {
        let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        words.windows(b"bench\0worker\0disk\0".len()).any(|words| words == b"bench\0worker\0disk\0")
    };
    descendants(run.id()).into_iter().map(|(process, _)| process).filter(is_server).collect()
}

fn have_ended(servers: &[u32]) -> bool {
    servers.iter().all(|server| !Path::new(&format!("/proc/{server}")).exists())
}

fn read(run: &Running) -> Record {
    let file = std::fs::File::open(run.record()).expect("there");
    megadir_record::jsonl::read(std::io::BufReader::new(file)).expect("a record")
}

#[test]
fn a_study_on_the_model_of_a_disk_records_every_parameter_and_the_seeks() {
    require!(fuse());
    let mut run = Running::start(&RUN);
    run.wait_for("measuring", |run| run.blocks() > 3);
    let servers = servers(&run);
    assert_eq!(servers.len(), 1);
    let (status, errors) = run.finish();
    assert!(status.success(), "{errors}");
    assert!(errors.contains(" and the seeks of the disk"), "{errors}");
    assert!(have_ended(&servers));
    let record = read(&run);
    let disk = record.header.plan.file_systems[0].disk.as_ref().expect("recorded");
    assert!(disk.is_model && disk.memory_bytes.is_none() && disk.expected_bytes.is_none(), "{disk:?}");
    let parameters =
        "rotating:rpm=15000,seek_ms=3.4,settle_ms=0.8,size=1T,queue=32,rate=172M,cache=64M,rotational=1";
    assert_eq!(disk.name, parameters);
    let counts = record.end.as_ref().expect("it ended").disks[0].counts.expect("counted");
    let mut of_blocks = 0;
    for sample in &record.samples {
        let disk = sample.disk.as_deref().expect("each block is counted");
        // Each block begins uncached, with one thread: no block is quicker than its reads on the disk.
        assert!(disk.requests > 0 && disk.read_bytes > 0 && disk.busy_ns > 0, "{disk:?}");
        assert!(sample.elapsed_ns > disk.busy_ns / 2, "{sample:?}");
        of_blocks += disk.requests;
    }
    assert!(counts.requests > of_blocks && counts.seeks > 0, "{counts:?}, {of_blocks}");
    let path = run.record();
    let path = path.to_str().expect("UTF-8");
    for format in [&["--verbose"][..], &["--format", "markdown"], &["--format", "html"]] {
        let report = output_of(".", &[&["bench", "report", path], format].concat());
        let report = text(&report.stdout);
        assert!(report.contains("MODEL of a disk"), "{format:?}: {report}");
        assert!(report.contains("seeks"), "{format:?}: {report}");
        assert!(
            !report.contains("disks in memory") && !report.contains("may cache it"),
            "{format:?}: {report}"
        );
    }
    let csv = output_of(".", &["bench", "report", path, "--format", "csv"]);
    let header = text(&csv.stdout).lines().next().unwrap_or_default().to_owned();
    assert!(header.contains("disk_requests,disk_seeks,disk_busy_ns"), "{header}");
}

#[test]
fn after_a_kill_neither_the_server_nor_its_image_is_left() {
    require!(fuse());
    let phases: [Phase<'_>; 4] = [
        ("a server started", &|run| !servers(run).is_empty()),
        ("data made", &|run| run.files_made() > 100),
        ("measuring", &|run| run.blocks() > 3),
        ("unmounting at the end", &Running::has_ended),
    ];
    for (phase, reached) in phases {
        let mut run = Running::start(&RUN);
        run.wait_for(phase, reached);
        let servers = servers(&run);
        run.child.kill().expect("it runs");
        run.finish();
        soon(&format!("{phase}: a server is left: {servers:?}"), || have_ended(&servers));
        assert_nothing_left(&run.below(), phase);
    }
}

#[test]
fn a_run_whose_server_is_killed_fails_in_one_line_and_ends() {
    require!(fuse());
    let mut run = Running::start(&RUN);
    run.wait_for("measuring", |run| run.blocks() > 3);
    for server in servers(&run) {
        let process = rustix::process::Pid::from_raw(server.cast_signed()).expect("a process");
        rustix::process::kill_process(process, rustix::process::Signal::KILL).expect("it runs");
    }
    let (status, errors) = run.finish();
    assert!(!status.success(), "{errors}");
    assert!(errors.contains("the process that serves the modelled disk of ext4 has ended"), "{errors}");
    let end = read(&run).end;
    assert!(end.is_none_or(|end| !end.complete), "{errors}");
    assert_nothing_left(&run.below(), "the server was killed");
}

#[test]
fn without_privileges_one_line_names_the_capability() {
    let scratch = scratch();
    let copy = copy_for_all(scratch.path());
    let refused = unprivileged(|| {
        let mut command = Command::new(&copy);
        command.args(["bench", "run", "lookup", "--quick", "--fs", "ext4", "--disk", "rotating"]);
        command.current_dir(scratch.path()).output().expect("the program starts")
    });
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{message}");
    assert!(message.contains("CAP_SYS_ADMIN") && message.lines().count() == 1, "{message}");
}
