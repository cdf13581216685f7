//! Several file systems side by side: figures, comparisons, and claims that can be judged.

use megadir_record::{
    Access, ArmId, CacheState, DataId, FileOperation, FileOrder, FsId, Group, GroupRule, LabFileSystem, Pair,
    Place, Record, Unavailable, Work,
};
use megadir_report::chart::{Width, main_picture};
use megadir_report::summary::{GroupReading, Outcome, Verdict};
use megadir_report::{Report, Style, render};

use crate::fill::{files, work_on_files};
use crate::report_on;
use crate::synthetic::{ArmSummary, Synthetic, arm};
use crate::warnings::stretch;

/// Times of writing and of examining a file, nanoseconds; an entry without a device is in memory.
const FILE_SYSTEMS: [(&str, &str, f64, f64); 5] = [
    ("ext2", "ext4", 1.0e6, 2.0e5),
    ("ext3", "ext4", 1.5e6, 2.0e5),
    ("ext4", "ext4", 0.8e6, 1.5e5),
    ("xfs", "xfs", 1.6e6, 4.0e5),
    ("tmpfs", "tmpfs", 0.2e6, 1.0e5),
];

fn label(kind: &str, driver: &str) -> String {
    if kind == driver { kind.into() } else { format!("{kind} ({driver} driver)") }
}

/// A file system as in a plan.
fn file_system((number, (kind, driver, ..)): (u32, &(&str, &str, f64, f64))) -> LabFileSystem {
    let place = match *kind {
        "tmpfs" => Place::Memory { bytes: 1 << 30 },
        _ => Place::Image { bytes: 1 << 30, direct_io: Some(true) },
    };
    LabFileSystem {
        id: FsId(number),
        name: (*kind).into(),
        label: label(kind, driver),
        kind: (*kind).into(),
        driver: (*driver).into(),
        make: Vec::new(),
        tool: None,
        mount_options: "noatime".into(),
        place,
        disk: None,
        reformatted: *kind == "ext2",
    }
}

/// A record of writing and examining on each file system, warm and cold.
pub(crate) fn record() -> Record {
    let kinds =
        [("write, 1 process", 1.0), ("stat, 1 process", 1.0), ("stat, 1 process, guest-fs-cold", 5.0)];
    let mut arms: Vec<ArmSummary> = Vec::new();
    for (place, (_, _, write, stat)) in FILE_SYSTEMS.iter().enumerate() {
        for (name, times) in kinds {
            let ns = times * if name.starts_with("write") { *write } else { *stat };
            arms.push(ArmSummary { data: place as u32, groups: &["file-system"], ..arm(name, ns) });
        }
    }
    let mut synthetic = Synthetic::ratios(&[]);
    (synthetic.entries, synthetic.arms) = (vec![1000; FILE_SYSTEMS.len()], arms);
    let mut record = synthetic.record();
    work_on_files(&mut record, |id| {
        files(if id % 3 == 0 { FileOperation::Create } else { FileOperation::Stat }, (0, 1000), 1)
    });
    let plan = &mut record.header.plan;
    plan.study = "smallfile".into();
    plan.claims = megadir_record::claims::of_earlier("smallfile");
    plan.file_systems = (0..).zip(&FILE_SYSTEMS).map(file_system).collect();
    let reason = "it left Linux in 6.13".into();
    plan.unavailable = vec![Unavailable { name: "reiserfs".into(), reason }];
    for data in &mut plan.data {
        data.on = Some(FsId(data.id.0));
    }
    let mut pairs = Vec::new();
    for planned in &mut plan.arms {
        let (kind, driver, ..) = FILE_SYSTEMS[planned.data.0 as usize];
        if planned.name.ends_with("cold") {
            planned.cache = CacheState::FsCold;
        }
        if let Work::Files(work) = &mut planned.work {
            work.access = Access::Directory;
        }
        if planned.data != DataId(0) {
            let to = ArmId(planned.id.0 % 3);
            pairs.push(Pair {
                subject: label(kind, driver),
                than: label("ext2", "ext4"),
                at: planned.name.clone(),
                wall_time: false,
                arm: planned.id,
                to,
            });
        }
        planned.name = format!("{}, {}", planned.name, label(kind, driver));
    }
    let rule = GroupRule::Pairs { pairs };
    plan.groups = vec![Group::new("file-system", "What of it?", false, rule)];
    megadir_record::axes::complete(plan);
    record
}

