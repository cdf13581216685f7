//! First screens fit on a screen and lead with what matters. Whole tables of file systems: among equals, hardly any
//! table names or marks a winner; a real winner is found.

use std::io::BufReader;
use std::path::Path;
use std::sync::LazyLock;

use megadir_record::Record;
use megadir_report::summary::OverviewRow;
use megadir_report::{Report, Style, render};

use crate::file_systems::record;
use crate::report_on;

/// A record with the same times on every file system, except noise in each sample; the first takes `factor`
/// times as long.
fn equals(seed: u64, noise: f64, factor: f64) -> Record {
    let mut record = record();
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut unit = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    for sample in &mut record.samples {
        let of_first = if sample.arm.0 < 3 { factor } else { 1.0 };
        let normal = (-2.0 * (1.0 - unit()).ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
        sample.elapsed_ns = (1e9 * of_first * (noise * normal).exp()) as u64;
    }
    record
}

#[test]
fn among_equals_a_winner_or_a_mark_is_set_on_few_screens() {
    const SCREENS: u64 = 100;
    let named = (0..SCREENS).filter(|seed| {
        let report = report_on(&equals(*seed, 0.3, 1.0)).unwrap();
        let overview = report.summary.overview.as_ref().expect("several file systems");
        let winner = report.findings.iter().any(|finding| finding.text.contains("is the fastest;"));
        let marked = overview.rows.iter().any(|row| row.fastest.is_some());
        winner || marked
    });
    let named = named.count();
    assert!(named as u64 <= SCREENS / 20, "{named} of {SCREENS}");
}

#[test]
fn a_screen_names_the_file_systems_that_it_does_not_compare() {
    let screen = render::screen(&report_on(&record()).unwrap(), 80, PLAIN);
    assert!(
        screen.contains("\nNot compared (!): tmpfs (on memory, not on an image file as ext2).\n"),
        "{screen}"
    );
    assert!(screen.contains("\nUnavailable: reiserfs: it left Linux in 6.13.\n"), "{screen}");
}

#[test]
fn a_screen_without_a_comparison_has_the_first_row_of_each_kind_of_work() {
    let mut report = report_on(&record()).unwrap();
    let overview = report.summary.overview.as_mut().expect("several file systems");
    overview.columns.iter_mut().skip(1).for_each(|column| column.comparable = false);
    overview.overall.clear();
    let copies = overview.rows.clone();
    overview.rows.iter_mut().for_each(|row| row.section = "write".into());
    overview.rows.extend(copies.into_iter().map(|row| OverviewRow { section: "read".into(), ..row }));
    let label = overview.rows[0].label.clone();
    let screen = render::screen(&report, 80, PLAIN);
    for section in ["write", "read"] {
        assert!(screen.contains(&format!("\n  {section}, {label}  ")), "{section}: {screen}");
    }
    assert!(!screen.contains("Against the first"), "{screen}");
}

#[test]
fn noisy_equals_are_not_decided() {
    let report = report_on(&equals(7, 0.3, 1.0)).unwrap();
    let headline = &report.findings.iter().find(|finding| !finding.loud).unwrap().text;
    assert!(headline.contains("(not decided)") && !headline.contains("equal within"), "{headline}");
}

#[test]
fn equals_are_called_equal_and_ten_percent_a_winner() {
    let report = report_on(&equals(7, 0.02, 1.0)).unwrap();
    let headline = &report.findings[0].text;
    assert!(
        headline.contains("no file system is shown to be the fastest; the time of the others against ")
            && headline.matches("(equal within 3 %)").count() == 3,
        "{headline}"
    );
    let table = render::table(&report, 200, Style { color: false, unicode: true });
    assert!(table.contains("in 3 of 3 rows no file system is.") && !table.contains("%*"), "{table}");
    let report = report_on(&equals(7, 0.02, 0.9)).unwrap();
    let headline = &report.findings[0].text;
    assert!(
        headline.contains("ext2 (ext4 driver) is the fastest; the time of the others against it"),
        "{headline}"
    );
    let overview = report.summary.overview.as_ref().expect("several file systems");
    assert!(overview.rows.iter().all(|row| row.fastest == Some(0)));
}

const PLAIN: Style = Style { color: false, unicode: true };

/// Reports of the published records and of those of every kind of study that the tests have. Made once, as it takes most of the time.
static ALL: LazyLock<Vec<(String, Report)>> = LazyLock::new(|| {
    let report = |(name, record)| match Report::of(record) {
        Ok(report) => (name, report),
        Err(error) => panic!("{name}: {error}"),
    };
    all_records().into_iter().map(report).collect()
});

fn all_records() -> Vec<(String, Record)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &str| std::fs::read_dir(crates.join(folder)).expect("a folder of records");
    let published = files("../../records").flat_map(|entry| {
        let path = entry.expect("an entry").path();
        ["record.jsonl", "record.jsonl.gz"].map(|name| path.join(name))
    });
    let kept = files("tests/data").map(|entry| entry.expect("an entry").path());
    let read = |path: std::path::PathBuf| {
        let file = std::fs::File::open(&path).ok()?;
        let read = match path.extension()?.to_str()? {
            "gz" => megadir_record::jsonl::read(BufReader::new(flate2::read::GzDecoder::new(file))),
            "jsonl" => megadir_record::jsonl::read(BufReader::new(file)),
            _ => return None,
        };
        Some((path.display().to_string(), read.expect("a whole record")))
    };
    published.chain(kept).filter_map(read).collect()
}

