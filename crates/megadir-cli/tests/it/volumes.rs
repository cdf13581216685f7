//! Several directories (`--dir A --dir B`): volumes are compared as file systems made for a run are.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use megadir_record::jsonl::read;
use megadir_record::{Arm, FILE_SYSTEM_GROUP, FsId, GroupRule, Phase, Place, Record};
use megadir_testkit::mount::{EXT4, Mount, XFS};
use megadir_testkit::require;

use crate::support::{measured_blocks, output_of, text};

/// Two mounted file systems with a directory each, and a directory for records.
struct Volumes {
    scratch: tempfile::TempDir,
    ext4: Mount,
    xfs: Mount,
}

impl Volumes {
    fn make() -> Result<Self, String> {
        let volumes = Self {
            scratch: tempfile::tempdir().map_err(|error| error.to_string())?,
            ext4: Mount::make(&EXT4)?,
            xfs: Mount::make(&XFS)?,
        };
        for directory in volumes.both() {
            std::fs::create_dir(directory).map_err(|error| error.to_string())?;
        }
        Ok(volumes)
    }

    fn both(&self) -> [PathBuf; 2] {
        [self.ext4.path().join("local"), self.xfs.path().join("cloud")]
    }

    /// Runs a subcommand of `bench` with both directories.
    fn bench(&self, words: &[&str]) -> Output {
        let both = self.both().map(|path| path.to_str().expect("UTF-8").to_owned());
        let dirs = ["--dir", &both[0], "--dir", &both[1], "--seed", "7"];
        output_of(self.scratch.path(), &[&["bench"], words, &dirs[..]].concat())
    }

    fn record(&self, name: &str) -> Record {
        let file = std::fs::File::open(self.scratch.path().join(name)).expect("a record");
        read(BufReader::new(file)).expect("a record that can be read")
    }

    /// `true` if nothing of a run is left on either.
    fn are_empty(&self) -> bool {
        self.both().iter().all(|path| std::fs::read_dir(path).expect("there").count() == 0)
    }
}

/// Returns the volume of each measured block of each round, in the order of measurement.
fn orders(record: &Record) -> Vec<Vec<FsId>> {
    let mut rounds: BTreeMap<u32, Vec<FsId>> = BTreeMap::new();
    for sample in record.samples.iter().filter(|sample| sample.phase == Phase::Measure) {
        let data = record.header.plan.arms[sample.arm.0 as usize].data;
        let on = record.header.plan.data[data.0 as usize].on.expect("a volume");
        rounds.entry(sample.round).or_default().push(on);
    }
    rounds.into_values().collect()
}

