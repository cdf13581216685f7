//! Advice on file systems: the one to use, where another is better, and what is undecided.

use crate::summary::{Overview, OverviewRow, Summary};
use crate::text;

/// More kinds of work than this are counted, not named.
const NAMED_MAX: usize = 6;

/// Returns advice for a run on several comparable file systems.
pub(super) fn advice(summary: &Summary) -> Vec<String> {
    let Some(overview) = &summary.overview else { return Vec::new() };
    let comparable: Vec<usize> = overview.comparable().collect();
    let band = text::chosen(summary.rules.equivalence_band);
    if comparable.len() < 2 {
        return vec![
            "No file system can be recommended: each lies on different storage, so they differ in more than the file system.".into(),
        ];
    }
    let take = overview.undistinguished();
    if take.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = take.iter().map(|column| overview.columns[*column].name.clone()).collect();
    let mut advice = vec![match names.len() {
        1 => format!(
            "Take {} unless you have other reasons: over all kinds of work every other takes longer, by more than {band}.",
            names[0]
        ),
        _ => format!(
            "Take {}, whichever suits otherwise: over all kinds of work none of them is shown to be slower than the one that takes least by more than \
             {band}{}.",
            text::list(&names).replace(" and ", " or "),
            if names.len() < comparable.len() { "; the others are slower" } else { "" }
        ),
    }];
    // Recommendations first, then warnings.
    let (taken, others): (Vec<usize>, Vec<usize>) =
        comparable.iter().copied().partition(|column| take.contains(column));
    for column in taken.iter().chain(&others) {
        let better: Vec<&OverviewRow> =
            overview.rows.iter().filter(|row| row.fastest == Some(*column)).collect();
        let name = &overview.columns[*column].name;
        match (better.is_empty(), take.contains(column), take.len()) {
            (true, ..) | (_, true, 1) => {}
            (_, true, _) => {
                advice.push(format!("Of these {name} is the fastest at {}.", named(overview, &better)));
            }
            (_, false, _) => {
                advice.push(format!("But {name} is the fastest at {}.", named(overview, &better)));
            }
        }
    }
    advice.extend(apart(overview, &take));
    advice
}

/// Reports file systems that are not distinguishable, and rows in which the recommended one is not among them.
fn apart(overview: &Overview, take: &[usize]) -> Option<String> {
    let open = overview.rows.iter().filter(|row| row.best().count() > 1);
    let without = open.clone().filter(|row| !row.best().any(|column| take.contains(&column)));
    let without: Vec<&OverviewRow> = without.collect();
    let beside = match without.len() {
        0 => String::new(),
        _ => format!("; the recommended one is not among them at {}", named(overview, &without)),
    };
    let open = open.count();
    let all = overview.rows.len();
    (open > 0).then(|| {
        format!(
            "For {open} of {all} kinds of work, several are not distinguishable from the fastest{beside}."
        )
    })
}

/// Names kinds of work; the operation alone if all of its kinds are included.
fn named(overview: &Overview, rows: &[&OverviewRow]) -> String {
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        match sections.iter_mut().find(|(section, _)| *section == row.section && !section.is_empty()) {
            Some((_, kinds)) => kinds.push(&row.what),
            None => sections.push((&row.section, vec![&row.what])),
        }
    }
    let one = |(section, kinds): &(&str, Vec<&str>)| {
        let all = overview.rows.iter().filter(|row| row.section == *section).count();
        match (*section, kinds.len() == all) {
            ("", _) => kinds.join("; "),
            (section, true) => section.to_owned(),
            (section, false) => format!("{section} ({})", kinds.join("; ")),
        }
    };
    let told: Vec<String> = sections.iter().map(one).collect();
    match told.len() {
        ..=NAMED_MAX => text::list(&told),
        more => format!("{} and {} more", told[..NAMED_MAX].join(", "), more - NAMED_MAX),
    }
}
