//! The measurement stays in its directory, leaves nothing behind, ends in time, and survives interrupts and
//! kills; without one, the reason is printed.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use megadir_testkit::mount::{EXT4_1K, Mount, TMPFS};
use megadir_testkit::require;
use serde_json::Value;

use crate::mounts::{MERGERFS, Shown};
use crate::support::{finish, megadir, program, run, run_as_nobody, scratch, unprivileged};

/// Everything below a directory with the attributes that a change would alter. For the work directory and the
/// top, only the contents count, since a directory is created and removed there.
pub(crate) fn everything(top: &Path, work: &Path) -> BTreeMap<PathBuf, (u64, u32, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let status = path.symlink_metadata().unwrap();
            if status.is_dir() {
                open.push(path.clone());
            }
            let changed = if path == work { (0, 0) } else { (status.ctime(), status.ctime_nsec()) };
            found.insert(path, (status.ino(), status.mode(), changed.0, changed.1));
        }
    }
    found
}

/// Creates a work directory with neighbours that must stay untouched, and a link that leads outside.
fn neighbourhood(top: &Path) -> PathBuf {
    let work = top.join("work");
    for directory in ["work/own", "neighbour"] {
        std::fs::create_dir_all(top.join(directory)).unwrap();
        std::fs::write(top.join(directory).join("file"), directory).unwrap();
    }
    std::os::unix::fs::symlink(top.join("neighbour"), work.join("link")).unwrap();
    work
}

