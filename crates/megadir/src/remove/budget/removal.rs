//! The removal of a selection: oldest first, by one thread, and no more than is needed when each file goes.

use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::last_look::{Found, Look, Looking};
use super::pass::EXCLUDED_MAX;
use super::rows::{Amount, Oldest, Row};
use super::trial::{Trial, WAIT};
use super::{Outcome, Selection};
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::mount_traits::is_read_only;
use crate::remove::engine::{Turn, announce};
use crate::remove::progress::{Call, Counts};
use crate::remove::{Progress, RemoveOptions, Removed};
use crate::threads::lock;
use crate::walk::TreeEvent;

/// Least time between two counts while files are removed, and its multiple of the time of a count.
const COUNT_AFTER: Duration = Duration::from_secs(2);
const COUNT_AFTER_TIMES: u32 = 4;

/// Waits for space that the file system frees late, as btrfs and XFS do.
const WAITS: u32 = 10;

pub(super) const USED: &str = "stays: it was used, changed, replaced or moved meanwhile";
pub(super) const MISSING: &str = "another process has moved, removed or covered it";

/// A removal that is running.
///
/// `counted` and `count_took` are the start and the duration of the last count of the tree: the next is due after a
/// multiple of that duration, so that counting takes a bounded share of the run whatever the size of the tree.
/// `is_read_only` is looked up only for a dry run, which predicts refusals.
struct Run<'r> {
    options: &'r RemoveOptions<'r>,
    call: Call<'r>,
    is_read_only: bool,
    turn: Turn<'r>,
    counted: Instant,
    count_took: Duration,
    trial: Option<Trial>,
}

enum Judged {
    /// It went, or another process has removed it.
    Freed,
    Stays,
    /// Nothing more may go.
    End,
}

impl Selection {
    /// Removes the selected files. Of the options, `workers` is of no effect: files go in their order, one by one. Errors: an option is set
    /// that a selection excludes, another directory has taken the place, or the tree cannot be read again. Other failures are reported to
    /// [`RemoveOptions::on_failure`].
    pub fn remove(&mut self, options: &RemoveOptions<'_>, progress: &Progress) -> Result<Removed> {
        self.check_options(options)?;
        self.outcome.frees_nothing = false;
        let mut run = Run {
            options,
            call: Call::new(progress),
            is_read_only: options.dry_run && is_read_only(&self.directory),
            turn: Turn::new(options, progress),
            counted: Instant::now(),
            count_took: Duration::ZERO,
            trial: None,
        };
        let ended = self.count_first(&mut run).and_then(|()| {
            run.trial = Trial::new(&self.budget, &self.directory, self.need).filter(|_| !options.dry_run);
            self.rounds_until_met(&mut run)
        });
        let cancelled = progress.is_cancelled();
        if ended.is_ok() && !cancelled {
            self.finish(options.dry_run, progress)?;
        }
        ended?;
        let counts = run.call.counts();
        Ok(Removed { counts, complete: !cancelled && counts.failures == 0, cancelled })
    }

    fn check_options(&self, options: &RemoveOptions<'_>) -> Result<()> {
        let others = [
            (options.cross_mounts, "cross_mounts"),
            (options.conditions.is_some(), "conditions, which the selection has"),
            (options.name.is_some(), "name"),
            (options.keep_newest.is_some(), "keep_newest"),
            (options.counts_once, "counts_once"),
            (options.keep.is_some(), "keep"),
            (options.order.is_some(), "order"),
        ];
        match others.into_iter().find(|(is_set, _)| *is_set) {
            None => Ok(()),
            Some((_, name)) => {
                let reason = format!("a budget excludes the option {name}");
                Err(Error::new("remove", self.directory.path(), ErrorKind::BadOption, reason))
            }
        }
    }

    /// The selection may be as old as the answer to a question, and have counted renamed files twice.
    fn count_first(&mut self, run: &mut Run<'_>) -> Result<()> {
        if run.options.dry_run || self.need == 0 {
            return Ok(());
        }
        self.check_place()?;
        self.count_in(run).map(drop)
    }

    fn count_in(&mut self, run: &mut Run<'_>) -> Result<bool> {
        run.counted = Instant::now();
        let is_counted = self.count(&mut until_cancelled(run.call.progress));
        run.count_took = run.counted.elapsed();
        is_counted
    }