fn findings(report: &Report) -> String {
    report.findings.iter().map(|finding| finding.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_kind_of_work_is_a_row_and_every_file_system_a_column() {
    let report = report_on(&record()).unwrap();
    let overview = report.summary.overview.as_ref().expect("several file systems");
    let names: Vec<&str> = overview.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["ext2", "ext3", "ext4", "xfs", "tmpfs"]);
    let rows: Vec<(&str, &str)> =
        overview.rows.iter().map(|row| (row.section.as_str(), row.label.as_str())).collect();
    assert_eq!(rows, [("write", "1 process"), ("stat", "1 process"), ("stat, guest-fs-cold", "1 process")]);
    for row in &overview.rows {
        let best: Vec<bool> = row.cells.iter().map(|planned| planned.as_ref().unwrap().best).collect();
        // The fastest of all has another backing.
        assert_eq!(best, [false, false, true, false, false], "{}", row.label);
    }
    // Geometric means of 1.5, 1, 1 and of 1.6, 2, 2.
    for (column, truth) in [(1, 1.5_f64.cbrt()), (3, 6.4_f64.cbrt())] {
        let judged = |of, than| match overview.against(of, than).expect("they are on like ground") {
            Outcome::Judged { ratio, adjusted: Some(adjusted), verdict, .. } => {
                (ratio.value, adjusted, verdict)
            }
            other => panic!("{other:?}"),
        };
        let (ratio, adjusted, verdict) = judged(column, 0);
        assert!(
            (ratio / truth - 1.0).abs() < 0.02 && adjusted.low < truth && truth < adjusted.high,
            "{ratio}"
        );
        assert_eq!(verdict, Verdict::Slower { negligible: false });
        let (mirrored, range, verdict) = judged(0, column);
        assert!((mirrored * ratio - 1.0).abs() < 1e-12);
        assert!(range.high < 1.0);
        assert_eq!(verdict, Verdict::Faster { negligible: false });
    }
}

#[test]
fn expected_false_calls_stand_on_every_report_of_several_file_systems() {
    let mut report = report_on(&record()).unwrap();
    // One group with a family for each of the three other file systems, one for all pairs over all rows, and
    // the marks.
    let note = "False calls: verdicts are adjusted within each of 5 families of comparisons, not over all of them. If nothing differed anywhere, about 0.3 of these 5 would";
    assert!(render::markdown(&report).contains(note), "{}", render::markdown(&report));
    let terminal = |report: &Report| {
        let table = render::table(report, 120, Style { color: false, unicode: true });
        table.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(terminal(&report).contains(note), "{}", terminal(&report));
    // No comparison was made.
    report.summary.progress.rounds_used = 5;
    assert!(!terminal(&report).contains("False calls"));
}

#[test]
fn main_chart_agrees_with_the_answer() {
    let record = record();
    let report = report_on(&record).unwrap();
    assert!(
        report.question().ends_with("? And on which file system does it take least?"),
        "{}",
        report.question()
    );
    let answer = &report.findings[0].text;
    assert!(answer.contains("ext4 is the fastest"), "{answer}");
    let picture = main_picture(&report, Width::Wide).expect("a picture");
    assert_eq!((picture.chart, picture.group), ("overall", None));
    assert!(picture.title.ends_with("against ext4"), "{}", picture.title);
    // The picture contains every ratio of the sentence.
    for ratio in answer.split("x [").skip(1).map(|rest| rest.split(']').next().expect("an interval")) {
        assert!(picture.description.contains(ratio), "{ratio}: {}", picture.description);
    }
}

#[test]
fn one_of_a_row_is_marked_where_it_is_shown_to_beat_every_other() {
    let report = report_on(&record()).unwrap();
    let overview = report.summary.overview.as_ref().expect("several file systems");
    assert!(overview.rows.iter().all(|row| row.fastest == Some(2)));
    let table = render::table(&report, 200, Style { color: false, unicode: true });
    assert!(table.contains("in 0 of 3 rows no file system is."), "{table}");
    assert_eq!(table.lines().filter(|line| line.contains("%*")).count(), 3, "{table}");
    // Two that differ from the others but not from each other are both unbeaten, and neither is marked.
    let mut even = record();
    let like: Vec<(u32, ArmId)> = (0..3).map(|row| (6 + row, ArmId(9 + row))).collect();
    for (of, to) in like {
        let times: Vec<u64> = even
            .samples
            .iter()
            .filter(|sample| sample.arm == ArmId(of))
            .map(|sample| sample.elapsed_ns)
            .collect();
        let others = even.samples.iter_mut().filter(|sample| sample.arm == to);
        others.zip(times).for_each(|(sample, ns)| sample.elapsed_ns = ns + u64::from(sample.round % 2));
    }
    let report = report_on(&even).unwrap();
    let overview = report.summary.overview.as_ref().expect("several file systems");
    for row in &overview.rows {
        let is_best = |column: &usize| row.cells[*column].as_ref().is_some_and(|cell| cell.best);
        let best: Vec<usize> = (0..row.cells.len()).filter(is_best).collect();
        assert_eq!((best, row.fastest), (vec![2, 3], None), "{}", row.label);
    }
}

#[test]
fn file_systems_on_other_devices_are_shown_without_comparison() {
    let report = report_on(&record()).unwrap();
    let overview = report.summary.overview.as_ref().expect("several file systems");
    assert!(overview.against(4, 0).is_none() && overview.against(0, 4).is_none());
    for row in &overview.rows {
        let memory = row.cells[4].as_ref().expect("its time is shown");
        assert!(memory.against_first.is_none() && memory.time_ns.value > 0.0);
        assert!(matches!(row.cells[1].as_ref().unwrap().against_first, Some(Outcome::Judged { .. })));
    }
    let GroupReading::Pairs(pairs) = &report.summary.groups[0].reading else { panic!("not pairs") };
    assert_eq!(pairs.rows.len(), 9, "three of each but ext2 and tmpfs");
    let text = findings(&report);
    assert!(text.contains("tmpfs lies on memory, where ext2 (ext4 driver) lies on an image file: they differ in more than the file system"), "{text}");
    // Each device is a backing of its own.
    let mut record = record();
    for (number, of) in record.header.plan.file_systems.iter_mut().enumerate() {
        of.place = Place::Device { path: format!("/dev/vd{number}") };
    }
    let report = report_on(&record).unwrap();
    assert!(report.summary.overview.as_ref().unwrap().overall.is_empty());
    assert!(findings(&report).contains("lies on the device /dev/vd3"));
}

#[test]
fn comparison_of_two_does_not_depend_on_the_number_of_others() {
    let of_xfs = |record: &Record| {
        let report = report_on(record).unwrap();
        let GroupReading::Pairs(pairs) = &report.summary.groups[0].reading else { panic!("not pairs") };
        let rows = pairs.rows.iter().filter(|row| row.pair.subject == "xfs");
        rows.map(|row| (row.pair.at.clone(), row.outcome.clone())).collect::<Vec<_>>()
    };
    let all = record();
    let mut two = record();
    let GroupRule::Pairs { pairs } = &mut two.header.plan.groups[0].rule else { panic!("not pairs") };
    pairs.retain(|pair| pair.subject == "xfs");
    assert_eq!(of_xfs(&all).len(), 3);
    assert_eq!(of_xfs(&all), of_xfs(&two));
    let mut alone_record = two;
    let GroupRule::Pairs { pairs } = &mut alone_record.header.plan.groups[0].rule else {
        panic!("not pairs")
    };
    // Its kinds of work are one family: with fewer kinds each interval is narrower.
    pairs.truncate(1);
    let width = |outcome: &Outcome| match outcome {
        Outcome::Judged { adjusted: Some(range), .. } => range.high - range.low,
        outcome => panic!("{outcome:?}"),
    };
    let (alone, among) = (of_xfs(&alone_record), of_xfs(&all));
    assert!(width(&alone[0].1) < width(&among[0].1), "{alone:?} {among:?}");
}

#[test]
fn claims_hold_fail_or_are_undecided_with_reasons() {
    let text = findings(&report_on(&record()).unwrap());
    for words in [
        "Over all 3 kinds of work (geometric mean), ext4 is the fastest; the time of the others against it: ext2 (ext4 driver) ",
        "that ext4 is best overall stands here: over all kinds of work it takes 0.7",
        "; of ext2 and ext3 only the formats are compared, for ext4's driver serves them.",
        "that XFS is weak on small files stands here: over all kinds of work xfs takes 2.",
        "that ext3 is slow is undecided here: the kernel serves ext3 by its driver of ext4",
        "that ext2 is faster than ext3 is undecided here: the kernel serves ext3 and ext2 by its driver of ext4",
        "concurrent writes is undecided here: reiserfs is unavailable: it left Linux in 6.13.",
        "holds for disks only",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    // With their own drivers, and with a very fast XFS.
    let mut record = record();
    for of in &mut record.header.plan.file_systems {
        of.driver = of.kind.clone();
    }
    for sample in record.samples.iter_mut().filter(|sample| (9..12).contains(&sample.arm.0)) {
        sample.elapsed_ns /= 10;
    }
    let text = findings(&report_on(&record).unwrap());
    for words in [
        "that ext2 is faster than ext3 stands here: over all kinds of work ext3 takes 1.1",
        "that ext3 is slow stands here",
        "that XFS is weak on small files falls here",
        "that ext4 is best overall falls here",
        "xfs is the fastest",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn tables_fit_the_width_by_being_split_and_bars_have_no_cap() {
    let record = record();
    let report = report_on(&record).unwrap();
    for width in [80, 100, 140] {
        let table = render::table(&report, width, Style { color: false, unicode: true });
        let long = table.lines().filter(|line| line.chars().count() > width);
        assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new());
        for name in ["ext2", "ext3", "ext4", "xfs", "tmpfs"] {
            let heading = |line: &&str| line.trim_start().starts_with("time ") && line.contains(name);
            assert!(table.lines().any(|line| heading(&line)), "{width} {name}\n{table}");
        }
        assert!(table.contains("guest-fs-cold") && table.contains("reiserfs: unavailable"), "{table}");
    }
    let page = render::markdown(&report);
    let bars = |name: &str| {
        let line = page.lines().filter(|line| line.starts_with(&format!("  {name} ")));
        line.map(|line| line.matches('█').count()).collect::<Vec<_>>()
    };
    // The longest bar of an operation has full length, whatever the other operations take.
    assert_eq!((bars("xfs")[0], bars("xfs")[2]), (40, 40));
    assert_eq!(bars("ext2")[0], 25);
    let csv = crate::csv(&report_on(&record).unwrap());
    let heading: Vec<&str> = csv.lines().next().expect("a heading").split(',').collect();
    let column = heading.iter().position(|name| *name == "file_system").expect("its column");
    assert!(column > 0 && csv.contains(",xfs,") && csv.contains(",tmpfs,"));
}

#[test]
fn start_of_lives_is_described_where_removed_blocks_are_discarded() {
    let mut record = record();
    record.header.plan.rules.fresh_mounts = true;
    let page = |record: &Record| render::markdown(&report_on(record).unwrap()).replace('\n', " ");
    let text = page(&record);
    for words in [
        "in memory; ext2 (ext4 driver) was reformatted before, because the disk",
        "writing met none, for each life began on a new file system.",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains("what others removed in the last minutes, which is on its disk"), "{text}");
    // As in records of older programs; with a journal on ext2 and without one on ext4.
    record.header.plan.file_systems[0].reformatted = false;
    let text = page(&record);
    for words in [
        "in memory; but ext2 (ext4 driver) depends on what others removed in the last minutes, which its disk records.",
        "as on ext2 (ext4 driver), ext4's driver passes one by one over files that were removed in the last minutes when it makes others, \
         and finds them on the disk whatever is mounted again",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    record.header.plan.file_systems[0].kind = "ext3".into();
    assert!(!page(&record).contains("ithout a journal"));
    record.header.plan.file_systems[2].name = "ext4:block=1k:^has_journal".into();
    assert!(page(&record).contains("Without a journal, as on ext4,"));
}

#[test]
fn first_column_without_reference_is_reported_first() {
    let heaps = |record: &mut Record, planned: Option<u32>| {
        stretch(record, planned, |round| if round % 3 == 0 { 3.0 } else { 1.0 + 0.03 * f64::from(round) });
    };
    let mut record = record();
    heaps(&mut record, Some(0));
    let report = report_on(&record).unwrap();
    let first = &report.findings[0];
    assert!(first.loud && first.text.starts_with("ext2 (ext4 driver) is too noisy to serve as a reference in 1 of 3 kinds of work; the worst is `write, 1 process, ext2"), "{}", first.text);
    let of_kind = |report: &Report| {
        let kinds = report.warnings.iter().map(|advisory| advisory.warning.kind());
        kinds.filter(|kind| *kind == "reference-wide").count()
    };
    assert_eq!(of_kind(&report), 1, "{:?}", report.warnings);
    let table = render::table(&report, 100, Style { color: false, unicode: true });
    let place = |words: &str| table.find(words).unwrap_or_else(|| panic!("{words}\n{table}"));
    assert!(place("is too noisy to serve as a reference in") < place("Over all 3 kinds of work"));
    // Work by name repeats work by listing: it counts neither as noisy nor over all kinds.
    for planned in record.header.plan.arms.iter_mut().filter(|planned| planned.id.0 % 3 != 0) {
        let Work::Files(work) = &mut planned.work else { continue };
        work.access = if planned.id.0 % 3 == 2 {
            Access::Name { order: FileOrder::AsWritten }
        } else {
            Access::Directory
        };
    }
    megadir_record::axes::complete(&mut record.header.plan);
    let text = findings(&report_on(&record).unwrap());
    assert!(text.contains("in 1 of 2 kinds of work") && text.contains("Over all 2 kinds of work"), "{text}");
    // Effects common to all arms cancel in ratios; effects on another column do not concern the first.
    for planned in [None, Some(3)] {
        let mut other = self::record();
        heaps(&mut other, planned);
        let report = report_on(&other).unwrap();
        assert!(!report.findings[0].loud && of_kind(&report) == 0, "{planned:?}: {:?}", report.warnings);
    }
}
