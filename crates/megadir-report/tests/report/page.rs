//! The page is self-contained, loads nothing, and runs no code from a record.

use std::io::Read;

use base64::Engine;
use megadir_record::Record;
use megadir_report::page::html;

use crate::charted::records;
use crate::golden::killed;
use crate::report_on;

fn page(record: &Record) -> String {
    let report = report_on(record).expect("it can be summarised");
    html(&report)
}

/// A page without its raw samples.
fn without_samples(page: &str) -> String {
    let (before, rest) = page.split_once("base64,").expect("a page has its samples");
    format!("{before}{}", rest.split_once('"').expect("a link ends").1)
}

#[test]
fn a_page_is_small_complete_and_loads_nothing() {
    for (of, record) in records() {
        let page = page(&record);
        let bare = without_samples(&page);
        assert!(bare.len() < 500_000, "{of}: {}", bare.len());
        for part in [
            "How far to trust it",
            "How to repeat it",
            "How it was measured",
            "The machine",
            "The raw samples",
            "megadir bench run",
        ] {
            assert!(bare.contains(part), "{of}: no {part}");
        }
        for never in ["<script", "http://", "https://", "<img", "@import", "url(h"] {
            assert!(!bare.contains(never), "{of}: {never}");
        }
        let wide = bare.matches("<div class=\"wide\">").count();
        assert!(wide > 0 && wide == bare.matches("<div class=\"narrow\">").count(), "{of}");
    }
}

#[test]
fn answer_comes_first_after_loud_warnings() {
    let good = page(&crate::listing::study().record());
    let place = |page: &str, part: &str| page.find(part).unwrap_or_else(|| panic!("no {part}"));
    assert!(place(&good, "<h1>") < place(&good, "class=\"answer\""));
    assert!(place(&good, "class=\"answer\"") < place(&good, "<figure>"));
    assert!(!good.contains("class=\"loud\"") && !good.contains("Do not act on these numbers"));
    let bad = page(&killed());
    assert!(place(&bad, "class=\"loud\"") < place(&bad, "class=\"answer doubtful\""));
    assert!(bad.contains("Do not act on these numbers"));
}

#[test]
fn samples_are_in_the_page_as_they_are_in_the_csv() {
    let record = crate::listing::study().record();
    let page = page(&record);
    let data = page.split("base64,").nth(1).unwrap().split('"').next().unwrap();
    let packed = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    let mut csv = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut csv).unwrap();
    assert_eq!(csv, crate::csv(&report_on(&record).unwrap()));
}

#[test]
fn nothing_in_a_record_becomes_markup() {
    let mut record = crate::listing::study().record();
    let evil = "</title><script>alert(1)</script>\"'><img src=x onerror=y>\u{202e}";
    let plan = &mut record.header.plan;
    plan.question = evil.into();
    plan.source = evil.into();
    plan.study = evil.into();
    plan.arms[2].name = evil.into();
    plan.groups[1].title = evil.into();
    record.header.command = vec![evil.into()];
    record.header.machine.kernel = evil.into();
    let page = page(&record);
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{202e}'), "{page}");
}

#[test]
fn however_much_was_measured_a_page_without_samples_stays_below_500_kb() {
    let mut record = crate::file_systems::record();
    // Forty groups of hundreds of arms, each with pictures.
    let pairs = record.header.plan.groups[0].clone();
    let arms: Vec<String> =
        (0..20).map(|n| format!("a rather long name of an arm that does something, {n}")).collect();
    let ratios: Vec<(&'static str, f64)> = arms.iter().map(|name| (&*name.clone().leak(), 1.3)).collect();
    let mut other = crate::synthetic::Synthetic::ratios(&ratios).record();
    let group = other.header.plan.groups[0].clone();
    for n in 0..60 {
        let name = format!("group-{n}");
        other.header.plan.groups.push(megadir_record::Group { name: name.clone(), ..group.clone() });
        other.header.plan.arms.iter_mut().for_each(|planned| planned.groups.push(name.clone()));
    }
    let page = page(&other);
    let bare = without_samples(&page);
    assert!(bare.len() < 500_000, "{}", bare.len());
    assert!(bare.contains("more would make this page too large"), "omitted charts are counted");
    record.header.plan.groups.push(pairs);
    assert!(without_samples(&self::page(&record)).len() < 500_000);
}
