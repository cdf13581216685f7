//! Complete reports, compared byte by byte. `MEGADIR_BLESS=1` rewrites the files after an intended change.

use std::path::Path;

use megadir_record::Record;
use megadir_report::{FORMATS, Style, View, format_named};

use crate::listing::study;
use crate::report_on;
use crate::synthetic::{Synthetic, note};
use megadir_report::render::Document;

/// Compares with a golden file, or rewrites it.
pub(crate) fn golden(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("MEGADIR_BLESS").is_some_and(|bless| bless == "1") {
        std::fs::create_dir_all(path.parent().expect("the golden files can be used"))
            .expect("the golden files can be used");
        std::fs::write(&path, text).expect("the golden files can be used");
    }
    let expected =
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(text == expected, "{file} differs; MEGADIR_BLESS=1 rewrites it. It is now:\n{text}");
}

pub(crate) fn render(format: &str, record: &Record, width: usize, style: Style) -> String {
    let report = report_on(record).expect("the golden files can be used");
    format_named(format).expect("the golden files can be used").render(&report, &View { width, style })
}

const PLAIN: Style = Style { color: false, unicode: true };

/// A run that was killed in its fourth round, with a note and an arm that lost entries.
pub(crate) fn killed() -> Record {
    let mut record = Synthetic { rounds: 4, ..study() }.record();
    record.samples.truncate(record.samples.len() - 9);
    record.samples[20].counted.entries -= 3;
    record.notes.push(note("load", "The load was 3.1 before the run."));
    record.end = None;
    record.cut = Some(megadir_record::Cut { line: 78, bytes: 40 });
    record
}

#[test]
fn the_study_in_every_format() {
    let record = study().record();
    golden("listing.table.txt", &render("table", &record, 80, PLAIN));
    golden("listing.screen.txt", &render("screen", &record, 80, PLAIN));
    golden("listing.wide.table.txt", &render("table", &record, 130, Style { color: true, unicode: false }));
    golden("listing.markdown.md", &render("markdown", &record, 80, PLAIN));
    golden("listing.summary.json", &render("json", &record, 80, PLAIN));
}

#[test]
fn single_operations_in_table_and_markdown() {
    let record = crate::single::lookups();
    golden("lookups.table.txt", &render("table", &record, 100, PLAIN));
    golden("lookups.screen.txt", &render("screen", &record, 80, PLAIN));
    golden("lookups.markdown.md", &render("markdown", &record, 100, PLAIN));
}

#[test]
fn a_killed_run_in_every_format() {
    let record = killed();
    golden("killed.table.txt", &render("table", &record, 80, PLAIN));
    golden("killed.screen.txt", &render("screen", &record, 80, PLAIN));
    golden("killed.markdown.md", &render("markdown", &record, 80, PLAIN));
    golden("killed.samples.csv", &render("csv", &record, 80, PLAIN));
}

#[test]
fn a_run_without_a_complete_round_has_no_answer() {
    let mut record = Synthetic { rounds: 4, ..study() }.record();
    record.samples.retain(|sample| sample.phase != megadir_record::Phase::Measure || sample.round == 0);
    record.samples.pop();
    record.end = None;
    let report = report_on(&record).expect("it has samples");
    // Alarms stay: arms that did different work must be seen whatever else is left out.
    assert!(report.findings.iter().all(|finding| finding.loud), "{:?}", report.findings);
    assert_eq!(report.answer(), "No round was completed, so there is no answer.");
    for format in ["screen", "table"] {
        let view = View { width: 80, style: PLAIN };
        let page = format_named(format).expect("a format").render(&report, &view);
        assert!(page.contains("No round was completed"), "{format}: {page}");
    }
}

#[test]
fn shares_and_methods_as_tables() {
    let shares = crate::break_even::record([2.5, 0.5]);
    golden("break-even.table.txt", &render("table", &shares, 80, PLAIN));
    golden("break-even.markdown.md", &render("markdown", &shares, 80, PLAIN));
    let methods =
        crate::attributes::record(&[("getdents-statx", 0.9), ("xfs-bulkstat", 0.2), ("cpp-filesystem", 1.5)]);
    golden("attributes.table.txt", &render("table", &methods, 100, PLAIN));
}

#[test]
fn tables_fit_their_width() {
    for record in
        [study().record(), killed(), crate::single::lookups(), crate::break_even::record([2.5, 0.5])]
    {
        for width in [80, 100, 132, 200] {
            let text = render("table", &record, width, PLAIN);
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= width, "{longest} > {width}:\n{text}");
        }
    }
}

#[test]
fn the_same_record_gives_the_same_bytes_in_every_format() {
    let record = study().record();
    for format in FORMATS.iter().filter(|format| format.is_text) {
        let first = render(format.name, &record, 80, PLAIN);
        assert_eq!(first, render(format.name, &record, 80, PLAIN), "{}", format.name);
        assert!(first.ends_with('\n') && !first.ends_with("\n\n"), "{}", format.name);
    }
}

#[test]
fn json_is_read_back_as_the_summary() {
    let report = report_on(&study().record()).unwrap();
    let read: Document<'_> = serde_json::from_str(&megadir_report::render::json(&report)).unwrap();
    assert_eq!(
        (read.version, read.findings.into_owned(), read.summary.arms.len()),
        (1, report.findings, report.summary.arms.len())
    );
}

#[test]
fn nothing_in_a_record_commands_the_terminal() {
    let mut record = study().record();
    record.header.plan.question = "why?\u{1b}[2J\u{7}".into();
    record.header.plan.arms[2].name = "evil\u{1b}]0;x\u{7}\nline".into();
    record.header.machine.kernel = "Linux\u{9b}31m".into();
    let text = render("table", &record, 80, PLAIN);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}
