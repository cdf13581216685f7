//! Method, machine and the command that repeats the run.

use super::Page;
use super::table::every;
use crate::render::{arms_grid, file_system_lines, machine_details, machine_line};
use crate::report::Report;
use crate::text;

pub(super) fn section(page: &mut Page, report: &Report) {
    let summary = &report.summary;
    page.element("h2", "How to repeat it");
    page.push(&format!("<pre><code>{}</code></pre>\n", crate::chart::escape(&command(&summary.command))));
    page.element("h2", "How it was measured");
    let source = [format!("Source: {}.", report.record.header.plan.source.trim_end_matches('.'))];
    let kept = summary.keeps.iter().map(|line| format!("Kept: {line}"));
    let mended = summary.mends.iter().map(|line| format!("Mended: {line}"));
    let rules = [
        format!(
            "Every arm once in each round, in random order; ratios and differences are taken within rounds. Intervals {}, equivalence band {}.",
            text::chosen(summary.rules.confidence),
            text::chosen(summary.rules.equivalence_band)
        ),
        format!("Seed {}; megadir {}.", summary.seed, summary.machine.version),
    ];
    page.list(source.into_iter().chain(kept).chain(mended).chain(rules));
    page.element("h2", "The machine");
    let mitigations = &summary.machine.mitigations;
    let mitigations = (!mitigations.is_empty()).then(|| format!("Mitigations: {}.", mitigations.join("; ")));
    let made = file_system_lines(summary).into_iter();
    page.list(made.chain([machine_line(summary)]).chain(machine_details(summary)).chain(mitigations));
    page.element("h2", "All arms");
    every(page, "Every arm by itself", &arms_grid(summary));
}

/// Quotes a command line for a shell.
fn command(words: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./:=,+@%".contains(c))
    };
    let quoted = |word: &String| match plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