#[test]
fn arms_on_all_volumes_alternate_and_are_compared_with_each_other() {
    let volumes = require!(Volumes::make());
    let small = ["--verbose", "--entries", "60", "--rounds", "6", "-o"];
    let studies: [&[&str]; 4] = [
        &["run", "lookup", "--quick", "--warm-up=1"],
        &["run", "smallfile", "--quick", "--workers", "1", "--cache", "warm"],
        &["run", "remove", "--quick", "--workers", "1"],
        &["commands", "ls -U {dir}", "find {dir}", "--warm-up=1"],
    ];
    for (place, study) in studies.iter().enumerate() {
        let name = format!("record{place}");
        let output = volumes.bench(&[study, &small[..], &[name.as_str()]].concat());
        let (table, printed) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{study:?}: {printed}");
        assert!(volumes.are_empty(), "{study:?}: {printed}");
        let record = volumes.record(&name);
        let plan = &record.header.plan;
        let found: Vec<(&str, &str, &Place)> =
            plan.file_systems.iter().map(|of| (of.label.as_str(), of.kind.as_str(), &of.place)).collect();
        let place = |path: &Path| Place::Directory {
            path: path.canonicalize().expect("there").to_str().expect("UTF-8").to_owned(),
        };
        let [local, cloud] = volumes.both();
        assert_eq!(found, [("local", "ext4", &place(&local)), ("cloud", "xfs", &place(&cloud))], "{study:?}");
        // Every arm has its like on the other volume, in the same rounds.
        let of = |id: u32| {
            let arms = plan.arms.iter().filter(|arm| plan.data[arm.data.0 as usize].on == Some(FsId(id)));
            arms.map(Arm::bare_name).collect::<Vec<String>>()
        };
        assert!(of(0) == of(1) && !of(0).is_empty(), "{study:?}: {:?} {:?}", of(0), of(1));
        let orders = orders(&record);
        for order in &orders {
            let on = |id: u32| order.iter().filter(|on| **on == FsId(id)).count();
            assert_eq!(on(0), on(1), "{study:?}: {order:?}");
        }
        assert!(orders.iter().any(|order| !order.is_sorted()), "{study:?}: always one after the other");
        let group = plan.groups.iter().find(|group| group.name == FILE_SYSTEM_GROUP).expect("a group");
        assert!(matches!(&group.rule, GroupRule::Pairs { pairs } if !pairs.is_empty()), "{group:?}");
        // The facts stand above the tables.
        let table = table.replace("\n  ", " ");
        let at =
            |words: &str| table.find(words).unwrap_or_else(|| panic!("{study:?}: no '{words}': {table}"));
        let first = at("Median time of one operation");
        assert!(at("Volume local: ") < first && at("Volume cloud: ") < first, "{table}");
        assert!(at("The volumes differ in file system, device, mount options") < first, "{table}");
        assert!(!plan.rules.fresh_mounts, "{study:?}");
    }
}

#[test]
fn a_volume_that_cannot_be_written_is_refused_before_anything_is_made() {
    let volumes = require!(Volumes::make());
    let remounted = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(volumes.xfs.path())
        .status()
        .expect("mount starts");
    assert!(remounted.success());
    let [local, cloud] = volumes.both().map(|path| path.to_str().expect("UTF-8").to_owned());
    let dirs: [&[&str]; 2] = [&["--dir", &cloud], &["--dir", &local, "--dir", &cloud]];
    for study in ["lookup", "remove", "layout"] {
        for dirs in dirs {
            for more in [&[][..], &["--dry-run"]] {
                let words = ["bench", "run", study, "--quick", "--entries", "50"];
                let output = output_of(volumes.scratch.path(), &[&words[..], dirs, more].concat());
                let printed = text(&output.stderr);
                assert_eq!(output.status.code(), Some(3), "{study} {dirs:?}: {printed}");
                for part in [cloud.as_str(), "Read-only file system", "--dir"] {
                    assert!(printed.contains(part), "{study} {dirs:?}: no '{part}': {printed}");
                }
                assert_eq!(printed.lines().count(), 1, "{printed}");
            }
        }
    }
    assert!(volumes.are_empty());
    assert_eq!(std::fs::read_dir(volumes.scratch.path()).expect("there").count(), 0, "a record was begun");
}

#[test]
fn directories_that_are_no_two_volumes_are_refused_in_one_line() {
    let scratch = tempfile::tempdir().expect("a directory");
    for name in ["a", "b"] {
        std::fs::create_dir(scratch.path().join(name)).expect("made");
    }
    std::os::unix::fs::symlink("a", scratch.path().join("link")).expect("linked");
    for (words, code, expected) in [
        (
            &["--dir", "a", "--dir", "./link"][..],
            2,
            "--dir './link' and an earlier --dir are the same directory",
        ),
        (&["--dir", "a", "--dir", "b", "--fs", "ext4"], 2, "--fs creates file systems in one directory"),
        (&["--dir", "a", "--dir", "none"], 3, "'none'"),
    ] {
        let output = output_of(scratch.path(), &[&["bench", "run", "lookup", "--quick"], words].concat());
        let printed = text(&output.stderr);
        assert_eq!((output.status.code(), printed.lines().count()), (Some(code), 1), "{words:?}: {printed}");
        assert!(printed.contains(expected), "{words:?}: {printed}");
    }
}

