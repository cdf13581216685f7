//! Findings on file systems: the fastest over all kinds of work, incomparable ones, and the source's claims.
//!
//! ```text
//! claim (of, than, takes) -> columns of both -> Overview::against -> outcome -> stands / falls / undecided
//!                               missing: reason      other ground: reason
//! ```
//!
//! A missing file system, another storage and a driver that serves another format each make a claim
//! undecided, with the reason in the sentence. None of them may let it fall.

use std::collections::BTreeSet;

use megadir_record::claims::{FileSystemClaim, FileSystemClaims, Takes};
use megadir_record::{FILE_SYSTEM_GROUP, LabFileSystem, Place};

use super::{Finding, FindingKind};
use crate::summary::{Interval, Outcome, OutcomeClass, Overview, OverviewColumn, Summary, Verdict};
use crate::text;

/// The driver skips inodes that were freed recently, judged by timestamps on disk: ext4's driver without a
/// journal (`recently_deleted` in `fs/ext4/ialloc.c`).
pub(crate) fn passes_over_removed(of: &LabFileSystem) -> bool {
    of.driver == "ext4" && (of.kind == "ext2" || of.name.contains("^has_journal"))
}

/// Findings about all file systems belong to no group, which places them before the groups.
fn finding(text: String) -> Finding {
    Finding { kind: FindingKind::FileSystems, group: None, loud: false, text }
}

pub(super) fn find_fastest(summary: &Summary) -> Vec<Finding> {
    let Some(overview) = &summary.overview else { return Vec::new() };
    let Some(fastest) = fastest(summary, overview) else { return Vec::new() };
    [fastest].into_iter().chain(apart(overview)).map(finding).collect()
}

/// The order of all findings depends on it: a named fastest file system leads the report.
pub(super) fn is_reported(summary: &Summary) -> bool {
    summary.overview.as_ref().is_some_and(|overview| fastest(summary, overview).is_some())
}

pub(super) fn find_apart(summary: &Summary) -> Vec<Finding> {
    let unreported = summary.overview.as_ref().filter(|_| !is_reported(summary));
    unreported.and_then(apart).into_iter().map(finding).collect()
}

/// Words for a file system that is not shown to be slower than the fastest by more than the band, although
/// two of them are named: equality, a difference that only the larger family leaves open, a difference that
/// may be smaller than the band, or nothing.
fn open(outcome: &Outcome, band: f64) -> String {
    let adjusted = outcome.adjusted().and_then(|figure| figure.interval);
    let within = |range: Interval| range.low >= 1.0 / (1.0 + band) && range.high <= 1.0 + band;
    let beyond = |range: Interval| range.low > 1.0 + band || range.high < 1.0 / (1.0 + band);
    let percent = text::chosen(band);
    match outcome.verdict() {
        _ if adjusted.is_some_and(within) => format!("equal within {percent}"),
        // The interval is adjusted for the pairs of file systems alone.
        Some(Verdict::Slower { .. } | Verdict::Faster { .. }) if adjusted.is_some_and(beyond) => {
            format!("not shown to exceed {percent} if adjusted for every kind of work too")
        }
        Some(Verdict::Slower { .. }) => format!("slower, perhaps by less than {percent}"),
        Some(Verdict::Faster { .. }) => format!("faster, perhaps by less than {percent}"),
        _ => "not decided".into(),
    }
}

