//! Every chart draws all its data without overlaps and describes it in words; golden files.

use megadir_record::Record;
use megadir_report::chart::{CHARTS, Picture, Width, chart_named, main_picture, pictures};

use crate::charted::records;
use crate::golden::golden;
use crate::report_on;

/// Draws every picture of a record.
fn draw(record: &Record, width: Width) -> Vec<Picture> {
    let report = report_on(record).expect("it can be summarised");
    pictures(&report, width)
}

#[test]
fn every_chart_draws_a_suitable_record() {
    let records = records();
    assert_eq!(records.len(), CHARTS.len());
    for (chart, record) in &records {
        let report = report_on(record).unwrap();
        for (width, suffix) in [(Width::Wide, ""), (Width::Narrow, ".narrow")] {
            let drawn = chart_named(chart).unwrap().pictures(&report, width);
            let first = drawn.first().unwrap_or_else(|| panic!("{chart} draws nothing"));
            golden(&format!("chart-{chart}{suffix}.svg"), &first.document());
        }
    }
}

#[test]
fn the_page_about_reports_shows_every_chart() {
    const PAGE: &str = "../../../../docs/how-to-read-a-report.md";
    let written = include_str!("../../../../docs/how-to-read-a-report.md");
    let (before, _) = written.split_once("## Charts\n").expect("the section is there");
    let mut page = "## Charts\n\nThe question that each chart answers. These show synthetic records; `megadir bench report RECORD --format svg --chart NAME` draws\n\
         yours. HTML reports use a narrow form on phones. Regenerate this section with `MEGADIR_BLESS=1 cargo test -p megadir-report`.\n"
        .to_owned();
    for chart in CHARTS {
        let (name, question) = (chart.name, chart.question);
        page.push_str(&format!("\n### {question}\n\n`{name}`\n\n![{name}](../crates/megadir-report/tests/golden/chart-{name}.svg)\n"));
    }
    golden(PAGE, &format!("{before}{page}"));
}

#[test]
fn no_text_covers_another_or_leaves_the_picture() {
    for (of, record) in records() {
        for width in [Width::Wide, Width::Narrow] {
            for picture in draw(&record, width) {
                let (right, bottom) = picture.size();
                let texts = picture.texts();
                for (place, text) in texts.iter().enumerate() {
                    let inside =
                        text.left >= 0.0 && text.top >= 0.0 && text.right <= right && text.bottom <= bottom;
                    assert!(inside, "{of}, {} {width:?}: {text:?} in {right} x {bottom}", picture.chart);
                    let covered = texts[..place].iter().find(|other| text.covers(other));
                    assert!(covered.is_none(), "{of}, {} {width:?}: {text:?} and {covered:?}", picture.chart);
                }
            }
        }
    }
}

#[test]
fn charts_have_descriptions_and_numbers() {
    for (of, record) in records() {
        for picture in draw(&record, Width::Wide) {
            let document = picture.document();
            assert!(!picture.title.is_empty() && picture.description.len() > 20, "{of}, {}", picture.chart);
            assert!(
                !document.contains("NaN") && !document.contains("inf"),
                "{of}, {}: {document}",
                picture.chart
            );
            assert!(document.contains("<title") && document.contains("<desc"), "{of}, {}", picture.chart);
            assert!(document.ends_with("</svg>\n") && document.len() < 60_000, "{of}, {}", picture.chart);
        }
    }
}

#[test]
fn main_chart_shows_the_group_of_the_answer() {
    let record = crate::listing::study().record();
    let report = report_on(&record).unwrap();
    let main = main_picture(&report, Width::Wide).unwrap();
    assert_eq!((main.chart, main.group.as_deref()), ("shares", Some("decomposition")));
}

#[test]
fn injected_effects_are_recovered() {
    let (_, record) = records().into_iter().find(|(chart, _)| *chart == "main-effects").unwrap();
    let drawn = draw(&record, Width::Wide);
    let effects = drawn.iter().find(|picture| picture.chart == "main-effects").unwrap();
    // One of two levels triples the time: the square root of 3 above and below the mean.
    let description = &effects.description;
    let effect = |level: &str| -> f64 {
        description.split(&format!("{level}: ")).nth(1).unwrap().split('x').next().unwrap().parse().unwrap()
    };
    assert!((effect("asked for any name") - 3_f64.sqrt()).abs() < 0.02, "{description}");
    assert!((effect("names present") - 1.0 / 1.5_f64.sqrt()).abs() < 0.02, "{description}");
}

#[test]
fn many_blocks_are_drawn_as_ranges() {
    let mut record =
        crate::synthetic::Synthetic { rounds: 3_000, ..crate::synthetic::Synthetic::ratios(&[]) }.record();
    record.samples[100].voided = Some(megadir_record::VoidReason::StolenTime);
    let strip = draw(&record, Width::Wide).into_iter().find(|picture| picture.chart == "run-order").unwrap();
    assert!(strip.document().len() < 80_000, "{}", strip.document().len());
}
