//! Misspelt keys in `[claims]` and `[[published]]`: the record's types accept further keys, for records of
//! later programs.
//!
//! A reader of records must be lenient and a reader of studies strict, with the same types. So the keys of
//! a study are compared with a value in which every field is present, turned into JSON.

use megadir::nearest::choices;
use megadir_record::claims::{
    AsSlow, ClaimedGrowth, FileSystemClaim, FileSystemClaims, ListedAttributes, SlowerPairs, Takes,
};
use megadir_record::{Claims, ContentKind, Published};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

pub(super) fn unknown_key(text: &str) -> Option<(usize, String)> {
    let study = DeTable::parse(text).ok()?;
    let study = study.get_ref();
    let known = |key: &str, value: serde_json::Result<Value>| {
        study.get(key).and_then(|found| below(found.get_ref(), &value.unwrap_or_default(), key))
    };
    let claims = known("claims", serde_json::to_value(every_claim()));
    claims.or_else(|| known("published", serde_json::to_value(full_published())))
}

/// First key in `found`, depth first, that `full` lacks: its byte offset, and the message. Elements of an
/// array have the keys of the first element of the full value.
fn below(found: &DeValue<'_>, full: &Value, place: &str) -> Option<(usize, String)> {
    match (found, full) {
        (DeValue::Table(table), Value::Object(known)) => table.iter().find_map(|(key, value)| {
            let name = key.get_ref().as_ref();
            match known.get(name) {
                Some(full) => below(value.get_ref(), full, &format!("{place}.{name}")),
                None => {
                    let choices = choices(name, known.keys().map(String::as_str));
                    Some((key.span().start, format!("unknown key '{name}' in [{place}]: {choices}")))
                }
            }
        }),
        (DeValue::Array(all), Value::Array(full)) => {
            all.iter().find_map(|value| below(value.get_ref(), full.first()?, place))
        }
        _ => None,
    }
}

/// A new field is missing here until it is added.
fn every_claim() -> Claims {
    let text = String::new;
    let claim = FileSystemClaim { words: text(), of: text(), than: vec![text()], takes: Takes::More };
    let listed = ListedAttributes { methods: vec![text()], in_kind: vec![text()], least: 0, most: 0 };
    Claims {
        who: text(),
        buffer_is_the_cause: true,
        growth: Some(ClaimedGrowth::Linear),
        flat_filling: true,
        slower_pairs: vec![SlowerPairs { group: text(), words: text(), layout: Some(text()) }],
        listed_attributes: Some(listed),
        as_slow: Some(AsSlow { method: text(), needs: text(), words: text() }),
        file_systems: Some(FileSystemClaims { words: text(), each: vec![claim], disks_only: true }),
    }
}

fn full_published() -> [Published; 1] {
    let text = || Some(String::new());
    [Published {
        quantity: String::new(),
        value: 0.0,
        unit: String::new(),
        group: text(),
        ours: text(),
        unlike: text(),
        entries: Some(0),
        content: Some(ContentKind::Json),
    }]
}

#[cfg(test)]
mod tests {
    use super::super::{BUILT_IN, from_text};

    #[test]
    fn a_misspelt_key_of_a_claim_is_refused_with_its_place_and_the_nearest_word() {
        for (study, from, to, message) in [
            ("listing", "growth = ", "grwth = ", "unknown key 'grwth' in [claims]: did you mean 'growth'?"),
            (
                "listing",
                "buffer_is_the_cause = true",
                "buffer_is_the_case = true",
                "unknown key 'buffer_is_the_case' in [claims]: did you mean 'buffer_is_the_cause'?",
            ),
            (
                "layout",
                "layout = \"prefix:2/2\"\n\n[[claims.slower_pairs]]",
                "layouts = \"prefix:2/2\"\n\n[[claims.slower_pairs]]",
                "unknown key 'layouts' in [claims.slower_pairs]: did you mean 'layout'?",
            ),
            (
                "smallfile",
                "disks_only = true",
                "disk_only = true",
                "unknown key 'disk_only' in [claims.file_systems]: did you mean 'disks_only'?",
            ),
            (
                "smallfile",
                "{ words = \"ext3 is slow\", of",
                "{ words = \"ext3 is slow\", thn = [], of",
                "unknown key 'thn' in [claims.file_systems.each]: did you mean 'than'?",
            ),
            (
                "listing",
                "ours = \"slow\"",
                "our = \"slow\"",
                "unknown key 'our' in [published]: did you mean 'ours'?",
            ),
        ] {
            let own = BUILT_IN.iter().find(|built_in| built_in.name == study).unwrap().text;
            let text = own.replacen(from, to, 1);
            assert_ne!(text, own, "{from}");
            let changed = text
                .lines()
                .zip(own.lines())
                .position(|(changed_line, own_line)| changed_line != own_line)
                .unwrap()
                + 1;
            let error = from_text("own.toml", &text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("own.toml:{changed}:")), "{error}");
            assert!(error.contains(message) && !error.contains('\n'), "{error}");
        }
    }
}