fn fastest(summary: &Summary, overview: &Overview) -> Option<String> {
    // Pairs may have different numbers of rows in common, since a file system can lack a kind of work.
    let (least, others) = overview.against_least()?;
    let rows = overview.overall.iter().filter(|overall| [overall.of, overall.than].contains(&least));
    let rows: BTreeSet<u64> = rows.map(|overall| overall.rows as u64).filter(|rows| *rows > 0).collect();
    let kinds = |rows: u64| text::counted(rows, "kind of work").replace("kind of works", "kinds of work");
    let over = match (rows.first(), rows.last()) {
        (Some(few), Some(many)) if few < many => {
            format!("the {few} to {many} kinds of work that each has in common with it")
        }
        (_, most) => format!("all {}", kinds(most.copied().unwrap_or(0))),
    };
    let label = |column: usize| &overview.columns[column].label;
    // A fastest one is named only if all others are shown to be slower; this is judged with every row and
    // pair as one family.
    let like = overview.undistinguished();
    let band = summary.rules.equivalence_band;
    let ratio_of = |(column, outcome): &(usize, Outcome)| {
        let open = like.contains(column).then(|| format!(" ({})", open(outcome, band)));
        format!("{} {}{}", label(*column), outcome.ratio_text(), open.unwrap_or_default())
    };
    let first = match &like[..] {
        [_] => format!("{} is the fastest; the time of the others against it", label(least)),
        _ => format!(
            "no {} is shown to be the fastest; the time of the others against {}",
            summary.place_word(),
            label(least)
        ),
    };
    Some(format!("Over {over} (geometric mean), {first}: {}.", text::list(others.iter().map(ratio_of))))
}

/// Columns on other storage than the first: their times are printed and never compared.
fn apart(overview: &Overview) -> Option<String> {
    let first = overview.columns.first()?;
    let apart = overview.columns.iter().filter(|column| !column.comparable);
    let apart: Vec<String> =
        apart.map(|column| format!("{} lies on {}", column.label, column.ground)).collect();
    (!apart.is_empty()).then(|| {
        format!(
            "{}, where {} lies on {}: they differ in more than the file system, so their times stand beside each other and are not \
             compared.",
            text::list(&apart),
            first.label,
            first.ground
        )
    })
}

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let Some(claims) = &summary.claims else { return Vec::new() };
    let Some(FileSystemClaims { words, each, disks_only }) = &claims.file_systems else { return Vec::new() };
    let Some(overview) = &summary.overview else {
        let kind = summary.file_systems.first().map_or(&summary.machine.file_system.kind, |of| &of.label);
        let text = format!(
            "What {} says of file systems ({words}) is undecided here: one file system was measured ({kind}), and it speaks of \
             disks only.",
            claims.who
        );
        return vec![finding(text)];
    };
    // Volumes may lie on different disks, while the source compared file systems on one.
    if summary.compares_volumes() {
        let text = format!(
            "What {} says of file systems ({words}) is undecided here: it speaks of file systems on one disk, and --dir compares \
             volumes as they are; --fs makes file systems to compare.",
            claims.who
        );
        return vec![finding(text)];
    }
    let judge = Judge { summary, overview, who: &claims.who };
    let claimed = each.iter().map(|claim| judge.of(claim));
    let (journal, disks) = (judge.without_journal(), judge.disks().filter(|_| *disks_only));
    let of_group = |text| Finding { group: Some(FILE_SYSTEM_GROUP.to_owned()), ..finding(text) };
    claimed.chain(journal).chain(disks).map(of_group).collect()
}

struct Judge<'a> {
    summary: &'a Summary,
    overview: &'a Overview,
    who: &'a str,
}

