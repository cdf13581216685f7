//! `list --long`, conditions on attributes, and sorting beyond the memory limit.

use std::fs::{File, FileTimes};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use megadir_testkit::require;
use megadir_testkit::tree::Flat;

use crate::support::{fill, named, root, run, run_as_nobody, scratch, set, shell, unprivileged};

/// Creates a file with this size and modification time.
fn file(directory: &Path, name: &str, bytes: u64, modified: SystemTime) {
    let file = File::create(directory.join(name)).unwrap();
    file.set_len(bytes).unwrap();
    file.set_times(FileTimes::new().set_modified(modified)).unwrap();
}

#[test]
fn fields_match_the_inode() {
    let scratch = scratch();
    file(scratch.path(), "old", 5, UNIX_EPOCH - Duration::from_millis(1500));
    file(scratch.path(), "new", 1 << 40, UNIX_EPOCH + Duration::new(1_767_323_045, 678_901_234));
    fill(scratch.path(), &["sub/"]);
    let fields = "name,type,size,mtime,mode,links,inode,device";
    let lines = run(scratch.path(), &["list", "--fields", fields, "--time-style", "epoch"]).lines();
    assert_eq!(lines.len(), 3);
    for line in lines {
        let line = String::from_utf8(line).unwrap();
        let values: Vec<&str> = line.split('\t').collect();
        let metadata = std::fs::symlink_metadata(scratch.path().join(values[0])).unwrap();
        let (kind, mode, time) = match values[0] {
            "old" => ("file", "-rw-r--r--", "-1.500000000"),
            "new" => ("file", "-rw-r--r--", "1767323045.678901234"),
            _ => ("directory", "drwxr-xr-x", values[3]),
        };
        let device = format!("{}:{}", rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
        let (size, links) = (metadata.len().to_string(), metadata.nlink().to_string());
        let inode = metadata.ino().to_string();
        assert_eq!(values[1..], [kind, &size, time, mode, &links, &inode, &device], "{line}");
    }
}

#[test]
fn json_has_the_name_the_chosen_fields_and_null_for_unknown_ones() {
    let scratch = scratch();
    file(scratch.path(), "a", 8_796_093_022_209, UNIX_EPOCH + Duration::from_secs(4_102_444_800 * 2));
    let lines = run(scratch.path(), &["list", "--json", "--fields", "size,mtime,btime"]).lines();
    let line: serde_json::Value = serde_json::from_slice(&lines[0]).unwrap();
    assert_eq!(line["name"], "a");
    assert_eq!(line["size"].as_u64(), Some(8_796_093_022_209));
    assert_eq!(line["mtime"], "2230-01-02T00:00:00.000000000Z");
    assert!(line.get("btime").is_some());
    // Files in /proc have no birth time.
    let lines =
        run(Path::new("/proc/self"), &["list", "--json", "--fields", "btime", "-g", "status"]).lines();
    let line: serde_json::Value = serde_json::from_slice(&lines[0]).unwrap();
    assert!(line["btime"].is_null(), "{line}");
    let lines = run(Path::new("/proc/self"), &["list", "--fields", "btime,name", "-g", "status"]).lines();
    assert_eq!(lines, [b"\tstatus"]);
}

#[test]
fn conditions_choose_by_age_size_and_owner() {
    let scratch = scratch();
    let ago = |days: u64| SystemTime::now() - Duration::from_secs(days * 86_400);
    file(scratch.path(), "month", 100, ago(31));
    file(scratch.path(), "week", 5000, ago(8));
    file(scratch.path(), "today", 0, ago(0));
    for (options, names) in [
        (&["--older-than", "30d"][..], &["month"][..]),
        (&["--newer-than", "30d"], &["week", "today"]),
        (&["--older-than", "1w", "--newer-than", "30d"], &["week"]),
        (&["--larger-than", "0"], &["month", "week"]),
        (&["--smaller-than", "1k"], &["month", "today"]),
        (&["--larger-than", "99", "--smaller-than", "101"], &["month"]),
        (&["--owner", "4294967294"], &[]),
    ] {
        let all: Vec<&str> = ["list"].iter().chain(options).copied().collect();
        assert_eq!(set(run(scratch.path(), &all).lines()), named(names), "{options:?}");
        let counted: Vec<&str> = all.iter().chain(&["--count"]).copied().collect();
        assert_eq!(run(scratch.path(), &counted).lines(), [names.len().to_string().into_bytes()]);
        let below: Vec<&str> = ["list", "-r", "."].iter().chain(options).copied().collect();
        assert_eq!(run(scratch.path(), &below).lines().len(), names.len(), "{options:?}");
    }
    let mine = rustix::process::getuid().as_raw().to_string();
    assert_eq!(run(scratch.path(), &["list", "--owner", &mine]).lines().len(), 3);
}

#[test]
fn sizes_and_times_sort_from_the_largest_and_the_newest_down() {
    let scratch = scratch();
    for (index, size) in [3u64, 1 << 43, 0, 3, 77].into_iter().enumerate() {
        let modified = UNIX_EPOCH + Duration::from_secs(1_000_000_000) - Duration::from_secs(index as u64);
        file(scratch.path(), &format!("f{index}"), size, modified);
    }
    file(scratch.path(), "before", 2, UNIX_EPOCH - Duration::from_secs(10));
    let by_size = run(scratch.path(), &["list", "--sort", "size"]).lines();
    assert_eq!(by_size, ["f1", "f4", "f0", "f3", "before", "f2"].map(|name| name.as_bytes().to_vec()));
    let by_time = run(scratch.path(), &["list", "--sort", "mtime", "-n", "2"]).lines();
    assert_eq!(by_time, ["f0", "f1"].map(|name| name.as_bytes().to_vec()));
    let last = run(scratch.path(), &["list", "--sort", "mtime"]).lines().pop();
    assert_eq!(last, Some(b"before".to_vec()));
}

#[test]
fn external_sort_equals_sort_in_memory() {
    let scratch = scratch();
    let directory = Flat::plain(30_000).ensure(scratch.path());
    for sort in ["name", "inode", "size", "mtime"] {
        let list = |memory| {
            let all = ["list", "--long", "--time-style", "epoch", "--sort", sort, "--memory", memory];
            run(&directory, &all).lines()
        };
        let (spilled, in_memory) = (list("1MiB"), list("1GiB"));
        assert_eq!(spilled.len(), 30_000);
        assert!(spilled == in_memory, "{sort}");
    }
    let sorted = run(&directory, &["list", "--sort", "name"]).lines();
    assert!(run(&directory, &["list", "--sort", "name", "--memory", "1MiB"]).lines() == sorted);
}

#[test]
fn a_sort_that_cannot_spill_prints_nothing_as_if_it_were_sorted() {
    let scratch = scratch();
    Flat::plain(30_000).build(&scratch.path().join("d"));
    fill(scratch.path(), &["e/", "e/x"]);
    for sort in ["size", "name"] {
        let line = format!("TMPDIR=/missing $M list --long --sort {sort} --memory 1MiB d e");
        let ran = shell(scratch.path(), &line);
        ran.complains(3, &["temporary files in '/missing'", "No such file or directory; nothing was listed"]);
        assert_eq!(ran.out, b"", "{sort}");
    }
}

#[test]
fn objects_with_attributes_contain_those_without() {
    let scratch = scratch();
    file(scratch.path(), "a", 5, UNIX_EPOCH);
    let line = |options: &[&str]| {
        let all: Vec<&str> = ["list", "--json"].iter().chain(options).copied().collect();
        String::from_utf8(run(scratch.path(), &all).lines().remove(0)).unwrap()
    };
    let plain = line(&[]);
    let with = line(&["--fields", "size"]);
    assert_eq!(with, format!("{},\"size\":5}}", &plain[..plain.len() - 1]));
    assert_eq!(line(&["--fields", "inode,size"]).matches("\"inode\":").count(), 1);
}

#[test]
fn a_terminal_gets_aligned_columns() {
    require!(crate::support::have("script"));
    let scratch = scratch();
    file(scratch.path(), "a", 1, UNIX_EPOCH);
    file(scratch.path(), "b", 1_234_567, UNIX_EPOCH);
    let program = crate::support::program().display();
    let line = format!("script -qec '{program} list --fields size,name --sort name --human' /dev/null");
    let shown = String::from_utf8(shell(scratch.path(), &line).out).unwrap();
    assert_eq!(shown.lines().map(str::trim_end).collect::<Vec<_>>(), ["   1 a", "1.2M b"]);
    let line = format!("script -qec '{program} list --fields mtime,name --sort name' /dev/null");
    let shown = String::from_utf8(shell(scratch.path(), &line).out).unwrap();
    assert!(shown.starts_with("1970-01-01T00:00:00Z a"), "no nanoseconds for people: {shown}");
}

#[test]
fn entries_without_permission_are_listed_and_reported_once() {
    require!(root());
    let scratch = scratch();
    let program = require!(unprivileged(&scratch));
    fill(scratch.path(), &["d/", "d/a", "d/b"]);
    // Readable but not searchable: names without attributes.
    std::fs::set_permissions(scratch.path().join("d"), std::os::unix::fs::PermissionsExt::from_mode(0o744))
        .unwrap();
    let ran = run_as_nobody(&program, scratch.path(), &["list", "--fields", "name,size", "d"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert_eq!(set(crate::support::split(&ran.out, b'\n')), named(&["a\t", "b\t"]));
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains("and 1 more there: Permission denied"), "{}", ran.err);
}

#[test]
fn bad_words_are_refused_in_one_line() {
    let scratch = scratch();
    for (options, words) in [
        (&["--fields", "sise"][..], &["'sise'", "did you mean 'size'?"][..]),
        (&["--fields", "colour"], &["expected one of name, type, size"]),
        (&["--older-than", "30"], &["'30' is not a length of time: write 90s"]),
        (&["--older-than", "1x"], &["is not a length of time"]),
        (&["--older-than", "1M"], &["in lower case"]),
        (&["--fields", "size,name,size"], &["'size' appears twice"]),
        (&["--json", "--long", "--human"], &["--json prints exact values"]),
        (&["--json", "--long", "--time-style", "relative"], &["--json prints exact values"]),
        (&["--owner", "99999999999"], &["too large for a user ID"]),
        (&["--owner", "no-such-user-here"], &["no user has this name"]),
        (&["--human"], &["need --long"]),
        (&["--time-style", "epoch"], &["need --long"]),
        (&["--memory", "1MiB"], &["--memory needs --sort"]),
        (&["--sort", "name", "--memory", "10"], &["write 1MiB or more"]),
        (&["--raw", "--long"], &["--raw"]),
        (&["--raw", "--larger-than", "1"], &["--raw"]),
        (&["--count", "--long"], &["--count"]),
        (&["--estimate", "--older-than", "1d"], &["--estimate"]),
    ] {
        let all: Vec<&str> = ["list"].iter().chain(options).copied().collect();
        run(scratch.path(), &all).complains(2, words);
    }
}