    /// Ends by a count: a file of the selection that others remove makes less go, though an earlier count may have noticed it already.
    fn rounds_until_met(&mut self, run: &mut Run<'_>) -> Result<()> {
        loop {
            self.rounds(run)?;
            let removed_by_others = std::mem::take(&mut self.removed_by_others);
            let progress = run.call.progress;
            let is_over = run.options.dry_run || progress.is_cancelled() || self.outcome.frees_nothing;
            if removed_by_others == 0 || self.need > 0 || is_over {
                return Ok(());
            }
            self.need = removed_by_others;
            if !self.count_in(run)? || self.need == 0 {
                return Ok(());
            }
        }
    }

    fn rounds(&mut self, run: &mut Run<'_>) -> Result<()> {
        loop {
            while let Some(row) = self.oldest.rows().get(self.next).copied() {
                // The need is looked up after the wait for a rate.
                if !run.turn.have_place() || self.is_done(run)? {
                    return Ok(());
                }
                match self.judge_row(run, &row)? {
                    Judged::End => return Ok(()),
                    Judged::Freed | Judged::Stays => self.next += 1,
                }
            }
            let is_guarded = lock(&self.reading.excluded).len() <= EXCLUDED_MAX;
            if !self.oldest.is_cut() || !is_guarded || self.is_done(run)? || !self.collect(run)? {
                return Ok(());
            }
        }
    }

    /// `true` if enough is gone by now, also if others have removed it.
    fn is_done(&mut self, run: &mut Run<'_>) -> Result<bool> {
        let progress = run.call.progress;
        if self.need == 0 || progress.is_cancelled() {
            return Ok(true);
        }
        if run.options.dry_run {
            return Ok(false);
        }
        if self.budget.is_of_free() {
            return Ok(self
                .budget
                .free(&self.directory)
                .is_some_and(|free| free.of_users >= self.outcome.limit));
        }
        let due = COUNT_AFTER.max(run.count_took * COUNT_AFTER_TIMES);
        if run.counted.elapsed() < due {
            return Ok(false);
        }
        Ok(!self.count_in(run)? || self.need == 0)
    }

    /// Collects the next files in the order. `false` if there are none.
    fn collect(&mut self, run: &mut Run<'_>) -> Result<bool> {
        let Some(last) = self.oldest.rows().last().map(|row| self.oldest.key(row)) else { return Ok(false) };
        // Both would take twice the memory.
        self.oldest = Oldest::new(0, None);
        self.next = 0;
        let files = Some((self.memory_bytes, Some(last)));
        let passed = self.reading.pass(&self.directory, files, &mut until_cancelled(run.call.progress))?;
        let Some((sums, Some(oldest))) = passed else { return Ok(false) };
        self.oldest = oldest;
        if !run.options.dry_run && !self.budget.is_of_free() {
            let settled = self.reading.measure.of(&sums.settled);
            self.need = self.need.min(settled.saturating_sub(self.outcome.limit));
            self.outcome.unread = self.outcome.unread.max(sums.unread);
        }
        Ok(!self.oldest.rows().is_empty())
    }

    /// Looks at a file, announces its removal, looks again, and removes it.
    fn judge_row(&mut self, run: &mut Run<'_>, row: &Row) -> Result<Judged> {
        let path = self.oldest.path(row).to_vec();
        if run.options.on_removal.is_some() {
            let first = self.look(&path, row);
            let Look::Same(_) = first else { return self.stays(run, &path, row, &first, false) };
            if !announce(run.options, run.call.progress, || self.whole(&path), FileType::File) {
                return Ok(Judged::End);
            }
        }
        if let Err(error) = self.check_place() {
            self.stays(run, &path, row, &Look::Changed, true)?;
            return Err(error);
        }
        match self.look(&path, row) {
            Look::Same(found) => self.remove_found(run, &path, row, &found),
            other => self.stays(run, &path, row, &other, true),
        }
    }

    fn look(&self, path: &[u8], row: &Row) -> Look {
        let excluded = lock(&self.reading.excluded);
        let looking = Looking {
            root: &self.directory,
            began: self.reading.began,
            excluded: &excluded,
            changed_here: &self.changed_here,
            protects_places: self.reading.conditions.protects_places(),
        };
        looking.look(path, row.print)
    }

    fn whole(&self, path: &[u8]) -> PathBuf {
        self.directory.path().join(Path::new(std::ffi::OsStr::from_bytes(path)))
    }

