//! The first screen, the tables, the page, and refusals.

use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::support::{finish, have, megadir, run, scratch, text};
use megadir_testkit::require;

/// A tree of 111 entries: 100 of them in `cache/objects`.
fn small() -> tempfile::TempDir {
    let scratch = scratch();
    let tree = scratch.path().join("srv");
    std::fs::create_dir_all(tree.join("cache/objects")).unwrap();
    std::fs::create_dir_all(tree.join("logs")).unwrap();
    for index in 0..100 {
        std::fs::write(tree.join(format!("cache/objects/{index}.obj")), "x").unwrap();
    }
    for index in 0..8 {
        std::fs::write(tree.join(format!("logs/app.log.{index}")), "x").unwrap();
    }
    scratch
}

#[test]
fn first_line_has_the_totals() {
    let scratch = small();
    let out = text(&run(scratch.path(), &["usage", "srv"]).quiet());
    let first = out.lines().next().unwrap();
    assert!(first.starts_with("'srv' has 111 entries, "), "{first}");
    assert!(first.ends_with("on disk; 90 % of them in 'cache/objects'"), "{first}");
    let names: Vec<&str> = out.lines().skip(3).take(4).filter_map(|line| line.split("  ").last()).collect();
    assert_eq!(names, ["srv", "cache", "objects", "logs"]);
    assert!(out.contains("  extension             obj 93 %, (number) 7 %\n"), "{out}");
    let apparent = text(&run(scratch.path(), &["usage", "--by", "newest", "srv/logs"]).quiet());
    assert!(apparent.lines().next().unwrap().contains("; the newest is of 20"), "{apparent}");
}

#[test]
fn the_screen_of_a_terminal_has_25_lines_of_80_columns() {
    require!(have("script"));
    let scratch = small();
    for index in 0..40 {
        let directory = scratch.path().join(format!("srv/{}-{index}", "long".repeat(30)));
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("f"), "x").unwrap();
    }
    let line = format!("stty cols 80; LC_ALL=C.UTF-8 {} usage srv", crate::support::program().display());
    let mut script = Command::new("script");
    let ran = finish(script.args(["-qec", &line, "/dev/null"]).current_dir(scratch.path()));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let out = text(&ran.out).replace('\r', "");
    // Without the progress, which was cleared.
    let shown: Vec<&str> = out.rsplit("\u{1b}[2K").next().unwrap().lines().collect();
    assert!(shown.len() <= 25, "{} lines:\n{out}", shown.len());
    assert!(shown.iter().all(|line| line.chars().count() <= 80), "{out}");
    assert!(out.contains("████████████  srv\n") && out.contains('…'), "{out}");
    assert!(out.contains("... 33 more directories, 33 files, "), "{out}");
}

#[test]
fn the_page_needs_no_script_and_its_links_lead_somewhere() {
    let scratch = small();
    let hostile = scratch.path().join("srv/<script>alert(1)</script>/below");
    std::fs::create_dir_all(&hostile).unwrap_or_else(|error| panic!("{error}"));
    std::fs::write(hostile.join("f"), "x").unwrap();
    let ran = run(scratch.path(), &["usage", "srv", "--html", "page.html"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.complains(0, &["wrote the page 'page.html'"]);
    let page = std::fs::read_to_string(scratch.path().join("page.html")).unwrap();
    assert!(!page.contains("<script") && !page.contains("http:") && !page.contains("https:"), "{page}");
    let after = |text: &str| page.matches(text).count();
    for link in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert_eq!(after(&format!("id=\"{link}\"")), 1, "{link}");
    }
    assert!(page.contains("href=\"#d1\"") && page.contains(">cache 8"), "{page}");
    run(scratch.path(), &["usage", "srv", "--html", "page.html"]).complains(3, &["'page.html'", "exists"]);
}

#[test]
fn the_whole_tables_and_csv_have_every_row() {
    let scratch = small();
    let out = text(&run(scratch.path(), &["usage", "--tables", "srv"]).quiet());
    let rows = |heading: &str| {
        let table = out.split("\n\n").find(|table| table.trim_start().starts_with(heading));
        table.unwrap_or_else(|| panic!("{heading}: {out}")).lines().count() - 1
    };
    assert_eq!((rows("extension"), rows("files in a directory")), (2, 4));
    let csv = text(&run(scratch.path(), &["usage", "--csv", "srv"]).quiet());
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines[0], "directory,depth,entries,inodes,directories,allocated,apparent,newest,oldest");
    assert!(lines[1].starts_with("srv,0,111,111,3,") && lines[2].starts_with("srv/cache,1,101,101,1,"));
    assert_eq!(lines.len(), 6);
}

