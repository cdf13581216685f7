//! Record with its evaluation.
//!
//! ```text
//! Record -> Index: samples by arm and round -> Summary: numbers -> warnings: doubts -> findings: sentences
//!                                                   claims taken out <-- Disturbed
//!                                       only alarms among the findings <-- Incomplete, 0 rounds
//! ```
//!
//! Each step sees only the steps before it, except for the two arrows back: a run that other work disturbed
//! judges no claim of a source, and a run without a complete round has no answer. Both are applied here and
//! nowhere else, so that terminal, page and JSON agree on them.

use megadir_record::{Record, Work};

use crate::finding::{self, Finding};
use crate::summary::{GroupSummary, Index, Rounds, Summary, SummaryError, Times, summarize};
use crate::text;
use crate::warning::{self, ARM_LEFT_OUT, Advisory, Warning};

/// Size of the published sources, in questions.
/// Questions of studies are written for this size. Where a run measured another one, its number replaces
/// the words.
const PUBLISHED: &str = "a million files";

/// Each part is computed once from the parts before it.
///
/// `summary` is numbers, `warnings` doubts about them, `findings` sentences: each depends only on the fields
/// before it. `index` finds the samples of an arm, so that charts and data formats need not search the
/// record. A report is never changed after it was computed.
#[derive(Debug)]
pub struct Report {
    pub record: Record,
    pub summary: Summary,
    /// The most serious first.
    pub warnings: Vec<Advisory>,
    /// The most important first.
    pub findings: Vec<Finding>,
    index: Index,
}

impl Report {
    /// Fails if no round was measured, or the record contradicts itself.
    /// The record is taken by value: every later step reads it through the report, so no record is
    /// summarized twice.
    pub fn of(record: Record) -> Result<Self, SummaryError> {
        let index = Index::of(&record)?;
        let rounds = Rounds::new(&record, &index);
        let mut summary = summarize(&record, &rounds)?;
        let warnings = warning::advise(&record, &summary, &rounds);
        // The claims leave the summary before the findings are derived. So no sentence compares a number
        // with a claim, and one sentence gives the reason.
        // A run that must not be used judges no claim.
        let is_disturbed =
            warnings.iter().any(|advisory| matches!(advisory.warning, Warning::Disturbed { .. }));
        let unjudged = if is_disturbed { summary.claims.take() } else { None };
        let mut findings = finding::derive(&summary);
        findings.extend(unjudged.map(|claims| finding::unjudged(&claims.who)));
        // The figures of a round that was not completed stand in its table, and are no answer. Alarms stay.
        if warnings.iter().any(|advisory| is_of_no_round(&advisory.warning)) {
            findings.retain(|finding| finding.loud);
        }
        Ok(Self { record, summary, warnings, findings, index })
    }

    /// View of the samples that count, by arm and round. It borrows record and index, and is cheap to make.
    pub(crate) fn rounds(&self) -> Rounds<'_> {
        Rounds::new(&self.record, &self.index)
    }

    /// Times of single operations of a sample, by its place in the record; decoded once, when the report
    /// was made.
    pub(crate) fn operation_times(&self, place: usize) -> Option<&Times> {
        self.index.times(place)
    }

    /// With the number of files that was measured, which differs from the source's.
    /// Three forms: the question with this run's number in place of the source's; unchanged, if the plan
    /// has no number of files; otherwise with the number in a sentence of its own.
    pub fn question(&self) -> String {
        let plan = &self.record.header.plan;
        let measured = self.measured();
        let question = match plan.question.split_once(PUBLISHED) {
            Some((before, after)) => format!("{before}{measured}{after}"),
            // Limits are met by numbers of files that are not planned.
            None if plan.data.iter().all(|data| data.entries == 0) => plan.question.clone(),
            None => format!("{} Measured with {measured}.", plan.question),
        };
        match plan.file_systems.len() {
            0 | 1 => question,
            _ => format!("{question} And on which {} does it take least?", self.summary.place_word()),
        }
    }

    fn measured(&self) -> String {
        // Several data sets are summed up by the smallest and the largest. Entries of an existing directory
        // may be of any type, so they are not called files.
        let plan = &self.record.header.plan;
        let entries = || plan.data.iter().map(|data| data.entries);
        let (least, most) = (entries().min().unwrap_or(0), entries().max().unwrap_or(0));
        let number = match least == most {
            true => text::count(most),
            false => format!("{} to {}", text::count(least), text::count(most)),
        };
        let is_made = plan.data.iter().all(|data| data.source.made().is_some());
        let each = plan.arms.iter().any(|arm| match &arm.work {
            Work::Files(work) => work.workers.count > 1,
            _ => false,
        });
        let files = match (is_made, most) {
            (true, 1) => "file",
            (true, _) => "files",
            (false, 1) => "entry",
            (false, _) => "entries",
        };
        format!("{number} {files}{}", if each { " a process" } else { "" })
    }

    /// Sentences of the findings that lead, or the reason why there are none. Never empty.
    pub fn answer(&self) -> String {
        let findings: Vec<&str> = self.first_findings().iter().map(|finding| finding.text.as_str()).collect();
        if findings.is_empty() { self.without_answer() } else { findings.join(" ") }
    }

    /// A warning makes the numbers unusable.
    pub(crate) fn has_alarm(&self) -> bool {
        self.warnings.iter().any(|advisory| advisory.loud)
    }

    /// Reason in place of an answer. A run whose other arms were left out compares nothing, and the note on
    /// the first of them has the cause.
    pub(crate) fn without_answer(&self) -> String {
        if self.warnings.iter().any(|advisory| is_of_no_round(&advisory.warning)) {
            return "No round was completed, so there is no answer.".to_owned();
        }
        match self.record.notes.iter().find(|note| note.kind == ARM_LEFT_OUT) {
            Some(note) => format!("Nothing could be compared. {}", note.text),
            None => "There are no findings.".to_owned(),
        }
    }

    /// Findings that are printed with a group's table. Alarms are left out, since they are above all
    /// tables.
    pub(crate) fn of_group<'a>(&'a self, group: &'a GroupSummary) -> impl Iterator<Item = &'a Finding> {
        let is_of = move |finding: &&Finding| !finding.loud && finding.group.as_ref() == Some(&group.name);
        self.findings.iter().filter(is_of)
    }

    /// Findings that answer the question of the study; the same ones on every format.
    pub(crate) fn first_findings(&self) -> Vec<&Finding> {
        finding::first(&self.summary, &self.findings)
    }
}

fn is_of_no_round(warning: &Warning) -> bool {
    matches!(warning, Warning::Incomplete { rounds: 0, .. })
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, sink};

    use super::*;
    use crate::chart::{Width, pictures};
    use crate::summary::DECODED;
    use crate::{FORMATS, Style, View};

    #[test]
    fn each_sample_is_decoded_once_for_all_formats_and_charts() {
        let packed = include_bytes!("../tests/data/lookup.jsonl.gz");
        let lines = BufReader::new(flate2::read::GzDecoder::new(&packed[..]));
        let record = megadir_record::jsonl::read(lines).expect("a whole record");
        let timed = record.samples.iter().filter(|sample| sample.latency.is_some()).count();
        assert!(timed > 0);
        let before = DECODED.get();
        let report = Report::of(record).expect("it has rounds");
        let view = View { width: 80, style: Style { color: false, unicode: true } };
        for format in FORMATS.iter().filter(|format| format.missing.is_none()) {
            (format.write)(&report, &view, &mut sink()).expect("a sink takes all");
        }
        assert!(!pictures(&report, Width::Wide).is_empty());
        assert_eq!(DECODED.get() - before, timed);
    }
}