    /// Removes a file that was looked at just now, or in a dry run asks whether it could be.
    ///
    /// The place in the rate is taken before, and the pause is made after the call, because pauses follow the time that
    /// the call took. Only a file that went lessens the need; then the trial may end the removal, which leaves the
    /// outcome as it is so far.
    fn remove_found(&mut self, run: &mut Run<'_>, path: &[u8], row: &Row, found: &Found) -> Result<Judged> {
        if !run.turn.take_place() {
            return Ok(Judged::End);
        }
        let started = run.options.back_off.then(Instant::now);
        let removed = match run.options.dry_run {
            true => found.refusal(run.is_read_only).map_or(Ok(()), Err),
            false => found.remove(),
        };
        run.turn.pause_after(started);
        match removed {
            Ok(()) => {}
            Err(Errno::NOENT) => return self.stays(run, path, row, &Look::Missing, true),
            Err(error) => return self.stays(run, path, row, &Look::Failed(error), true),
        }
        if self.changed_here.len() < EXCLUDED_MAX {
            self.changed_here.extend(found.above);
        }
        let amount = Amount { files: 1, bytes: found.bytes };
        self.outcome.freed.add(&amount);
        run.call.add(&Counts { entries: 1, bytes: amount.bytes, ..Counts::default() });
        let weight = self.reading.measure.of(&amount);
        self.need = self.need.saturating_sub(weight);
        if let Some(trial) = &mut run.trial
            && !trial.add(weight, &self.budget, &self.directory, run.call.progress)
        {
            self.outcome.frees_nothing = true;
            return Ok(Judged::End);
        }
        Ok(Judged::Freed)
    }

    /// Notes a file that this removal leaves. `is_announced` if the log has it already.
    ///
    /// Three ends that differ in the need. A file that was used or changed still occupies its space, so a younger one
    /// goes in its place. A file that another process removed has freed its space, so the need shrinks by it. A
    /// failed removal shrinks the need as well, though nothing was freed: otherwise, in a directory where most
    /// removals are refused, the few files that can be removed would all go. The log gets a line that takes the
    /// announcement back, because its reader would otherwise believe that the file is gone.
    fn stays(
        &mut self,
        run: &Run<'_>,
        path: &[u8],
        row: &Row,
        look: &Look,
        is_announced: bool,
    ) -> Result<Judged> {
        let take_back = |why: &str| {
            if is_announced {
                run.options.take_back(|| self.whole(path), why);
            }
        };
        let weight = self.reading.measure.of(&Amount { files: 1, bytes: row.bytes });
        match look {
            Look::Same(_) | Look::Changed => {
                take_back(USED);
                self.outcome.changed += 1;
                Ok(Judged::Stays)
            }
            Look::Missing => {
                take_back(MISSING);
                self.removed_by_others = self.removed_by_others.saturating_add(weight);
                self.need = self.need.saturating_sub(weight);
                Ok(Judged::Freed)
            }
            Look::Failed(error) => {
                let failure = Error::io("remove", &self.whole(path), (*error).into());
                // No younger file goes instead: where most cannot be removed, the others would all go.
                self.need = self.need.saturating_sub(weight);
                run.call.add(&Counts { failures: 1, ..Counts::default() });
                (run.options.on_failure)(failure);
                Ok(Judged::Stays)
            }
        }
    }

    /// Counts the rest. In a dry run it is computed.
    fn finish(&mut self, dry_run: bool, progress: &Progress) -> Result<()> {
        let measure = self.reading.measure;
        if dry_run {
            let freed = measure.of(&self.outcome.freed);
            let Outcome { now, .. } = self.outcome;
            self.outcome.now = match self.budget.is_of_free() {
                true => now.saturating_add(freed),
                false => now.saturating_sub(freed),
            };
            self.judge();
        } else if self.outcome.freed.files > 0 || self.outcome.selected.files > 0 {
            // A trial has waited already.
            if self.budget.is_of_free() && !self.outcome.frees_nothing {
                self.wait_for_free();
            }
            self.count(&mut until_cancelled(progress))?;
        }
        Ok(())
    }

    /// Waits a moment if the file system has not yet freed the removed files.
    fn wait_for_free(&self) {
        for wait in 0..WAITS {
            if self.budget.free(&self.directory).is_none_or(|free| free.of_users >= self.outcome.limit) {
                break;
            }
            if wait == 0 {
                let _ = rustix::fs::syncfs(&self.directory);
            } else {
                std::thread::sleep(WAIT);
            }
        }
    }
}

fn until_cancelled(progress: &Progress) -> impl FnMut(TreeEvent<'_>) -> ControlFlow<()> {
    |_| if progress.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