/// A tree of 31 directories with one file each; one of them is empty but for a directory with a file.
fn wide() -> tempfile::TempDir {
    let scratch = scratch();
    for index in 0..30 {
        let directory = scratch.path().join(format!("t/{index:02}"));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("f"), vec![b'x'; 100]).unwrap();
    }
    std::fs::create_dir_all(scratch.path().join("t/large/below")).unwrap();
    std::fs::write(scratch.path().join("t/large/below/f"), "x").unwrap();
    std::fs::write(scratch.path().join("t/alone"), "x").unwrap();
    scratch
}

#[test]
fn a_list_that_is_cut_counts_the_directories_that_it_lacks() {
    let scratch = wide();
    let json = |options: &[&str]| -> serde_json::Value {
        serde_json::from_slice(&run(scratch.path(), &[&["usage", "--json", "t"], options].concat()).quiet())
            .unwrap()
    };
    for (top, unlisted) in [("0", 32), ("5", 27), ("31", 1), ("32", 0), ("1000", 0)] {
        let cut = json(&["-n", top]);
        assert_eq!(cut["unlisted_directories"], unlisted, "-n {top}");
        assert_eq!(cut["directories"].as_array().unwrap().len(), 32 - unlisted, "-n {top}");
        let csv = text(&run(scratch.path(), &["usage", "--csv", "-n", top, "t"]).quiet());
        let marked = csv.lines().filter(|line| line.starts_with(",,")).count();
        assert_eq!(marked, usize::from(unlisted > 0), "{csv}");
    }
    assert_eq!(json(&["-d", "1"])["unlisted_directories"], 0);
    let csv = text(&run(scratch.path(), &["usage", "--csv", "-n", "3", "t"]).quiet());
    let figures: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let sum = |column: usize| {
        let rows = figures.iter().filter(|row| row[1] == "1" || row[1].is_empty());
        rows.map(|row| row[column].parse::<u64>().unwrap()).sum::<u64>().to_string()
    };
    for column in [2, 3, 4, 5, 6] {
        assert_eq!(sum(column), figures[0][column], "column {column} of {csv}");
    }
    run(scratch.path(), &["usage", "--prometheus", "m.prom", "-n", "3", "t"]).quiet();
    let metrics = std::fs::read_to_string(scratch.path().join("m.prom")).unwrap();
    assert!(metrics.contains("megadir_usage_tree_unlisted_directories{tree=\"t\"} 29\n"), "{metrics}");
}

#[test]
fn the_rows_of_the_screen_add_up_and_directories_are_not_called_files() {
    let scratch = wide();
    let out = text(&run(scratch.path(), &["usage", "-n", "3", "t"]).quiet());
    // The listed ones are 'large' and two others: 28 directories with a file each are left, and 't/alone'.
    assert!(out.contains("  ... 28 more directories, 29 files, and the 3 directories above\n"), "{out}");
    assert!(out.contains("  29 directories with entries not listed (-n N lists more)\n"), "{out}");
    let all = text(&run(scratch.path(), &["usage", "-n", "40", "t"]).quiet());
    assert!(all.contains("  ... 1 file, and the 31 directories above\n"), "{all}");
    assert!(!all.contains("not listed"), "{all}");
}

#[test]
fn paths_in_csv_are_the_bytes_of_the_names() {
    let scratch = scratch();
    let names = [&b"bad\xff"[..], b"bad\\xff", b"say \"x\",\n"];
    for name in names {
        let directory = scratch.path().join("t").join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("file"), "").unwrap();
    }
    let csv = run(scratch.path(), &["usage", "--csv", "t"]).quiet();
    for field in [&b"\nt/bad\xff,1,"[..], b"\nt/bad\\xff,1,", b"\n\"t/say \"\"x\"\",\n\",1,"] {
        assert!(csv.windows(field.len()).any(|part| part == field), "{csv:?}");
    }
}

