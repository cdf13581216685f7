//! A record with everything that follows from it.

use megadir_record::Record;

use crate::finding::{self, Finding};
use crate::summary::{Rounds, Summary, SummaryError, summarize};
use crate::warning::{self, Advisory};

/// A record with everything that follows from it, each part computed once from the parts before it.
///
/// [`Report::of`] takes the record, so that no record is summarised twice.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    pub record: Record,
    pub summary: Summary,
    /// Reasons for doubt, the most serious first.
    pub warnings: Vec<Advisory>,
    /// Conclusions from the numbers, the most important first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// # Errors
    ///
    /// [`SummaryError`] if no round was measured, or the record contradicts itself.
    pub fn of(record: Record) -> Result<Self, SummaryError> {
        let rounds = Rounds::of(&record);
        let summary = summarize(&record, &rounds)?;
        let warnings = warning::advise(&record, &summary, &rounds);
        let findings = finding::derive(&summary);
        Ok(Self { record, summary, warnings, findings })
    }

    /// Returns the study's question, extended if the run has several file systems.
    #[must_use]
    pub fn question(&self) -> String {
        let plan = &self.record.header.plan;
        match plan.file_systems.len() {
            0 | 1 => plan.question.clone(),
            _ => format!("{} And on which file system does it take least?", plan.question),
        }
    }

    /// Returns the findings to print first: the first one, and the first of each other group that answers the
    /// question.
    pub(crate) fn first_findings(&self) -> Vec<&Finding> {
        finding::first(&self.summary, &self.findings)
    }
}
