//! A run as one row of CSV.

use megadir_report::summary::{GroupReading, Outcome};

use megadir_report::{Report, Style, View, format_named};

use crate::synthetic::Synthetic;

fn report_of(record: &megadir_record::Record) -> Report {
    Report::of(record.clone()).expect("a report")
}

/// Columns of the header, and fields of the row. No name of these arms needs quotes.
fn row_of(record: &megadir_record::Record) -> Vec<(String, String)> {
    let view = View { width: 100, style: Style { color: false, unicode: true } };
    let text = format_named("history").expect("a format").render(&report_of(record), &view);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    let [columns, fields] = [0, 1].map(|line| lines[line].split(',').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(columns.len(), fields.len(), "{text}");
    columns.into_iter().zip(fields).collect()
}

#[test]
fn the_row_of_a_run_has_the_figures_of_its_report() {
    let mut record = Synthetic::ratios(&[("half", 0.5), ("same", 1.0)]).record();
    record.header.machine.commit = Some("1234abcd".to_owned());
    let row = row_of(&record);
    let field = |column: &str| {
        let found =
            row.iter().find(|(name, _)| name == column).unwrap_or_else(|| panic!("{column}: {row:?}"));
        found.1.as_str()
    };
    assert_eq!(field("commit"), "1234abcd");
    assert_eq!(field("time"), record.header.started_unix_s.to_string());
    let report = report_of(&record);
    let mut judged = 0;
    for group in &report.summary.groups {
        let GroupReading::Compare(comparison) = &group.reading else { continue };
        for contrast in &comparison.rows {
            let Outcome::Judged { ratio, adjusted, .. } = &contrast.outcome else { continue };
            let name = &report.summary.arms[contrast.arm.0 as usize].planned.name;
            let number = |column: &str| field(&format!("{name} {column}")).parse::<f64>().expect("a number");
            assert!((number("ratio") / ratio.value - 1.0).abs() < 1e-6, "{name}");
            assert!((number("ratio low") / adjusted.expect("judged").low - 1.0).abs() < 1e-6, "{name}");
            judged += 1;
        }
    }
    assert!(judged >= 2, "{row:?}");
}

#[test]
fn runs_of_one_study_have_the_same_columns_also_if_one_ended_early() {
    let columns = |record: &megadir_record::Record| {
        row_of(record).into_iter().map(|(column, _)| column).collect::<Vec<_>>()
    };
    let whole = Synthetic::ratios(&[("half", 0.5), ("same", 1.0)]).record();
    let mut short = whole.clone();
    short.samples.truncate(short.samples.len() / 4);
    assert_eq!(columns(&whole), columns(&short));
}
