//! Record with its evaluation.

use megadir_record::Record;

use crate::finding::{self, Finding};
use crate::summary::{GroupSummary, Index, Rounds, Summary, SummaryError, Times, summarize};
use crate::warning::{self, ARM_LEFT_OUT, Advisory};

/// Each part is computed once from the parts before it.
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
    pub fn of(record: Record) -> Result<Self, SummaryError> {
        let index = Index::of(&record)?;
        let rounds = Rounds::new(&record, &index);
        let summary = summarize(&record, &rounds)?;
        let warnings = warning::advise(&record, &summary, &rounds);
        let findings = finding::derive(&summary);
        Ok(Self { record, summary, warnings, findings, index })
    }

    pub(crate) fn rounds(&self) -> Rounds<'_> {
        Rounds::new(&self.record, &self.index)
    }

    pub(crate) fn operation_times(&self, place: usize) -> Option<&Times> {
        self.index.times(place)
    }

    pub fn question(&self) -> String {
        let plan = &self.record.header.plan;
        match plan.file_systems.len() {
            0 | 1 => plan.question.clone(),
            _ => format!("{} And on which {} does it take least?", plan.question, self.summary.place_word()),
        }
    }

    pub fn answer(&self) -> String {
        let findings: Vec<&str> = self.first_findings().iter().map(|finding| finding.text.as_str()).collect();
        if findings.is_empty() { self.without_answer() } else { findings.join(" ") }
    }

    pub(crate) fn without_answer(&self) -> String {
        match self.record.notes.iter().find(|note| note.kind == ARM_LEFT_OUT) {
            Some(note) => format!("Nothing could be compared. {}", note.text),
            None => "There are no findings.".to_owned(),
        }
    }

    pub(crate) fn of_group<'a>(&'a self, group: &'a GroupSummary) -> impl Iterator<Item = &'a Finding> {
        let is_of = move |finding: &&Finding| !finding.loud && finding.group.as_ref() == Some(&group.name);
        self.findings.iter().filter(is_of)
    }

    pub(crate) fn first_findings(&self) -> Vec<&Finding> {
        finding::first(&self.summary, &self.findings)
    }
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
