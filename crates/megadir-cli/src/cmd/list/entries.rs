//! Filters listed entries, then counts, summarises, sorts or prints them.

use std::path::Path;

use megadir::{Attributes, Batch, Conditions, DirPath, Entry, Place, StatMask};

use super::examined::{Complaint, Examined};
use super::lines::Label;
use super::{Run, Stop, limit};

/// Conditions on attributes are checked later.
fn accepts(conditions: &Conditions, place: &Place, entry: &Entry<'_>) -> bool {
    conditions.accepts_type(entry.kind) && conditions.accepts_name(place, entry.name)
}

impl Run<'_> {
    pub(super) fn rows<'e>(
        &mut self,
        rows: impl Iterator<Item = (Entry<'e>, &'e Attributes)>,
        label: &Label,
        directory: &DirPath,
    ) -> Result<(), Stop> {
        let Some(mut examined) = self.examined.take() else { return Ok(()) };
        if self.complaint.as_ref().is_some_and(|complaint| complaint.directory != *directory) {
            self.complain();
        }
        self.summary.iter_mut().for_each(|summary| summary.enter(directory));
        let listed = self.each_row(&mut examined, rows, label, directory);
        self.examined = Some(examined);
        listed?;
        self.output.pause()?;
        if self.left == 0 { Err(Stop::Limit) } else { Ok(()) }
    }

    /// Order of the checks: type and name first, since they need no attributes; then errors, which are noted for
    /// entries that could have met the conditions; then attributes. An entry that vanished since it was listed is
    /// left out, without an error. Counting, summary, sample and lines exclude each other. `left` shrinks only for printed
    /// lines: with `--sort`, lines are held back, and the limit applies to the sorted ones.
    fn each_row<'e>(
        &mut self,
        examined: &mut Examined,
        rows: impl Iterator<Item = (Entry<'e>, &'e Attributes)>,
        label: &Label,
        directory: &DirPath,
    ) -> Result<(), Stop> {
        let tags = self.sampled.as_ref().map(|sampled| sampled.tags(label));
        for (mut entry, row) in rows {
            if row.have.contains(StatMask::TYPE) {
                entry.kind = row.kind;
            }
            if row.has_vanished() || !accepts(&self.conditions, &self.place, &entry) {
                continue;
            }
            if row.error != 0 {
                let first = || Complaint::new(directory, entry.name, row.error);
                self.complaint.get_or_insert_with(first).count += 1;
            }
            if !self.conditions.accepts_attributes(row) {
                continue;
            }
            self.began = true;
            self.unreturned.iter_mut().for_each(|unreturned| unreturned.note(row));
            if self.args.count {
                self.counted += 1;
            } else if let Some(summary) = &mut self.summary {
                summary.add(label.prefix(), &entry, row);
            } else if let Some((sampled, tags)) = self.sampled.as_mut().zip(tags.as_ref()) {
                sampled.add(tags, label, &entry);
            } else if examined.add(label, &entry, row, &mut self.output.text)? {
                self.left -= 1;
                self.output.made()?;
            }
            if self.left == 0 {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn complain(&mut self) {
        if let Some(complaint) = self.complaint.take() {
            self.summary.iter_mut().for_each(|summary| summary.complained(complaint.count));
            self.fail_below(&complaint.kind(), complaint.count, &complaint.error());
        }
    }

    /// For entries without attributes. A batch without conditions and within the limit is counted or printed as a
    /// whole, which is the fast path of plain listings; everything else goes entry by entry. With `--memory`, or if
    /// only the best of a limit are kept, entries come here without attributes and go to `examined`. `pause` writes
    /// at a batch's end if the output waited long enough, so a slow directory shows its entries.
    pub(super) fn batch(&mut self, batch: Batch<'_>, label: &Label) -> Result<(), Stop> {
        let everything = self.conditions.is_none() && batch.len() as u64 <= self.left;
        if self.args.count {
            let is_accepted = |entry: &Entry<'_>| accepts(&self.conditions, &self.place, entry);
            let count = if everything { batch.len() } else { batch.entries().filter(is_accepted).count() };
            self.counted += count as u64;
            return Ok(());
        }
        self.began |= !batch.is_empty();
        if let Some(mut examined) = self.examined.take() {
            let rows = batch.entries().zip(std::iter::repeat(&Attributes::NOTHING));
            let listed = self.each_row(&mut examined, rows, label, &Path::new("").into());
            self.examined = Some(examined);
            return listed;
        }
        if let Some(sampled) = &mut self.sampled {
            let (conditions, place, tags) = (&*self.conditions, &self.place, sampled.tags(label));
            for entry in batch.entries().filter(|entry| accepts(conditions, place, entry)) {
                sampled.add(&tags, label, &entry);
            }
            return Ok(());
        }
        if let Some(collected) = &mut self.collected {
            let (conditions, place) = (&*self.conditions, &self.place);
            for entry in batch.entries().filter(|entry| accepts(conditions, place, entry)) {
                collected.add(label, &entry);
            }
            return Ok(());
        }
        if everything {
            self.lines.batch(&mut self.output, batch, label)?;
            self.left -= batch.len() as u64;
        } else {
            let Self { conditions, place, lines, output, left, .. } = &mut *self;
            let accepted = batch.entries().filter(|entry| accepts(conditions, place, entry));
            for entry in accepted.take(limit(*left)) {
                lines.entry(&mut output.text, label, &entry);
                *left -= 1;
                output.made()?;
            }
        }
        self.output.pause()?;
        if self.left == 0 { Err(Stop::Limit) } else { Ok(()) }
    }
}