#[test]
fn a_run_on_volumes_is_resumed_where_it_was() {
    let volumes = require!(Volumes::make());
    let run = [
        &["commands", "ls -U {dir}", "find {dir}", "--entries", "50"][..],
        &["--rounds", "6", "--warm-up", "1", "-o", "record"],
    ];
    let output = volumes.bench(&run.concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let path = volumes.scratch.path().join("record");
    let whole = std::fs::read_to_string(&path).expect("readable");
    let lines: Vec<&str> = whole.lines().collect();
    let measured = lines.iter().position(|line| line.contains("\"phase\":\"measure\"")).expect("a block");
    std::fs::write(&path, lines[..measured + 9].join("\n") + "\n").expect("written");
    let resume = |more: &[&str]| {
        output_of(volumes.scratch.path(), &[&["bench", "run", "--resume", "record"], more].concat())
    };
    let printed = text(&resume(&["--dir", "."]).stderr);
    assert!(printed.contains("it compares 2 volumes: give --dir 2 times, in its order"), "{printed}");
    // Exchanged volumes are other volumes.
    let [local, cloud] = volumes.both().map(|path| path.to_str().expect("UTF-8").to_owned());
    let exchanged = resume(&["--dir", &cloud, "--dir", &local]);
    assert_eq!(exchanged.status.code(), Some(3), "{}", text(&exchanged.stderr));
    let output = resume(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record = volumes.record("record");
    assert_eq!((measured_blocks(&record).len(), record.end.is_some_and(|end| end.complete)), (6 * 6, true));
    assert!(volumes.are_empty());
}

#[test]
fn a_shared_record_of_volumes_names_no_path() {
    let volumes = require!(Volumes::make());
    let brief = ["--rounds=6", "--warm-up=1", "-o"];
    let run = ["commands", "ls -U {dir}", "find {dir}", "--entries=50", "--share"];
    let output = volumes.bench(&[&run[..], &brief, &["record"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record = std::fs::read_to_string(volumes.scratch.path().join("record")).expect("readable");
    for name in ["local", "cloud", volumes.ext4.path().to_str().expect("UTF-8")] {
        assert!(!record.contains(name), "{name}: {record}");
    }
    assert!(record.contains("volume 1") && record.contains("volume 2"), "{record}");
    // A record with labels is redacted later.
    let run = ["run", "lookup", "--quick", "--entries=30,60"];
    assert_eq!(volumes.bench(&[&run[..], &brief, &["named"]].concat()).status.code(), Some(0));
    let shared = ["bench", "report", "--share", "--format", "json", "named"];
    let shared = text(&output_of(volumes.scratch.path(), &shared).stdout);
    assert!(shared.contains("volume 2"), "{shared}");
    for name in ["local", "cloud", volumes.ext4.path().to_str().expect("UTF-8")] {
        let at = shared.find(name).map(|at| &shared[at.saturating_sub(80)..]);
        assert_eq!(at.map(|text| text.chars().take(160).collect::<String>()), None, "{name}");
    }
}

#[test]
fn directories_on_one_file_system_share_its_room() {
    let mount = require!(Mount::make(&EXT4));
    for name in ["a", "b"] {
        std::fs::create_dir(mount.path().join(name)).expect("made");
    }
    let free = rustix::fs::statvfs(mount.path()).expect("a file system").f_favail;
    // Enough for one of them.
    let entries = (free * 2 / 3).to_string();
    let study = ["bench", "commands", "ls {dir}", "--dry-run", "--entries", entries.as_str()];
    let tried = |dirs: &[&str]| output_of(mount.path(), &[&study[..], dirs].concat());
    let single = tried(&["--dir", "a"]);
    assert_eq!(single.status.code(), Some(0), "{}", text(&single.stderr));
    let both = tried(&["--dir", "a", "--dir", "b"]);
    let printed = text(&both.stderr);
    assert!(both.status.code() == Some(3) && printed.contains("inodes"), "{printed}");
}
