//! The study `container`, and groups of commands that make containers which are read.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;
use std::time::{Duration, Instant};

use megadir_record::jsonl::read;
use megadir_record::{Container, Phase, ReadOperation, Record, Work};
use megadir_testkit::require;
use megadir_testkit::require::have;

use crate::support::{
    caches_are_kept, megadir, notes, output_of, root, run_as_nobody, scratch, text, unprivileged,
};

const STUDY: &str = include_str!("../../../megadir-bench/studies/container.toml");

/// The study without warm-up, which takes seconds.
fn study(directory: &Path) {
    let study = STUDY.replace("warm_up_s_max = 3", "warm_up_s_max = 0");
    assert_ne!(study, STUDY);
    // Keep rounds valid on a shared machine.
    let study = study.replace("stolen_fraction_max = 0.05", "stolen_fraction_max = 0.999");
    std::fs::write(directory.join("container.toml"), study).expect("written");
}

fn record(path: &Path) -> Record {
    read(BufReader::new(std::fs::File::open(path).expect("a record"))).expect("a record that can be read")
}

fn tools() -> Result<(), String> {
    root()?;
    ["mksquashfs", "mkfs.erofs", "sqlite3", "bsdtar"].into_iter().try_for_each(have)
}

#[test]
fn every_container_has_the_files_of_the_data_set() {
    require!(tools());
    let scratch = tempfile::tempdir().expect("a directory");
    study(scratch.path());
    let words =
        ["bench", "run", "container.toml", "--quick", "--entries", "150", "--rounds", "2", "-o", "record"];
    let output = output_of(scratch.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record = record(&scratch.path().join("record"));
    for kind in ["arm-left-out", "program-failed", "unequal-work", "data-changed"] {
        assert_eq!(notes(&record, kind), [""; 0], "{kind}");
    }
    let space = notes(&record, "containers");
    assert!(space[0].contains("files ") && space[0].contains(" in 151 inodes"), "{space:?}");
    assert!(space[0].contains("SQLite ") && space[0].contains(" in 1 inode"), "{space:?}");
    let mut seen = BTreeSet::new();
    for arm in &record.header.plan.arms {
        let Work::Command(work) = &arm.work else { panic!("{arm:?}") };
        let samples = record.samples.iter().filter(|sample| sample.arm == arm.id);
        let measured: Vec<_> = samples.filter(|sample| sample.phase == Phase::Measure).collect();
        assert_eq!(measured.len(), 2, "{}", arm.name);
        let Some(reading) = &work.reading else { continue };
        seen.insert((reading.container.name(), reading.operation.name()));
        let files = if reading.operation == ReadOperation::First { 1 } else { 150 };
        assert!(measured.iter().all(|sample| sample.counted.entries == files), "{measured:?}");
        // Passes find the same names with the same contents or sizes in all containers.
        let is_pass = matches!(reading.operation, ReadOperation::All | ReadOperation::List);
        assert!(measured.iter().all(|sample| (sample.counted.hash != 0) == is_pass), "{measured:?}");
    }
    assert_eq!(seen.len(), Container::ALL.len() * ReadOperation::ALL.len(), "{seen:?}");
    // The containers are gone with the run's own directory.
    let left: BTreeSet<_> = std::fs::read_dir(&scratch)
        .expect("listed")
        .map(|entry| entry.expect("listed").file_name().into_string().expect("UTF-8"))
        .collect();
    let expected = ["container.toml", "record", "record.html"].map(str::to_owned);
    assert_eq!(left, BTreeSet::from(expected));
}

/// A group of a study file that reads containers, with these arms.
fn group(operation: &str, arms: &str) -> String {
    let (head, _) = STUDY.split_once("[[command.groups]]").expect("groups");
    let head = head.replace("warm_up_s_max = 3", "warm_up_s_max = 0");
    format!(
        "{head}[[command.groups]]\nname = \"own\"\ntitle = \"Which?\"\nread = \"{operation}\"\narms = [\n{arms}\n]\n"
    )
}

#[test]
fn containers_with_other_files_are_left_out() {
    let copy = "{ name = 'copy', container = 'directory', run = \"sh -c 'cp -r \\\"$1\\\" \\\"$2\\\"; REST' sh {dir} {out}\" }";
    let lacks = "cd \\\"$2\\\" && rm $(ls | head -n 1)";
    let other = "cd \\\"$2\\\" && for file in *; do echo x > $file; done";
    let more = "echo x > \\\"$2\\\"/more";
    let none = "rm -r \\\"$2\\\"";
    for (operation, rest, expected) in [
        ("all", lacks, "its work is unequal: 49 files, 50 expected"),
        ("list", more, "its work is unequal: 51 files, 50 expected"),
        ("random", other, "the container has other contents for '"),
        ("first", other, "the container has other contents for '"),
        ("random", none, "it makes no container at the path {out}"),
    ] {
        let scratch = tempfile::tempdir().expect("a directory");
        let arms = format!(
            "{{ name = 'files', container = 'directory' }},\n{},\n{}",
            copy.replace("REST", "true"),
            copy.replace("'copy'", "'wrong'").replace("REST", rest)
        );
        std::fs::write(scratch.path().join("own.toml"), group(operation, &arms)).expect("written");
        let words =
            ["bench", "run", "own.toml", "--quick", "--entries", "50", "--rounds", "2", "-o", "record"];
        let output = output_of(scratch.path(), &words);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{errors}");
        let record = record(&scratch.path().join("record"));
        let left_out = notes(&record, "arm-left-out");
        assert_eq!(left_out.len(), 1, "{left_out:?}");
        // The missing file may be one of those that are compared first.
        let is_missing = rest == lacks && left_out[0].contains("the container lacks '");
        assert!(left_out[0].contains("`wrong`"), "{left_out:?}");
        assert!(is_missing || left_out[0].contains(expected), "{left_out:?}");
        let names: Vec<&str> = record.header.plan.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["files", "files (itself)", "copy"]);
    }
}

