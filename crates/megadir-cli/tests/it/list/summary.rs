//! `list --summary`: figures equal to those computed with `std`, for all trees and ways of reading.

use std::collections::BTreeMap;
use std::fs::{File, FileTimes};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use megadir_testkit::mount::{Mount, TMPFS};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Maker, Names as Scheme};
use serde_json::Value;

use crate::support::{Ran, fill, have, path, root, run, run_as_nobody, scratch, shell, unprivileged};

/// Creates a file with this size and modification time.
pub(crate) fn file(path: &Path, bytes: u64, modified: SystemTime) {
    let file = File::create(path).unwrap();
    file.set_len(bytes).unwrap();
    file.set_times(FileTimes::new().set_modified(modified)).unwrap();
}

fn ago(days: f64) -> SystemTime {
    let away = Duration::from_secs_f64(days.abs() * 86_400.0);
    if days < 0.0 { SystemTime::now() + away } else { SystemTime::now() - away }
}

#[track_caller]
fn parse(ran: &Ran) -> Vec<Value> {
    let text = std::str::from_utf8(&ran.out).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs with `--json`, asserts success and returns the only object.
#[track_caller]
fn summary(directory: &Path, options: &[&str]) -> Value {
    let all: Vec<&str> = ["list", "--json"].iter().chain(options).copied().collect();
    let ran = run(directory, &all);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{options:?}");
    let mut objects = parse(&ran);
    assert_eq!((objects.len(), &objects[0]["v"]), (1, &Value::from(1)));
    objects.remove(0)
}

/// A tree with all file types, sizes over ten powers of ten, times over a century, hard links and difficult
/// names.
fn tree() -> tempfile::TempDir {
    let scratch = scratch();
    let mut directories = vec![scratch.path().join("top")];
    for (index, name) in [&b"sub"[..], b"sub/deep", b"esc\x1b[31m", b"bad\xff", b"empty"].iter().enumerate() {
        directories.push(directories[0].join(path(name)));
        std::fs::create_dir_all(&directories[index + 1]).unwrap();
    }
    for (at, directory) in directories.iter().take(5).enumerate() {
        for index in 0..70u32 {
            let size = if index % 5 == 0 { 0 } else { 3u64.pow(index % 27) + u64::from(index) };
            let modified =
                UNIX_EPOCH + Duration::new(u64::from(index) * 40_000_000 + at as u64, index * 1000);
            file(&directory.join(format!("f{}", index * 7 % 64)), size, modified);
        }
        std::fs::hard_link(directory.join("f1"), directory.join("linked")).unwrap();
        symlink("f1", directory.join("symlink")).unwrap();
        let maker = Maker::open(directory);
        maker.make(b"pipe", megadir::FileType::Fifo);
        maker.make(b"socket", megadir::FileType::Socket);
    }
    scratch
}

/// An entry as `std` sees it.
struct Seen {
    path: PathBuf,
    metadata: std::fs::Metadata,
}

fn by_std(directory: &Path, recursive: bool, entries: &mut Vec<Seen>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        if recursive && metadata.is_dir() {
            by_std(&path, true, entries);
        }
        entries.push(Seen { path, metadata });
    }
}

fn kind(metadata: &std::fs::Metadata) -> &'static str {
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() => "file",
        () if kind.is_dir() => "directory",
        () if kind.is_symlink() => "symlink",
        () if kind.is_fifo() => "fifo",
        () if kind.is_socket() => "socket",
        () => panic!("no such type is made here"),
    }
}

/// Paths of the entries in a list, as bytes.
fn paths(list: &Value) -> Vec<Vec<u8>> {
    let bytes = |entry: &Value, key: &str| match entry[key].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => {
            let hex = entry[format!("{key}_hex")].as_str().unwrap();
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
        }
    };
    let all = list.as_array().unwrap().iter();
    all.map(|entry| [bytes(entry, "dir"), b"/".to_vec(), bytes(entry, "name")].concat()).collect()
}

/// Paths of the first five entries by a key; ties are ordered by path.
fn first_five<K: Ord>(entries: &[Seen], key: impl Fn(&std::fs::Metadata) -> K) -> Vec<Vec<u8>> {
    let keyed = |entry: &Seen| (key(&entry.metadata), entry.path.as_os_str().as_bytes().to_vec());
    let mut sorted: Vec<_> = entries.iter().map(keyed).collect();
    sorted.sort();
    sorted.into_iter().take(5).map(|(_, path)| path).collect()
}

fn sum(entries: &[&Seen]) -> Vec<u64> {
    vec![entries.len() as u64, entries.iter().map(|entry| entry.metadata.len()).sum()]
}

fn figures(of: &Value) -> Vec<u64> {
    ["entries", "bytes"].map(|key| of[key].as_u64().unwrap()).to_vec()
}

