//! A snapshot makes no system calls, and reports its memory correctly.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use megadir_inventory::Snapshot;
use megadir_inventory::changes::{CompareOptions, Watch};
use megadir_testkit::require;

/// Set in the traced child process.
const TRACED: &str = "MEGADIR_TEST_TRACED";

/// Runs itself under strace; the child looks up and lists between two marks.
#[test]
fn look_ups_make_no_system_call() {
    if let Some(tree) = std::env::var_os(TRACED) {
        let snapshot = Snapshot::from_scan(&[tree.into()], 1).unwrap();
        let _ = fs::metadata("/mark-begin");
        let mut found = 0u64;
        for number in 0..200 {
            found += u64::from(snapshot.facts(0, format!("d/{number}").as_bytes()).is_some());
        }
        found += snapshot.list(0, b"d").unwrap().count() as u64;
        found += u64::from(snapshot.list(0, b"nothing").is_some());
        let _ = fs::metadata("/mark-end");
        assert_eq!(found, 200);
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir(scratch.path().join("d")).unwrap();
    for number in 0..100 {
        fs::write(scratch.path().join(format!("d/{number}")), "").unwrap();
    }
    let trace = scratch.path().join("trace");
    let traced = Command::new("strace")
        .arg("-f")
        .arg("-o")
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "snapshot::look_ups_make_no_system_call", "--test-threads", "1"])
        .env(TRACED, scratch.path())
        .output();
    let traced = megadir_testkit::require!(traced.map_err(|error| format!("strace: {error}")));
    assert!(traced.status.success(), "{traced:?}");
    let trace = fs::read_to_string(trace).unwrap();
    let after = trace.split_once("/mark-begin").unwrap().1;
    let (between, _) = after.split_once("/mark-end").unwrap();
    // Drop the rest of the first mark's line, and the beginning of the second's.
    let calls: Vec<&str> = between.lines().skip(1).collect();
    let other =
        calls[..calls.len() - 1].iter().filter(|call| !call.contains("brk(") && !call.contains("mmap("));
    assert_eq!(other.count(), 0, "{between}");
}

#[test]
fn directory_is_read_once_it_becomes_readable() {
    if !rustix::process::geteuid().is_root() {
        return require::not_run("what_could_not_be_read", "only root can change its user");
    }
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o755)).unwrap();
    fs::create_dir(scratch.path().join("d")).unwrap();
    fs::write(scratch.path().join("d/file"), "").unwrap();
    fs::set_permissions(scratch.path().join("d"), PermissionsExt::from_mode(0o700)).unwrap();
    // No longer racy, so that directories may be skipped.
    std::thread::sleep(std::time::Duration::from_millis(200));
    // With one thread the scan runs as the caller, here an unprivileged user.
    let nobody = || Snapshot::from_scan(&[scratch.path().to_owned()], 1).unwrap();
    let mut snapshot = megadir_testkit::unprivileged::unprivileged(nobody);
    assert!(snapshot.facts(0, b"d/file").is_none() && !snapshot.metadata().is_complete());
    // The directory is unchanged; it is read again only because reading it failed before.
    let exclude = Vec::new();
    let options = CompareOptions {
        threads: 1,
        skip_unchanged: true,
        any_root: false,
        keep: None,
        exclude,
        conditions: None,
        gains: None,
        fresh: false,
    };
    let compared = snapshot.refresh(&options, &Watch::default()).unwrap();
    assert!(compared.is_complete(), "{:?}", compared.failures);
    assert!(snapshot.facts(0, b"d/file").is_some());
}

#[test]
fn an_entry_takes_72_bytes_and_its_name() {
    let scratch = tempfile::tempdir().unwrap();
    let mut names = 0;
    for directory in 0..20 {
        fs::create_dir(scratch.path().join(format!("{directory}"))).unwrap();
        for number in 0..200 {
            let name = format!("{directory:02}-{number:029}");
            names += name.len();
            fs::write(scratch.path().join(format!("{directory}/{name}")), "").unwrap();
        }
    }
    let mut snapshot = None;
    let counted = allocation_counter::measure(|| {
        snapshot = Some(Snapshot::from_scan(&[scratch.path().into()], 1).unwrap());
    });
    let snapshot = snapshot.unwrap();
    let entries = 20 * 200 + 20;
    assert_eq!(snapshot.len(), entries as u64 + 1);
    let heap_bytes = snapshot.heap_bytes();
    let stated = entries * 72 + names + 21 * 300;
    assert!(heap_bytes <= stated && heap_bytes > entries * 72 + names, "{heap_bytes} bytes, {stated} stated");
    // Bytes still allocated, including the roots and small allocations.
    let kept = usize::try_from(counted.bytes_current).unwrap();
    assert!(kept <= stated + 4096 && kept >= heap_bytes, "{kept} bytes kept, {heap_bytes} said");
}