#[test]
fn first_screen_of_every_record_fits_and_has_an_answer() {
    assert!(ALL.len() >= 14, "{}", ALL.len());
    for (name, report) in ALL.iter() {
        for width in [80, 100, 200] {
            let screen = render::screen(report, width, PLAIN);
            let widest = screen.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= width.min(render::SCREEN_WIDTH_MAX), "{name}: {widest} columns\n{screen}");
            let lines = screen.lines().count();
            assert!(lines <= render::SCREEN_LINES_MAX, "{name}: {lines} lines\n{screen}");
            let warnings = screen
                .lines()
                .filter(|line| ["WARNING: ", "Note: "].iter().any(|mark| line.starts_with(mark)));
            assert!(warnings.count() <= 3, "{name}\n{screen}");
            let last = screen.lines().rev().take(3).collect::<Vec<_>>().into_iter().rev();
            assert!(
                last.collect::<Vec<_>>().join(" ").contains("megadir bench report RECORD --verbose"),
                "{name}\n{screen}"
            );
        }
        let wide = render::screen(report, 80, PLAIN);
        let words: String = report.question().split(' ').take(4).collect::<Vec<_>>().join(" ");
        assert!(wide.contains(&words), "{name}: no question\n{wide}");
    }
}

#[test]
fn disturbed_run_starts_with_the_warning_and_its_remedy() {
    let mut record = crate::listing::study().record();
    record
        .notes
        .push(crate::synthetic::note("load", "The load was 9.9 on 2 processors over the last minute."));
    let calm = Report::of(record.clone()).expect("rounds");
    assert!(!render::screen(&calm, 80, PLAIN).starts_with('!'));
    // The baseline against itself takes twice its time.
    let is_control = |arm: &megadir_record::Arm| arm.role == megadir_record::Role::Control;
    let twice: Vec<_> =
        record.header.plan.arms.iter().filter(|arm| is_control(arm)).map(|arm| arm.id).collect();
    assert!(!twice.is_empty());
    for sample in record.samples.iter_mut().filter(|sample| twice.contains(&sample.arm)) {
        sample.elapsed_ns *= 2;
    }
    let disturbed = Report::of(record).expect("rounds");
    let screen = render::screen(&disturbed, 80, PLAIN);
    let first = screen.lines().take(2).collect::<Vec<_>>().join(" ");
    assert!(first.starts_with("! Other work disturbed this run: stop it and run again."), "{screen}");
    assert_eq!(screen.matches("The load was 9.9").count(), 1, "{screen}");
    let alarm = screen.lines().next().unwrap_or_default();
    assert!(alarm.ends_with("run again."), "one line: {screen}");
}

#[test]
fn no_sentence_of_a_first_screen_is_cut() {
    for (name, report) in ALL.iter() {
        let screen = render::screen(report, 80, PLAIN);
        assert!(!screen.lines().any(|line| line.ends_with("...")), "{name}\n{screen}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let screen = words(&screen);
        for finding in report.findings.iter().filter(|finding| finding.loud).take(3) {
            let text = words(&finding.text);
            assert!(screen.contains(&text), "{name}: '{text}' is not whole in\n{screen}");
        }
    }
}

#[test]
fn a_cache_state_that_a_screen_or_page_names_is_explained_there() {
    let mut record = record();
    record.header.machine.hypervisor = Some("kvm".into());
    for arm in &mut record.header.plan.arms {
        arm.cache = megadir_record::CacheState::FsCold;
    }
    let report = report_on(&record).unwrap();
    let line = "guest-fs-cold: remounted before each block, so nothing of the file system was cached; the host of this virtual machine may cache it.";
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [render::table(&report, 100, PLAIN), render::markdown(&report)] {
        assert!(words(text).contains(line), "{line}");
    }
    assert!(megadir_report::page::html(&report).contains(line));
    let screen = render::screen(&report, 80, PLAIN);
    assert!(!screen.contains("fs-cold") || words(screen.clone()).contains(line), "{screen}");
}