#[test]
fn bad_input_gets_one_line() {
    let scratch = small();
    run(scratch.path(), &["scan", "--quiet", "srv", "-o", "i.parquet"]).quiet();
    std::fs::write(scratch.path().join("text"), "no inventory").unwrap();
    for (arguments, code, words) in [
        (&["usage", "missing"][..], 3, &["missing", "No such file"][..]),
        (&["usage", "srv", "srv/cache"], 2, &["'srv/cache' is in 'srv'"]),
        (&["usage", "srv", "./srv"], 2, &["name each tree once"]),
        (&["usage", "i.parquet", "srv"], 2, &["an inventory must be the only PATH"]),
        (&["usage", "srv", "text"], 2, &["'text' is a file: usage takes directories"]),
        (&["usage", "i.parquet", "--cross-mounts"], 2, &["--cross-mounts", "is an inventory"]),
        (&["usage", "srv", "--json", "--tables"], 2, &["--json", "--tables"]),
        (&["usage", "text"], 3, &["'text'", "not a Parquet file", "name a directory"]),
        (&["usage", "srv", "--by", "size"], 2, &["'size'", "allocated"]),
        (&["usage", "srv", "--html", "no/page.html"], 3, &["no/page.html", "nothing was read"]),
    ] {
        run(scratch.path(), arguments).complains(code, words);
    }
    let some = run(scratch.path(), &["usage", "srv/logs", "missing"]);
    some.complains(1, &["missing"]);
    assert!(text(&some.out).starts_with("'srv/logs' has 8 entries"));
    let empty = scratch.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let out = text(&run(&empty, &["usage"]).quiet());
    assert!(out.starts_with("'.' has 0 entries\n"), "{out}");
}

#[test]
fn inventory_without_access_times_is_read_with_a_note() {
    let scratch = scratch();
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../megadir-inventory/tests/data/before-atime.parquet");
    let out = text(&run(scratch.path(), &["usage", old]).quiet());
    assert!(out.starts_with("'/srv/tree' has 5 entries, 16K on disk; 60 % of them in 'd'\n"), "{out}");
    assert!(out.contains("access times are unavailable") && !out.contains("accessed"), "{out}");
    let json = text(&run(scratch.path(), &["usage", "--json", old]).quiet());
    assert!(json.contains("\"accessed\":[]"), "{json}");
    for changed in ["older", "newer"] {
        run(scratch.path(), &["usage", &format!("--{changed}-than"), "1d", "--by", "mtime", old]).quiet();
    }
    // Old and new compare: what both record.
    std::fs::create_dir(scratch.path().join("t")).unwrap();
    run(scratch.path(), &["scan", "--quiet", "t", "-o", "new.parquet"]).quiet();
    let compared = run(scratch.path(), &["changes", "--any-root", old, "new.parquet"]);
    assert_eq!((compared.code, text(&compared.out).lines().count()), (Some(0), 5), "{compared:?}");
    let header = "root,parent,name,path,type,size,mtime_ns,ctime_ns,btime_ns,inode,inode_high,device,mode,uid,gid,\
                  links,errno,allocated,error,sha256\r\n";
    std::fs::write(scratch.path().join("old.csv"), header).unwrap();
    run(scratch.path(), &["scan", "--quiet", "t", "-o", "old.csv"]).quiet();
    let new = std::fs::read_to_string(scratch.path().join("old.csv")).unwrap();
    assert!(new.starts_with("root,parent,") && new.contains(",allocated,atime_ns,error,"), "replaced");
}

#[test]
fn inventory_without_allocated_space_is_read_with_a_note() {
    let scratch = scratch();
    let old =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../megadir-inventory/tests/data/before-allocated.parquet");
    let out = text(&run(scratch.path(), &["usage", old]).quiet());
    assert!(out.starts_with("'/srv/tree' has 5 entries; 60 % of them in 'd'\n"), "{out}");
    assert!(out.contains("the space on disk is unavailable"), "{out}");
    let header = "root,parent,name,path,type,size,mtime_ns,ctime_ns,btime_ns,inode,inode_high,device,mode,uid,gid,\
                  links,errno,error,sha256\r\n";
    std::fs::write(scratch.path().join("old.csv"), header).unwrap();
    run(scratch.path(), &["scan", "--quiet", ".", "-o", "old.csv"]).quiet();
    let new = std::fs::read_to_string(scratch.path().join("old.csv")).unwrap();
    assert!(new.starts_with("root,parent,") && new.contains(",errno,allocated,atime_ns,error,"), "replaced");
    let json = finish(&mut megadir(scratch.path(), &["usage", "--json", old]));
    assert!(text(&json.out).contains("\"allocated\":null,\"apparent\":"), "{json:?}");
}
