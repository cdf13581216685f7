//! `megadir bench run --disk rotating`: a study on the model of a disk, its counts in the record, and nothing left after every kill.

use std::path::Path;
use std::process::Command;

use megadir_record::Record;
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;

use super::running::{Running, scratch};
use super::support::{assert_gone, copy_for_all, descendants, loops_below, privileged, soon};
use crate::support::{output_of, text};

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

fn servers(run: &Running) -> Vec<u32> {
    let is_server = |process: &u32| {
        let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        words.windows(b"bench\0worker\0disk\0".len()).any(|words| words == b"bench\0worker\0disk\0")
    };
    descendants(run.id()).into_iter().map(|(process, _)| process).filter(is_server).collect()
}

fn read(run: &Running) -> Record {
    let file = std::fs::File::open(run.record()).expect("there");
    megadir_record::jsonl::read(std::io::BufReader::new(file)).expect("a record")
}

#[test]
fn a_study_on_the_model_of_a_disk_records_every_parameter_and_its_seeks() {
    require!(fuse());
    let mut run = Running::start(&RUN);
    run.wait_for("measuring", |run| run.blocks() > 3);
    let servers = servers(&run);
    assert_eq!(servers.len(), 1);
    let (status, errors) = run.finish();
    assert!(status.success(), "{errors}");
    assert!(servers.iter().all(|server| !Path::new(&format!("/proc/{server}")).exists()));
    let record = read(&run);
    let disk = record.header.plan.file_systems[0].disk.as_ref().expect("recorded");
    assert!(disk.is_model);
    for parameter in
        ["rpm=15000", "seek_ms=3.4", "settle_ms=", "size=1T", "queue=32", "rate=", "cache=", "rotational=1"]
    {
        assert!(disk.name.contains(parameter), "{}", disk.name);
    }
    let counts = record.end.as_ref().expect("it ended").disks[0].counts.expect("counted");
    assert!(counts.seeks > 0 && counts.requests >= counts.seeks / 2 && counts.busy_ns > 0, "{counts:?}");
    // A cold block reads from the disk, and that takes at least as long as the head was busy, with one thread.
    let cold =
        record.samples.iter().find(|sample| sample.disk.as_ref().is_some_and(|disk| disk.read_bytes > 0));
    let cold = cold.expect("a cold block");
    assert!(cold.elapsed_ns > 1_000_000, "{cold:?}");
    for format in ["text", "markdown", "html"] {
        let path = run.record();
        let report = output_of(".", &["bench", "report", path.to_str().expect("UTF-8"), "--format", format]);
        assert!(text(&report.stdout).contains("MODEL of a disk"), "{format}: {}", text(&report.stderr));
    }
}

#[test]
fn after_a_kill_the_server_and_the_loop_device_are_gone() {
    require!(fuse());
    let phases: [(&str, &dyn Fn(&Running) -> bool); 4] = [
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
        soon(&format!("{phase}: a server is left: {servers:?}"), || {
            servers.iter().all(|server| !Path::new(&format!("/proc/{server}")).exists())
        });
        assert_gone(&run.below(), phase);
        assert!(loops_below(&run.below()).is_empty());
    }
}

#[test]
fn without_privileges_one_line_names_the_capabilities_for_every_disk() {
    let scratch = scratch();
    let copy = copy_for_all(scratch.path());
    for disk in ["rotating", "memory"] {
        let refused = unprivileged(|| {
            let mut command = Command::new(&copy);
            command.args(["bench", "run", "lookup", "--quick", "--fs", "ext4", "--disk", disk]);
            command.current_dir(scratch.path()).output().expect("the program starts")
        });
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{message}");
        assert!(message.contains("CAP_SYS_ADMIN") && message.lines().count() == 1, "{message}");
    }
}
