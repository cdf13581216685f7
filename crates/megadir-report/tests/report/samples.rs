//! Samples as rows: documented columns, and equal contents in CSV and Parquet.

use megadir_report::render::{COLUMNS, SampleKind};

use crate::golden::golden;

#[test]
fn every_column_is_documented() {
    let mut page = "# Samples as rows\n\n`megadir bench report RECORD --format csv` writes one row per sample, including warm-up and voided samples: RFC 4180 with a \
         header and LF line ends. `--format parquet` writes the same columns as Parquet (Zstandard), if the program was built with the cargo feature \
         `parquet`; values that are empty in CSV are null there, and `hash` is a number.\n\n\
         To judge a run, take the rows whose `phase` is measure and whose `voided` and `refused_entries` are empty. Of rows with the same `epoch`, `round` and `arm`, take the one \
         with the highest `attempt`. The time of one operation is `elapsed_ns / operations`.\n\n\
         `--format json` writes the summary of a record; its schema is [schema](../schema/report.schema.json). \
         Regenerate this page with `MEGADIR_BLESS=1 cargo test -p megadir-report`.\n\n| column | Parquet | contents |\n|---|---|---|\n"
        .to_owned();
    for column in COLUMNS {
        let kind = match column.kind {
            SampleKind::Number | SampleKind::Hash => "uint64",
            SampleKind::Text => "text",
        };
        page.push_str(&format!("| `{}` | {kind} | {} |\n", column.name, column.description));
    }
    golden("../../../../docs/reference/samples.md", &page);
    for (place, column) in COLUMNS.iter().enumerate() {
        assert!(COLUMNS[..place].iter().all(|other| other.name != column.name), "{}", column.name);
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn builds_without_parquet_explain_how_to_add_it() {
    let missing = megadir_report::format_named("parquet").unwrap().missing.unwrap();
    assert!(missing.contains("--features parquet") && missing.contains("--format csv"), "{missing}");
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use std::sync::Arc;

    use megadir_record::{Record, VoidReason};
    use megadir_report::render::COLUMNS;
    use megadir_report::{Style, View, format_named};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use crate::{csv, report_on};

    fn file(record: &Record) -> Vec<u8> {
        let report = report_on(record).expect("it can be summarised");
        let view = View { width: 80, style: Style { color: false, unicode: true } };
        let mut bytes = Vec::new();
        let format = format_named("parquet").expect("it is readable");
        (format.write)(&report, &view, &mut bytes).expect("it is readable");
        bytes
    }

    /// Contents of a Parquet file as CSV.
    fn as_csv(bytes: Vec<u8>) -> String {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("it is readable");
        let mut text = COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>().join(",");
        for row in Arc::new(reader).get_row_iter(None).expect("it is readable") {
            text.push('\n');
            let fields =
                row.expect("it is readable").into_columns().into_iter().map(|(name, field)| match field {
                    Field::Null => String::new(),
                    Field::ULong(hash) if name == "hash" => format!("{hash:#018x}"),
                    Field::ULong(number) => number.to_string(),
                    Field::Str(word) if word.contains([',', '"']) => {
                        format!("\"{}\"", word.replace('"', "\"\""))
                    }
                    Field::Str(word) => word,
                    other => panic!("{name}: {other:?}"),
                });
            text.push_str(&fields.collect::<Vec<_>>().join(","));
        }
        text + "\n"
    }

    #[test]
    fn parquet_equals_csv() {
        let mut record = crate::single::lookups();
        record.samples[3].voided = Some(VoidReason::ClockJump);
        record.samples[4].counted.hash = u64::MAX - 1;
        record.header.plan.arms[2].name = "a \"b\", c".into();
        assert_eq!(as_csv(file(&record)), csv(&report_on(&record).unwrap()));
        assert_eq!(
            as_csv(file(&crate::golden::killed())),
            csv(&report_on(&crate::golden::killed()).unwrap())
        );
        assert!(file(&record) == file(&record), "the same bytes");
    }

    #[test]
    fn several_row_groups_are_one_file_and_the_run_is_named_in_it() {
        let mut record = crate::golden::killed();
        let first = record.samples.clone();
        while record.samples.len() < 150_000 {
            record.samples.extend_from_slice(&first);
        }
        let samples = record.samples.len();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file(&record))).unwrap();
        let of_file = reader.metadata().file_metadata();
        assert_eq!(of_file.num_rows() as usize, samples);
        assert_eq!(reader.metadata().num_row_groups(), 3);
        let keys = of_file.key_value_metadata().unwrap();
        assert!(keys.iter().any(|key| key.key == "megadir.study" && key.value.as_deref() == Some("listing")));
    }
}