/// Waits until the run has created its own directory.
fn wait_for_its_directory(work: &Path, child: &mut Child) {
    let is_there = || {
        let mut entries = std::fs::read_dir(work).unwrap();
        entries.any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with("megadir-bench-"))
    };
    while !is_there() {
        assert!(child.try_wait().unwrap().is_none(), "it ended without measuring anything");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn it_stays_in_its_directory_and_leaves_nothing() {
    for recipe in [&EXT4_1K, &TMPFS] {
        let mount = require!(Mount::make(recipe));
        let work = neighbourhood(&mount.path());
        let before = everything(&mount.path(), &work);
        let arguments = ["advise", "work", "--files", "1M", "--writers", "2", "--time", "3s", "--json"];
        let out = run(&mount.path(), &arguments).quiet();
        let seen: Value = serde_json::from_slice(&out).unwrap();
        // The load of the machine decides which of the two it is.
        assert_ne!(seen["measured"].is_null(), seen["not_measured"].is_null(), "{seen}");
        assert_eq!(everything(&mount.path(), &work), before, "{}", recipe.name);
    }
}

#[test]
fn interrupt_ends_advice_and_removes_its_files() {
    let mount = require!(Mount::make(&TMPFS));
    let work = neighbourhood(&mount.path());
    let before = everything(&mount.path(), &work);
    let arguments = ["advise", "work", "--files", "1M", "--time", "1h"];
    let mut command = megadir(mount.path(), &arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_its_directory(&work, &mut child);
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("interrupted"), "{ended:?}");
    assert_eq!(everything(&mount.path(), &work), before);
}

#[test]
fn next_run_removes_leftovers_of_a_killed_run() {
    let mount = require!(Mount::make(&TMPFS));
    let work = neighbourhood(&mount.path());
    let before = everything(&mount.path(), &work);
    let mut command = megadir(mount.path(), &["advise", "work", "--files", "1M", "--time", "1h"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_its_directory(&work, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(everything(&mount.path(), &work), before);
    run(&mount.path(), &["advise", "work", "--files", "1M", "--time", "2s"]).quiet();
    assert_eq!(everything(&mount.path(), &work), before);
}

#[test]
fn without_permission_or_space_advice_uses_limits_and_states_it() {
    let mount = require!(Mount::make(&EXT4_1K));
    let place = mount.path();
    let open = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    open(place.parent().unwrap());
    std::fs::create_dir(place.join("mine")).unwrap();
    let scratch = scratch();
    let copy = require!(unprivileged(&scratch));
    let out = run_as_nobody(&copy, &place, &["advise", "mine", "--files", "1M"]).quiet();
    let text = String::from_utf8(out).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("digest:2"), "{text}");
    let words = "nothing, so the limits alone decide: no permission to write to the directory";
    assert!(text.contains(words), "{text}");

    let mut small = require!(Mount::make(&TMPFS));
    small.remount(|_| Ok(())).unwrap();
    let options = std::process::Command::new("mount")
        .args(["-o", "remount,nr_inodes=500"])
        .arg(small.path())
        .status()
        .unwrap();
    assert!(options.success());
    let out = run(&small.path(), &["advise", "--files", "1M", "--json"]).quiet();
    let seen: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(seen["not_measured"], "too few inodes are left for 300 files in each layout", "{seen}");
    assert_eq!(seen["shortage"]["limit"], "inodes", "{seen}");
}

#[test]
fn a_page_is_written_where_something_was_measured() {
    let mount = require!(Mount::make(&TMPFS));
    let scratch = scratch();
    let page = scratch.path().join("page.html");
    let report = format!("--report={}", page.display());
    let place = mount.path();
    let arguments = ["advise", place.to_str().unwrap(), "--files", "1M", "--time", "5s", &report];
    let ran = run(scratch.path(), &arguments);
    if ran.err.contains("the time is too short") {
        // The machine is too busy.
        assert_eq!((ran.code, page.exists()), (Some(1), false), "{ran:?}");
        return;
    }
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = std::fs::read_to_string(&page).unwrap();
    for words in ["Which layout is best for these files here?", "digest:"] {
        assert!(text.contains(words), "nothing about {words}");
    }
    // The recommendation is the headline, with nothing before it.
    let (_, main) = text.split_once("<main>").unwrap();
    assert!(main.trim_start().starts_with("<h1>") && text.matches("<h1>").count() == 1, "{main}");
    let (headline, _) = main.split_once("</h1>").unwrap();
    assert!(headline.contains("1.00 M files: "), "{headline}");
    let others = std::fs::read_dir(scratch.path()).unwrap().count();
    assert_eq!(others, 1, "the temporary file is gone");
    run(scratch.path(), &arguments).complains(2, &["page.html", "already exists"]);
}

#[test]
fn advice_is_printed_even_if_the_page_fails() {
    let mount = require!(Mount::make(&TMPFS));
    let scratch = scratch();
    let page = scratch.path().join("page.html");
    let place = mount.path();
    let mut child = megadir(scratch.path(), &["advise", "--files", "1M", "--time", "5s"])
        .arg(format!("--report={}", page.display()))
        .arg(&place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_its_directory(&place, &mut child);
    // Another program takes the name meanwhile.
    std::fs::write(&page, "another's").unwrap();
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(out.contains("1.00 M files: ") && out.contains("  path  "), "{out}{err}");
    let words = ["cannot write the report", "the time is too short"];
    assert!(words.iter().any(|words| err.contains(words)), "{err}");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "another's");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1, "the temporary file is gone");
}

/// The answer in a mount namespace where the load average is 64; `None` if the time did not suffice to measure.
fn under_load(directory: &Path, arguments: &[&str]) -> Option<String> {
    let scratch = scratch();
    let load = scratch.path().join("loadavg");
    std::fs::write(&load, "64.00 64.00 64.00 3/100 1\n").unwrap();
    ["5s", "20s", "60s"].iter().find_map(|time| {
        let script = "mount --bind \"$LOAD\" /proc/loadavg && exec \"$M\" advise . --time \"$@\"";
        let mut command = std::process::Command::new("unshare");
        command.args(["--mount", "bash", "-c", script, "bash", time]).args(arguments);
        command.env("LOAD", &load).env("M", program()).env("COLUMNS", "100").current_dir(directory);
        let out = String::from_utf8(finish(&mut command).quiet()).unwrap();
        let words: Vec<&str> = out.split_whitespace().collect();
        Some(words.join(" ")).filter(|text| !text.contains("measured nothing"))
    })
}

#[test]
fn impossibility_precedes_overload_precedes_advice() {
    let mount = require!(Mount::make(&TMPFS));
    const OVERLOAD: &str = "The machine was overloaded: stop other work and run this again.";
    let shown = |arguments: &[&str], order: &[&str]| {
        let text = require!(under_load(&mount.path(), arguments).ok_or("no time to measure".to_owned()));
        let at: Vec<usize> = order
            .iter()
            .map(|words| text.find(words).unwrap_or_else(|| panic!("no {words:?}: {text}")))
            .collect();
        assert!(at.is_sorted(), "{order:?} at {at:?}: {text}");
    };
    shown(
        &["--files", "10M", "--size", "1T"],
        &["they do not fit", OVERLOAD, "With room for them: ", "path"],
    );
    shown(&["--files", "10k"], &[OVERLOAD, "10 000 files: ", "path"]);
    shown(
        &["--files", "20M"],
        &["20.0 M files: ", "times are rough, but they do not decide this answer.", "path"],
    );
}

#[test]
fn nothing_is_left_where_a_handle_lists_the_old_path_of_a_directory() {
    let shown = require!(Shown::mount(MERGERFS, |_| {}));
    let here = shown.here();
    run(shown.at(), &["advise", "--files", "1M", "--time", "5s", "here"]).quiet();
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0);
    let words = "bench run smallfile --quick --entries 50 --rounds 6 --warm-up 1 --dir here -o record.jsonl";
    let ran = run(shown.at(), &words.split(' ').collect::<Vec<_>>());
    assert!(!ran.err.contains("cannot remove"), "{ran:?}");
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0, "{ran:?}");
}

/// Every attempt to remove the directory fails, as if another program kept a file in it.
#[test]
fn advice_is_printed_though_files_of_the_measurement_stay() {
    require!(crate::support::have("strace"));
    let mount = require!(Mount::make(&TMPFS));
    let place = mount.path();
    let scratch = scratch();
    let line = format!(
        "strace -f -qq -o /dev/null -e trace=unlinkat -e inject=unlinkat:error=EBUSY:when=1+ $M advise --files 1M --time 5s {}",
        place.display()
    );
    let ran = crate::support::shell(scratch.path(), &line);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let out = crate::support::text(&ran.out);
    assert!(out.contains("1.00 M files: ") && out.contains("its files could not be removed"), "{ran:?}");
    // By the name that it has.
    let left =
        std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.collect();
    assert!(left.len() == 1 && ran.err.contains(&format!("/{}'", left[0])), "{left:?} {ran:?}");
    run(&place, &["advise", "--files", "1M", "--time", "2s"]).quiet();
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
}