#[test]
fn impossible_groups_of_containers_are_refused_in_one_line() {
    let scratch = tempfile::tempdir().expect("a directory");
    let files = "{ container = 'directory' }";
    let cases = [
        (group("random", "{ run = 'tar -cf {out} {dir}' }"), "so each arm needs `container`"),
        (group("random", "{ container = 'zip' }"), "has a container without a program that makes it"),
        (group("random", "{ container = 'zip', run = 'zip {dir}' }"), "has a program that makes no `{out}`"),
        (group("random", "{ container = 'rar', run = 'rar {out}' }"), "unknown value 'rar'"),
        (group("some", files), "unknown value 'some'"),
        (
            group("all", files).replace("read =", "output = \"null\"\nread ="),
            "so it cannot have `same`, `changes`, `prepare` or `output`",
        ),
        (group("all", files).replace("read =", "reads = 0\nread ="), "has reads = 0"),
        (
            group("all", files).replace("read = \"all\"\n", ""),
            "an arm with `container` or `layout`, which are for groups with `read`",
        ),
        (
            group("all", "{ container = 'zip', layout = 'prefix:2', run = 'zip {out}' }"),
            "has a `layout` of a container that is no directory",
        ),
        (
            group("all", "{ container = 'directory', layout = 'prefix:0', run = 'cp {out}' }"),
            "has an impossible layout",
        ),
    ];
    for (study, expected) in cases {
        std::fs::write(scratch.path().join("own.toml"), study).expect("written");
        let output = output_of(scratch.path(), &["bench", "run", "own.toml", "--quick", "--dry-run"]);
        let errors = text(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(expected), "{expected}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    // Nothing is written beside files of the user.
    std::fs::create_dir(scratch.path().join("mine")).expect("made");
    (0..1000).for_each(|number| {
        std::fs::write(scratch.path().join(format!("mine/{number}")), "").expect("written");
    });
    let output = output_of(scratch.path(), &["bench", "run", "container", "--dry-run", "--dir", "mine"]);
    let errors = text(&output.stderr);
    assert!(output.status.code() != Some(0) && errors.contains("the directory is yours"), "{errors}");
}

#[test]
fn cold_reads_come_from_the_device_in_every_container() {
    let _caches = caches_are_kept();
    require!(tools());
    require!(have("mkfs.ext4"));
    let scratch = tempfile::tempdir().expect("a directory");
    study(scratch.path());
    let words = ["bench", "run", "container.toml", "--quick", "--entries", "300", "--rounds", "11"];
    let cold =
        ["--group", "random,first,all,list", "--cache", "warm,fs-cold", "--fs", "ext4", "-o", "record"];
    let output = output_of(scratch.path(), &[&words[..], &cold].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record = record(&scratch.path().join("record"));
    for arm in &record.header.plan.arms {
        let samples = record.samples.iter().filter(|sample| sample.arm == arm.id);
        let read: Vec<_> =
            samples.filter(|sample| sample.phase == Phase::Measure).map(|sample| sample.read_bytes).collect();
        let Work::Command(work) = &arm.work else { panic!("{arm:?}") };
        let reading = work.reading.as_ref().expect("a read");
        let is_image = matches!(reading.container, Container::Squashfs | Container::Erofs);
        // The index of a small database is all of it, and is read when the database is opened, untimed. A new loop device has
        // an empty cache of its own, above the cached image.
        let is_uncertain = match arm.cache.is_cold() {
            true => reading.operation == ReadOperation::Random && reading.container == Container::Sqlite,
            false => reading.operation == ReadOperation::First && is_image,
        };
        let expected = |bytes: &Option<u64>| (*bytes > Some(0)) == arm.cache.is_cold();
        assert!(is_uncertain || read.iter().all(expected), "{}: {read:?}", arm.name);
    }
}

/// Loop devices whose image lies below the directory.
fn loop_devices_below(directory: &Path) -> usize {
    let devices = std::fs::read_dir("/sys/block").expect("listed").filter_map(Result::ok);
    let images =
        devices.filter_map(|device| std::fs::read_to_string(device.path().join("loop/backing_file")).ok());
    images.filter(|image| image.starts_with(directory.to_str().expect("UTF-8"))).count()
}

#[test]
fn a_killed_run_leaves_no_mount_and_no_loop_device() {
    require!(tools());
    let scratch = tempfile::tempdir().expect("a directory");
    study(scratch.path());
    let words = ["bench", "run", "container.toml", "--quick", "--group", "list,all", "--rounds", "2000"];
    let mut run = megadir(scratch.path(), &[&words[..], &["-o", "record"]].concat());
    let mut run =
        run.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().expect("starts");
    let deadline = Instant::now() + Duration::from_secs(120);
    while loop_devices_below(scratch.path()) == 0 {
        assert!(
            Instant::now() < deadline && run.try_wait().expect("a child").is_none(),
            "no image was mounted"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    run.kill().expect("killed");
    run.wait().expect("ended");
    let deadline = Instant::now() + Duration::from_secs(30);
    while loop_devices_below(scratch.path()) > 0 {
        assert!(Instant::now() < deadline, "a loop device is left");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mounts = std::fs::read_to_string("/proc/mounts").expect("read");
    assert!(!mounts.contains(scratch.path().to_str().expect("UTF-8")), "{mounts}");
    assert_eq!(output_of(scratch.path(), &["bench", "clean"]).status.code(), Some(0));
}

#[test]
fn ordinary_users_measure_all_containers_but_images() {
    require!(tools());
    let scratch = scratch();
    let program = require!(unprivileged(&scratch));
    let below = scratch.path().join("below");
    std::fs::create_dir(&below).expect("made");
    std::fs::set_permissions(&below, std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .expect("open to all");
    study(&below);
    let words =
        ["bench", "run", "container.toml", "--quick", "--entries", "50", "--rounds", "2", "-o", "record"];
    let ran = run_as_nobody(&program, &below, &words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let record = record(&below.join("record"));
    let left_out = notes(&record, "arm-left-out");
    // Two images, four kinds of reads.
    assert_eq!(left_out.len(), 8, "{left_out:?}");
    assert!(left_out.iter().all(|note| note.contains("mounting its image needs root")), "{left_out:?}");
    assert!(!notes(&record, "containers")[0].contains("EROFS"));
}

#[test]
fn data_sets_have_containers_of_their_own() {
    let scratch = tempfile::tempdir().expect("a directory");
    let arms = "{ name = 'files', container = 'directory' },\n{ name = 'copy', container = 'directory', run = 'cp -r {dir} {out}' }";
    std::fs::write(scratch.path().join("own.toml"), group("all", arms)).expect("written");
    let words =
        ["bench", "run", "own.toml", "--quick", "--entries", "40,50", "--rounds", "2", "-o", "record"];
    let output = output_of(scratch.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record = record(&scratch.path().join("record"));
    assert_eq!(notes(&record, "arm-left-out"), [""; 0]);
    let space = notes(&record, "containers")[0];
    assert!(space.contains("copy of 40 ") && space.contains(" in 51 inodes"), "{space}");
    for sample in record.samples.iter().filter(|sample| sample.phase == Phase::Measure) {
        let entries =
            record.header.plan.data[record.header.plan.arms[sample.arm.0 as usize].data.0 as usize].entries;
        assert_eq!(sample.counted.entries, entries, "{sample:?}");
    }
}

#[test]
fn layouts_of_containers_need_files_in_one_directory() {
    let scratch = tempfile::tempdir().expect("a directory");
    let arms = "{ name = 'files', container = 'directory' },\n{ name = 'copy', container = 'directory', run = 'cp -r {dir} {out}' },\n\
        { name = 'deep', container = 'directory', layout = 'prefix:2', run = 'cp -r {dir} {out}' }";
    std::fs::write(scratch.path().join("own.toml"), group("random", arms)).expect("written");
    let words =
        ["bench", "run", "own.toml", "--quick", "--entries", "50", "--rounds", "2", "--layout", "digest:1"];
    let output = output_of(scratch.path(), &[&words[..], &["-o", "record"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let left_out = record(&scratch.path().join("record"));
    let left_out = notes(&left_out, "arm-left-out");
    assert_eq!(left_out, ["`deep`: files in layout prefix:2 are made of files in one directory only."]);
}

#[test]
fn an_interrupt_ends_a_pass_and_leaves_nothing() {
    let scratch = tempfile::tempdir().expect("a directory");
    let arms = "{ name = 'files', container = 'directory' }";
    std::fs::write(scratch.path().join("own.toml"), group("all", arms)).expect("written");
    let words =
        ["bench", "run", "own.toml", "--quick", "--entries", "20000", "--rounds", "5000", "-o", "record"];
    let mut run = megadir(scratch.path(), &words);
    let run =
        run.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().expect("starts");
    let deadline = Instant::now() + Duration::from_secs(120);
    // The record begins after the trial.
    while std::fs::metadata(scratch.path().join("record")).map_or(0, |status| status.len()) == 0 {
        assert!(Instant::now() < deadline, "nothing was measured");
        std::thread::sleep(Duration::from_millis(10));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&run), rustix::process::Signal::INT)
        .expect("sent");
    let output = run.wait_with_output().expect("ended");
    let errors = text(&output.stderr);
    assert!(output.status.code() == Some(130) && !errors.contains("gave up"), "{errors}");
    let left: Vec<_> = std::fs::read_dir(&scratch)
        .expect("listed")
        .map(|entry| entry.expect("listed").file_name())
        .collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("megadir-bench")), "{left:?}");
}
