//! The published schema of the JSON format matches the Rust types, and every report matches the schema.
//!
//! `cargo test -p megadir-report --features schema schema` compares; with `MEGADIR_BLESS=1` it rewrites
//! `docs/schema/report.schema.json`.

use std::collections::BTreeSet;

use megadir_report::render::Document;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::golden::{golden, killed, render};

/// The schema as published.
fn published() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = serde_json::to_value(generator.into_root_schema_for::<Document<'_>>()).expect("a value");
    let object = schema.as_object_mut().expect("an object");
    // A name, not an address: the project has no public one.
    object.insert("$id".into(), "urn:megadir:report".into());
    object.insert("title".into(), "A report of megadir: `megadir bench report RECORD --format json`".into());
    schema
}

#[test]
fn the_stored_schema_matches_the_types() {
    let text = serde_json::to_string_pretty(&published()).expect("a text") + "\n";
    golden("../../../../docs/schema/report.schema.json", &text);
}

#[test]
fn every_report_matches_the_schema() {
    let schema = published();
    let plain = megadir_report::Style { color: false, unicode: true };
    let mut records: Vec<_> = crate::charted::records();
    records.push(("killed", killed()));
    records.push(("file systems", crate::file_systems::record()));
    records.push(("attributes", crate::attributes::record(&[("getdents-statx", 0.9)])));
    for (of, record) in records {
        let report: Value = serde_json::from_str(&render("json", &record, 80, plain)).expect("JSON");
        let mut faults = Vec::new();
        check(&schema, &schema, &report, "report", &mut faults);
        assert!(faults.is_empty(), "{of}: {faults:#?}");
    }
}

#[test]
fn schema_violations_are_found() {
    let schema = published();
    let good: Value = serde_json::from_str(include_str!("../golden/listing.summary.json")).expect("JSON");
    type Damage = fn(&mut Map<String, Value>);
    let damages: [(&str, Damage); 5] = [
        ("lacks seed", |report| drop(report.remove("seed"))),
        ("report.seed", |report| drop(report.insert("seed".into(), (-1).into()))),
        ("report.study", |report| drop(report.insert("study".into(), 1.into()))),
        ("report.preset", |report| drop(report.insert("preset".into(), "huge".into()))),
        ("report.groups[0]", |report| report["groups"][0]["reading"]["rule"] = "guess".into()),
    ];
    for (place, damage) in damages {
        let mut bad = good.clone();
        damage(bad.as_object_mut().expect("an object"));
        let mut faults = Vec::new();
        check(&schema, &schema, &bad, "report", &mut faults);
        assert!(faults.iter().any(|fault| fault.contains(place)), "{place}: {faults:?}");
    }
}

/// Validates a value, for the part of JSON Schema that Rust types need: an unknown keyword is an error.
///
/// Validation crates would add forty dependencies, half of them for formats and other drafts.
fn check(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let object = match schema {
        Value::Bool(true) => return,
        Value::Object(object) => object,
        _ => return faults.push(format!("{at}: no value suits {schema}")),
    };
    for (keyword, of) in object {
        match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" | "format" => {}
            "$ref" => {
                let place =
                    of.as_str().and_then(|place| place.strip_prefix('#')).expect("a place in the same file");
                check(root, root.pointer(place).expect("it is defined"), value, at, faults);
            }
            "type" => check_type(of, value, at, faults),
            "const" if of != value => faults.push(format!("{at}: {value} is not {of}")),
            "enum" if !of.as_array().expect("a list").contains(value) => {
                faults.push(format!("{at}: {value} is none of {of}"));
            }
            "const" | "enum" => {}
            "minimum" | "maximum" => {
                let [limit, number] = [of, value].map(|number| number.as_f64().unwrap_or(f64::NAN));
                if (keyword == "minimum" && number < limit) || (keyword == "maximum" && number > limit) {
                    faults.push(format!("{at}: {value} is beyond {of}"));
                }
            }
            "oneOf" | "anyOf" => {
                let fits = |schema: &&Value| {
                    let mut faults = Vec::new();
                    check(root, schema, value, at, &mut faults);
                    faults.is_empty()
                };
                let fit = of.as_array().expect("a list").iter().filter(fits).count();
                if fit == 0 || (keyword == "oneOf" && fit > 1) {
                    faults.push(format!("{at}: {fit} alternatives fit {value}"));
                }
            }
            "required" => {
                let there = value.as_object().map(|object| object.keys().collect::<BTreeSet<_>>());
                for name in of.as_array().expect("a list").iter().filter_map(Value::as_str) {
                    if there.as_ref().is_some_and(|there| !there.iter().any(|key| *key == name)) {
                        faults.push(format!("{at} lacks {name}"));
                    }
                }
            }
            "properties" => {
                for (name, of) in of.as_object().expect("an object") {
                    if let Some(value) = value.get(name) {
                        check(root, of, value, &format!("{at}.{name}"), faults);
                    }
                }
            }
            "items" => {
                for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, of, item, &format!("{at}[{place}]"), faults);
                }
            }
            "prefixItems" => {
                let schemas = of.as_array().expect("a list").iter();
                for (place, (of, item)) in schemas.zip(value.as_array().into_iter().flatten()).enumerate() {
                    check(root, of, item, &format!("{at}[{place}]"), faults);
                }
            }
            "minItems" | "maxItems" => {
                let (limit, items) = (of.as_u64().expect("a number"), value.as_array().map(Vec::len));
                let beyond = |items: usize| match keyword.as_str() {
                    "minItems" => (items as u64) < limit,
                    _ => items as u64 > limit,
                };
                if items.is_some_and(beyond) {
                    faults.push(format!("{at}: {items:?} items, {keyword} {limit}"));
                }
            }
            _ => faults.push(format!("{at}: the schema says {keyword}, which this check does not know")),
        }
    }
}

fn check_type(wanted: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    let fits = match wanted {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => false,
    };
    if !fits {
        faults.push(format!("{at}: {value} is no {wanted}"));
    }
}