/// Compares a summary with the entries as `std` sees them.
#[track_caller]
fn check(summary: &Value, entries: &[Seen]) {
    let all: Vec<&Seen> = entries.iter().collect();
    assert_eq!(figures(summary), sum(&all));
    let mut types: BTreeMap<&str, Vec<&Seen>> = BTreeMap::new();
    entries.iter().for_each(|entry| types.entry(kind(&entry.metadata)).or_default().push(entry));
    let found = summary["types"].as_array().unwrap();
    assert_eq!(found.len(), types.len());
    for of_type in found {
        assert_eq!(figures(of_type), sum(&types[of_type["type"].as_str().unwrap()]), "{of_type}");
    }
    let linked = entries.iter().filter(|entry| entry.metadata.nlink() > 1 && !entry.metadata.is_dir());
    assert_eq!(summary["linked"], linked.count());
    let mut counted = 0;
    for bucket in summary["sizes"].as_array().unwrap() {
        let (from, to) = (bucket["from"].as_u64().unwrap(), bucket["to"].as_u64().unwrap());
        let within = all.iter().filter(|entry| (from..=to).contains(&entry.metadata.len()));
        assert_eq!(figures(bucket), sum(&within.copied().collect::<Vec<_>>()), "{bucket}");
        counted += bucket["entries"].as_u64().unwrap();
    }
    let now_s = summary["now_s"].as_i64().unwrap();
    for bucket in summary["ages"].as_array().unwrap() {
        let ages =
            bucket["from_s"].as_i64().unwrap_or(i64::MIN)..=bucket["to_s"].as_i64().unwrap_or(i64::MAX);
        let within = all.iter().filter(|entry| ages.contains(&(now_s - entry.metadata.mtime())));
        assert_eq!(figures(bucket), sum(&within.copied().collect::<Vec<_>>()), "{bucket}");
        counted += bucket["entries"].as_u64().unwrap();
    }
    assert_eq!(counted, 2 * entries.len() as u64, "every entry has a size and an age");
    let mut sizes: Vec<u64> = entries.iter().map(|entry| entry.metadata.len()).collect();
    sizes.sort_unstable();
    for (key, share) in [("median", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        let exact = sizes[(share * sizes.len() as f64).ceil() as usize - 1];
        let off = summary[key].as_u64().unwrap().abs_diff(exact) as f64;
        assert!(
            off <= summary["quantile_error"].as_f64().unwrap() * exact as f64,
            "{key}: {off} from {exact}"
        );
    }
    let time = |metadata: &std::fs::Metadata| (metadata.mtime(), metadata.mtime_nsec());
    let reversed = std::cmp::Reverse::<u64>;
    assert_eq!(paths(&summary["largest"]), first_five(entries, |metadata| reversed(metadata.len())));
    assert_eq!(paths(&summary["newest"]), first_five(entries, |metadata| std::cmp::Reverse(time(metadata))));
    assert_eq!(paths(&summary["oldest"]), first_five(entries, time));
}

#[test]
fn figures_match_std() {
    let scratch = tree();
    let top = scratch.path().join("top");
    let name = top.to_str().unwrap();
    for recursive in [false, true] {
        let mut entries = Vec::new();
        by_std(&top, recursive, &mut entries);
        for threads in ["1", "2", "5"] {
            // Given twice, so that names have paths even for a single directory.
            let mut options = vec!["list", "--json", "--summary", "-j", threads, name, name];
            options.extend(recursive.then_some("-r"));
            let ran = run(scratch.path(), &options);
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{options:?}");
            let objects = parse(&ran);
            assert_eq!(objects.len(), 2);
            objects.iter().for_each(|summary| check(summary, &entries));
        }
    }
}

#[test]
fn directories_are_ranked_by_entries() {
    let scratch = tree();
    let top = scratch.path().join("top");
    // More than the queue holds, so that a worker descends itself.
    for index in 0..400 {
        let below = top.join(format!("wide/{index}"));
        std::fs::create_dir_all(&below).unwrap();
        (0..index % 7).for_each(|file| fill(&below, &[&format!("{file}")]));
    }
    let mut entries = Vec::new();
    by_std(&top, true, &mut entries);
    let mut directories: BTreeMap<PathBuf, Vec<&Seen>> = BTreeMap::new();
    for entry in &entries {
        directories.entry(entry.path.parent().unwrap().to_owned()).or_default().push(entry);
    }
    let all = 1 + entries.iter().filter(|entry| entry.metadata.is_dir()).count();
    for (threads, shown) in [("1", "1k"), ("3", "1k"), ("2", "10")] {
        let options = ["--summary=directories", "-r", "-j", threads, "--top", shown, top.to_str().unwrap()];
        let summary = summary(scratch.path(), &options);
        assert_eq!(figures(&summary), sum(&entries.iter().collect::<Vec<_>>()));
        assert_eq!(summary["directories"], all);
        let rows = summary["top"].as_array().unwrap();
        assert_eq!(rows.len(), if shown == "10" { 10 } else { directories.len() });
        let mut sorted: Vec<_> = directories.iter().collect();
        sorted.sort_by_key(|(path, entries)| (std::cmp::Reverse(entries.len()), path.as_os_str()));
        for (row, (path, entries)) in rows.iter().zip(&sorted) {
            if let Some(shown) = row["dir"].as_str() {
                assert_eq!(Some(shown), path.to_str());
            }
            assert_eq!(figures(row), sum(entries), "{row}");
            assert_eq!(row["largest"].as_u64(), entries.iter().map(|entry| entry.metadata.len()).max());
        }
        let others: Vec<&Seen> =
            sorted[rows.len()..].iter().flat_map(|(_, entries)| entries.iter().copied()).collect();
        assert_eq!(figures(&summary["others"]), sum(&others));
        assert_eq!(summary["others"]["directories"], all - rows.len());
    }
}

#[test]
fn filters_and_conditions_select_the_counted_entries() {
    let scratch = scratch();
    let d = scratch.path().join("d");
    fill(scratch.path(), &["d/", "d/sub/"]);
    for (name, bytes, days) in
        [("a.tmp", 10, 29.9), ("b.tmp", 2000, 30.1), ("c.log", 3000, 400.0), ("sub/d.tmp", 0, -2.0)]
    {
        file(&d.join(name), bytes, ago(days));
    }
    for (options, entries, bytes) in [
        (&["--type", "f"][..], 3, 5010),
        (&["--type", "f", "-r"], 4, 5010),
        (&["-g", "*.tmp", "-r"], 3, 2010),
        (&["--type", "f", "--older-than", "30d"], 2, 5000),
        (&["--type", "f", "--newer-than", "30d", "-r"], 2, 10),
        (&["--type", "f", "--larger-than", "10", "--smaller-than", "3000"], 1, 2000),
        (&["--owner", "4294967294", "-r"], 0, 0),
    ] {
        let all: Vec<&str> = ["--summary", "d"].iter().chain(options).copied().collect();
        assert_eq!(figures(&summary(scratch.path(), &all)), [entries, bytes], "{options:?}");
    }
    // Age classes end where conditions do: an entry at most 30 days old is newer than 30 days.
    let whole = summary(scratch.path(), &["--summary", "-r", "--type", "f", "d"]);
    let ages = whole["ages"].as_array().unwrap().iter();
    let young: u64 = ages
        .filter(|bucket| bucket["to_s"].as_i64().is_some_and(|to_s| to_s <= 30 * 86_400))
        .map(|bucket| bucket["entries"].as_u64().unwrap())
        .sum();
    assert_eq!(young, 2);
    assert_eq!((&whole["ages"][0]["from_s"], &whole["ages"][0]["to_s"]), (&Value::Null, &Value::from(-1)));
    assert_eq!(whole["newest"][0]["name"], "d.tmp", "a time in the future is the newest");
}

#[test]
fn largest_and_newest_match_sorting() {
    let scratch = tree();
    for (sort, key) in [("size", "largest"), ("mtime", "newest")] {
        let sorted = run(scratch.path(), &["list", "-r", "--sort", sort, "-n", "40", "top"]).lines();
        let summary = summary(scratch.path(), &["--summary", "-r", "--top", "40", "top"]);
        assert_eq!(paths(&summary[key]), sorted, "{sort}");
    }
    let none = summary(scratch.path(), &["--summary", "--top", "0", "top"]);
    assert_eq!((&none["largest"], &none["oldest"]), (&Value::Array(Vec::new()), &Value::Array(Vec::new())));
}

#[test]
fn sums_may_exceed_64_bits() {
    let mount = require!(Mount::make(&TMPFS));
    for name in ["a", "b", "c"] {
        file(&mount.path().join(name), i64::MAX as u64, UNIX_EPOCH);
    }
    let text = String::from_utf8(run(&mount.path(), &["list", "--summary", "--json"]).quiet()).unwrap();
    assert!(text.contains(&format!(",\"bytes\":{},", 3 * u128::from(i64::MAX as u64))), "{text}");
    assert!(
        text.contains("\"from\":4611686018427387904,\"to\":18446744073709551615,\"entries\":3"),
        "{text}"
    );
    let text = String::from_utf8(run(&mount.path(), &["list", "--summary", "--human"]).quiet()).unwrap();
    assert!(text.starts_with(".\n  3 entries, 24E (apparent size)\n"), "{text}");
}

#[test]
fn unexaminable_entries_are_counted_and_reported() {
    require!(root());
    let scratch = scratch();
    let program = require!(unprivileged(&scratch));
    fill(
        scratch.path(),
        &["d/", "d/unsearchable/", "d/unsearchable/a", "d/unsearchable/b", "d/closed/", "d/e"],
    );
    let allow = |name: &str, mode| {
        std::fs::set_permissions(scratch.path().join(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    allow("d/unsearchable", 0o744);
    allow("d/closed", 0o700);
    let gaps = |ran: &Ran| {
        let object = parse(ran).remove(0);
        ["entries", "unexamined", "undecided", "unread"].map(|key| object[key].as_u64().unwrap())
    };
    let ran = run_as_nobody(&program, scratch.path(), &["list", "--summary", "--json", "d/unsearchable"]);
    ran.complains(1, &["unsearchable", "and 1 more there: Permission denied"]);
    assert_eq!(gaps(&ran), [2, 2, 0, 0]);
    let conditions = ["list", "--summary", "--json", "d/unsearchable", "--newer-than", "1d"];
    let ran = run_as_nobody(&program, scratch.path(), &conditions);
    ran.complains(1, &["and 1 more there: Permission denied"]);
    assert_eq!(gaps(&ran), [0, 0, 2, 0]);
    let ran = run_as_nobody(&program, scratch.path(), &["list", "--summary", "--json", "-r", "d"]);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 2), "{}", ran.err);
    assert_eq!(gaps(&ran), [5, 2, 0, 1]);
    let ran = run_as_nobody(&program, scratch.path(), &["list", "--summary", "-r", "d"]);
    let text = String::from_utf8(ran.out).unwrap();
    assert!(text.contains("2 entries could not be examined: counted, but without size and age\n"), "{text}");
    assert!(
        text.contains("1 directory could not be read to the end: the remaining entries are not counted\n"),
        "{text}"
    );
    // A failure in one directory is not repeated for the next.
    let ran = run_as_nobody(&program, scratch.path(), &["list", "--summary", "--json", "d/closed", "d"]);
    assert_eq!((ran.code, gaps(&ran)), (Some(1), [3, 0, 0, 0]), "{}", ran.err);
}

#[test]
fn a_terminal_gets_bars_within_its_width_and_no_name_acts_on_it() {
    require!(have("script"));
    let scratch = scratch();
    file(&scratch.path().join("esc\x1b[31m"), 5_000_000, ago(3.0));
    fill(scratch.path(), &["a", "b", "c"]);
    let on_terminal = |width: usize, locale: &str, options: &str| {
        let line = format!("stty rows 50 cols {width}; LC_ALL={locale} $M list --summary {options}");
        let ran = shell(scratch.path(), &format!("script -qec \"{line}\" /dev/null < /dev/null"));
        assert_eq!(ran.code, Some(0));
        String::from_utf8(ran.out).unwrap().replace("\r\n", "\n")
    };
    for width in [60, 80, 200] {
        let shown = on_terminal(width, "C.UTF-8", "");
        assert!(shown.contains('█') && shown.contains("5 000 000"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= width), "{shown}");
        assert!(shown.contains("  esc\\x1b[31m\n") && !shown.contains('\x1b'), "{shown}");
    }
    let ascii = on_terminal(80, "C", "");
    assert!(ascii.is_ascii() && ascii.contains(" ####"), "{ascii}");
    let narrow = on_terminal(36, "C.UTF-8", "--human");
    assert!(narrow.contains("4.8M") && !narrow.contains('█'), "{narrow}");
    let piped = run(scratch.path(), &["list", "--summary"]).quiet();
    assert!(piped.windows(8).any(|window| window == b"esc\x1b[31m"), "names are unchanged elsewhere");
    assert!(!String::from_utf8(piped).unwrap().contains(['█', '#']));
}

#[test]
fn names_of_every_kind_come_back_from_json() {
    for names in Scheme::ALL {
        let scratch = scratch();
        let flat = Flat { names, ..Flat::plain(50) };
        flat.build(&scratch.path().join("d"));
        let summary = summary(scratch.path(), &["--summary", "-r", "--top", "100", "d"]);
        let mut expected: Vec<Vec<u8>> =
            (0..50).map(|index| [b"d/", &flat.name(index)[..]].concat()).collect();
        expected.sort();
        assert_eq!(paths(&summary["largest"]), expected, "{names:?}: all are empty, so by path");
    }
}

#[test]
fn now_is_the_same_for_all_of_a_run() {
    let scratch = scratch();
    file(&scratch.path().join("f"), 1, ago(10.01));
    let ran = run(scratch.path(), &["list", "--summary", "--time-style", "relative", "--older-than", "240h"]);
    let text = String::from_utf8(ran.quiet()).unwrap();
    assert!(text.contains("  10 days ago  f\n") && text.contains("7d-30d ago        1 "), "{text}");
}