impl Judge<'_> {
    fn column(&self, kind: &str) -> Option<usize> {
        self.overview.columns.iter().position(|column| column.name == kind)
    }

    fn missing(&self, kind: &str) -> String {
        let unavailable = self.summary.unavailable.iter().find(|unavailable| unavailable.name == kind);
        match unavailable {
            Some(unavailable) => format!("{kind} is unavailable: {}", unavailable.reason),
            None => format!("{kind} was not measured"),
        }
    }

    /// Outcome over all kinds of work, or the reason why there is none.
    fn pair(&self, of: &str, than: &str) -> Result<Outcome, String> {
        let (first, second) = (self.column(of), self.column(than));
        let first = first.ok_or_else(|| self.missing(of))?;
        let second = second.ok_or_else(|| self.missing(than))?;
        let none = || format!("{of} and {than} lie on different ground or were not measured far enough");
        self.overview.against(first, second).ok_or_else(none)
    }

    /// ext2 and ext3 are served by ext4's driver: the source's drivers no longer exist.
    fn other_drivers<'k>(&self, kinds: impl Iterator<Item = &'k str>) -> Vec<&OverviewColumn> {
        let columns = kinds.filter_map(|kind| self.column(kind)).map(|column| &self.overview.columns[column]);
        columns.filter(|column| column.driver != column.kind).collect()
    }

    fn of(&self, claim: &FileSystemClaim) -> String {
        let claimed = match (claim.takes, self.column(&claim.of)) {
            (Takes::More, _) => self.more(claim),
            (_, None) => format!("is undecided here: {}", self.missing(&claim.of)),
            (Takes::Less, Some(_)) => self.less(claim),
            (Takes::Varies, Some(_)) => self.varies(claim),
        };
        format!("The claim of {} that {} {claimed}.", self.who, claim.words)
    }

    fn more(&self, FileSystemClaim { of, than, .. }: &FileSystemClaim) -> String {
        let pairs: Result<Vec<(&String, Outcome)>, String> =
            than.iter().map(|than| Ok((than, self.pair(of, than)?))).collect();
        let pairs = match pairs {
            Ok(pairs) => pairs,
            Err(reason) => return format!("is undecided here: {reason}"),
        };
        let figures =
            pairs.iter().map(|(than, outcome)| format!("{} of the time of {than}", outcome.ratio_text()));
        let figure = format!("over all kinds of work {of} takes {}", text::list(figures));
        let others = self.other_drivers([of].into_iter().chain(than).map(String::as_str));
        // Only the formats are compared if one driver serves both, and the claim was about drivers.
        if let Some(other) = others.first() {
            return format!(
                "is undecided here: the kernel serves {} by its driver of {}, the drivers that it speaks of are gone. What that makes of \
                 the formats: {figure}",
                text::list(others.iter().map(|column| &column.kind)),
                other.driver
            );
        }
        let classes: Vec<Option<OutcomeClass>> = pairs.iter().map(|(_, outcome)| outcome.class()).collect();
        let claimed = match () {
            () if classes.iter().all(|class| *class == Some(OutcomeClass::Slower)) => "stands here",
            // All pairs must be slower. An undecided pair leaves the claim undecided, even if another one
            // contradicts it.
            () if classes.contains(&Some(OutcomeClass::Open)) => "is undecided here: no difference is shown",
            () => "falls here",
        };
        format!("{claimed}: {figure}")
    }

    fn less(&self, FileSystemClaim { of, than, .. }: &FileSystemClaim) -> String {
        let others: Vec<(&String, Outcome)> =
            than.iter().filter_map(|than| Some((than, self.pair(of, than).ok()?))).collect();
        if others.is_empty() {
            return "is undecided here: nothing that it was compared with was measured".into();
        }
        // A single contrary outcome is enough against "takes the least".
        let against = others.iter().any(|(_, outcome)| outcome.class() == Some(OutcomeClass::Slower));
        let all = others.iter().all(|(_, outcome)| outcome.class() == Some(OutcomeClass::Faster));
        let figures = others.iter().map(|(than, outcome)| format!("{} of {than}", outcome.ratio_text()));
        let claimed = match () {
            () if against => "falls here",
            () if all && others.len() == than.len() => "stands here",
            () if all => "is undecided here: not everything that it was compared with was measured",
            () => "is undecided here: not every difference is shown",
        };
        let served = self.other_drivers(than.iter().map(String::as_str));
        let drivers = served.first().map(|column| {
            let kinds = text::list(served.iter().map(|column| &column.kind));
            format!("; of {kinds} only the formats are compared, for {}'s driver serves them", column.driver)
        });
        let drivers = drivers.unwrap_or_default();
        format!("{claimed}: over all kinds of work it takes {}{drivers}", text::list(figures))
    }

    fn varies(&self, FileSystemClaim { of, than, .. }: &FileSystemClaim) -> String {
        let claimed = than.iter().map(|than| match self.pair(of, than) {
            Ok(outcome) => format!(
                "is for the table to show: over all kinds of work it takes {} of {than}",
                outcome.ratio_text()
            ),
            Err(reason) => format!("is undecided here: {reason}"),
        });
        claimed.collect::<Vec<_>>().join("; ")
    }

    /// ext4's driver without a journal skips inodes that were removed recently, so the cost of creating
    /// depends on earlier removals. If each life began on a new file system, this is excluded; otherwise
    /// the sentence limits the figures to that condition.
    fn without_journal(&self) -> Option<String> {
        let without = self.summary.file_systems.iter().filter(|of| passes_over_removed(of));
        let (reformatted, others): (Vec<&LabFileSystem>, Vec<&LabFileSystem>) =
            without.partition(|of| of.reformatted);
        let labels = |all: &[&LabFileSystem]| {
            format!(
                "Without a journal, as on {}, ext4's driver passes one by one over files that were removed in the last minutes when it makes \
                 others",
                text::list(all.iter().map(|of| &of.label))
            )
        };
        let reformatted_text = (!reformatted.is_empty()).then(|| {
            format!(
                "{}: what rewriting costs there holds where no more were removed than are rewritten, and writing met none, for each life \
                 began on a new file system.",
                labels(&reformatted)
            )
        });
        let others_text = (!others.is_empty()).then(|| {
            format!(
                "{}, and finds them on the disk whatever is mounted again: what writing and rewriting cost holds where as many were removed \
                 just before, as here, and is less where none were.",
                labels(&others)
            )
        });
        let claimed: Vec<String> = reformatted_text.into_iter().chain(others_text).collect();
        (!claimed.is_empty()).then(|| claimed.join(" "))
    }

    /// `true` if a disk below one of the file systems rotates, by the flag in the block stack. Images lie
    /// on the machine's own file system, unless their disk is in memory.
    fn turns(&self) -> bool {
        let on_device = |id| {
            let of = self.summary.file_systems.iter().find(|of| of.id == id);
            of.is_some_and(|of| matches!(of.place, Place::Device { .. }))
        };
        let devices = self.summary.mounted.iter().filter(|mount| on_device(mount.on));
        let images = self
            .summary
            .file_systems
            .iter()
            .any(|of| matches!(of.place, Place::Image { .. }) && of.disk.is_none());
        let own = Some(&self.summary.machine.file_system).filter(|_| images);
        let mut all = devices.map(|mount| &mount.file_system).chain(own).flat_map(|of| &of.block_stack);
        all.any(|device| device.contains(", rotational"))
    }

    /// The source used hard disks: notes if none rotates here or that is unknown.
    fn disks(&self) -> Option<String> {
        let machine = &self.summary.machine;
        // The first lines of the report name the model.
        if self.summary.file_systems.iter().any(|of| of.disk.as_ref().is_some_and(|disk| disk.is_model)) {
            return None;
        }
        let why = match (&machine.hypervisor, self.turns()) {
            // A virtual machine's disks may claim to be anything.
            (Some(_), _) => "a virtual machine does not know whether its disks turn",
            (None, false) => "no disk here turns",
            (None, true) => return None,
        };
        Some(format!(
            "{} says that this holds for disks only, and that differences are far smaller elsewhere: {why}, so the verdicts on its claims hold for \
             this machine's storage, and the cost of seeks is unknown.",
            text::capital(self.who)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Figure;

    #[test]
    fn a_difference_that_only_the_larger_family_leaves_open_does_not_contradict_its_interval() {
        let phrase = |low, high| {
            let (value, interval) = (1.09, Some(Interval { low, high }));
            let verdict = Verdict::Slower { negligible: false };
            let ratio = Figure { value, interval };
            let outcome = Outcome::Judged { ratio, adjusted: interval, verdict, epochs: None };
            open(&outcome, 0.03)
        };
        assert_eq!(phrase(1.06, 1.12), "not shown to exceed 3 % if adjusted for every kind of work too");
        assert_eq!(phrase(1.01, 1.12), "slower, perhaps by less than 3 %");
        assert_eq!(phrase(1.01, 1.02), "equal within 3 %");
    }
}
