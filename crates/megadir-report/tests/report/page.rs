//! The page is self-contained, loads nothing, and runs no code from a record.

use std::io::Read;

use base64::Engine;
use megadir_record::Record;
use megadir_report::page::{self, advice, html};

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
            "What to do",
            "How far to trust it",
            "How to repeat it",
            "How it was measured",
            "The machine",
            "The raw samples",
            "megadir bench run",
        ] {
            assert!(bare.contains(part) || part == "What to do", "{of}: no {part}");
        }
        for never in ["<script", "http://", "https://", "<img", "@import", "url(h"] {
            assert!(!bare.contains(never), "{of}: {never}");
        }
        let wide = bare.matches("<div class=\"wide\">").count();
        assert!(wide > 0 && wide == bare.matches("<div class=\"narrow\">").count(), "{of}");
    }
}

#[test]
fn the_answer_comes_first_and_what_is_loud_before_it() {
    let good = page(&crate::listing::study().record());
    let place = |page: &str, what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    assert!(place(&good, "<h1>") < place(&good, "class=\"answer\""));
    assert!(place(&good, "class=\"answer\"") < place(&good, "<figure>"));
    assert!(place(&good, "<figure>") < place(&good, "What to do about it"));
    assert!(!good.contains("class=\"loud\""));
    let bad = page(&killed());
    assert!(place(&bad, "class=\"loud\"") < place(&bad, "class=\"answer\""));
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
    assert_eq!(csv, megadir_report::render::csv(&report_on(&record).unwrap()));
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
fn advice_follows_from_the_verdicts() {
    let advice_of = |record: &Record| advice(&report_on(record).unwrap());
    let listing = advice_of(&crate::listing::study().record());
    assert!(
        listing.iter().any(|line| line
            == "backend: use split 128 KiB, 2 threads rather than getdents 128 KiB (1.84x faster)."),
        "{listing:?}"
    );
    assert!(
        listing.iter().any(|line| line.contains("begin with what costs most: attributes")),
        "{listing:?}"
    );
    let full = advice_of(&crate::refusal::record(&[9_600, 10_100], 10_000, &[]));
    assert!(full[0].contains("below 8 500 entries"), "{full:?}");
    // Users cannot choose if a name exists.
    let lookups = advice_of(&crate::pairs::record([1.8, 1.2]));
    assert!(lookups.is_empty(), "{lookups:?}");
    let same = advice_of(&crate::synthetic::Synthetic::ratios(&[("same", 1.0)]).record());
    assert!(same[0].contains("none differs by more than 3 %"), "{same:?}");
}

#[test]
fn of_several_file_systems_it_is_told_which_to_take_and_each_thing_once() {
    let advice = advice(&report_on(&crate::file_systems::record()).unwrap());
    assert!(advice[0].starts_with("Take ext4 unless you have other reasons"), "{advice:?}");
    for (place, line) in advice.iter().enumerate() {
        assert!(!advice[..place].contains(line), "{line} is printed twice");
    }
    // Properties common to several file systems take one line.
    let mut record = crate::file_systems::record();
    let plan = &mut record.header.plan;
    for planned in &mut plan.arms {
        planned.role = megadir_record::Role::Arm;
    }
    let pairs = |on: u32| {
        let like = plan.arms.iter().find(|planned| planned.id.0 == 3 * on + 1).unwrap();
        let other = plan.arms.iter().find(|planned| planned.id.0 == 3 * on).unwrap();
        megadir_record::Pair {
            what: "this".into(),
            than: "that".into(),
            at: like.bare_name(),
            wall_time: false,
            arm: like.id,
            to: other.id,
        }
    };
    let groups: Vec<megadir_record::Group> = (0..3)
        .map(|on| megadir_record::Group {
            name: format!("ways-{}", plan.file_systems[on as usize].name),
            of: Some("ways".into()),
            title: "Which?".into(),
            answers: false,
            rule: megadir_record::GroupRule::Pairs { pairs: vec![pairs(on)] },
        })
        .collect();
    plan.groups.extend(groups);
    let works: Vec<megadir_record::Work> = plan.arms.iter().map(|planned| planned.work.clone()).collect();
    for planned in plan.arms.iter_mut().filter(|planned| planned.id.0 % 3 == 1) {
        planned.work = works[planned.id.0 as usize - 1].clone();
    }
    let advice = page::advice(&report_on(&record).unwrap());
    let told: Vec<&String> =
        advice.iter().filter(|line| line.contains("use this rather than that")).collect();
    assert_eq!(told.len(), 1, "{advice:?}");
    assert!(told[0].starts_with("stat, 1 process (on ext2, ext3 and ext4): "), "{told:?}");
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
