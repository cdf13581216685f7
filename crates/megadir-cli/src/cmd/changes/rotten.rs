//! `--verify`: contents that are read, of all files or a share, and hashes that `--update` stores.

use std::sync::Arc;

use megadir::{Dir, names};
use megadir_inventory::changes::{
    Fields, Hashed, Hashing, Kept, ReadOptions, Rotten, Share, Verified, Verify, VerifyOptions,
    verify_contents,
};
use megadir_inventory::{ContentHash, Inventory, Metadata, ScanWatch, Writer};

use super::args::{Args, Only, ROTTEN};
use super::lines::{COMPARED, Lines};
use super::{Run, interrupted};
use crate::cmd::line_form::{LineForm, json_facts, list_path};
use crate::cmd::progress::Progress;
use crate::exit::{self, CliError};
use crate::ui::escape;
use crate::ui::message::{counted, quoted_bytes, tree_path, with_outcomes};
use crate::ui::object::Object;
use crate::ui::output::{Ended, Output};
use crate::ui::sizes;

const WHY: &str = "contents differ although size and times are equal";

impl Run<'_> {
    pub(super) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            threads: self.args.threads.unwrap_or(1),
            kib_per_second_max: self.args.read_rate,
            ..ReadOptions::new(Arc::clone(&self.interrupt.stop))
        }
    }

    pub(super) fn trees(&self) -> Vec<Option<Dir>> {
        self.open().into_iter().map(Result::ok).collect()
    }

    /// Reads the share of all files. Failures are printed as they come, since there may be very many; rotten files that were found before an
    /// interrupt or an error are printed before it, and returned beside it, because they decide the exit code.
    pub(super) fn contents(&mut self, share: Share) -> (Verified, Result<(), CliError>) {
        let mut verified = Verified::default();
        let ended = self.read_contents(share, &mut verified);
        if ended.is_err() {
            self.complain_of(&verified.rotten);
        }
        (verified, ended)
    }

    /// Its failures count for the exit code, and so does a share without any hash: nothing of it was verified, which must not look like
    /// intact files. `verified` is filled also if the reading ends early.
    fn read_contents(&mut self, share: Share, verified: &mut Verified) -> Result<(), CliError> {
        let inventory = Inventory::open(&self.args.inventory)?;
        let options = VerifyOptions {
            share,
            ignored: self.args.ignore.iter().fold(Fields::NOTHING, |all, field| all.with(*field)),
            selection: self.selection.clone(),
            read: self.read_options(),
        };
        let (trees, is_quiet) = (self.trees(), self.args.quiet);
        let read_bytes = Arc::clone(&options.read.read_bytes);
        let (complaints, failures) = (&mut self.complaints, &mut self.failures);
        let mut failed = |error: megadir::Error| {
            complaints.print(&exit::kind(&error), 1, || exit::describe(&error));
            *failures += 1;
        };
        let progress = Progress::new("bytes of contents read", is_quiet);
        let read =
            || verify_contents(inventory, &trees, &options, verified, &mut failed).map_err(CliError::from);
        let ended = progress.of(&read_bytes, read);
        if self.interrupt.is_requested() {
            return Err(interrupted(self.args));
        }
        ended?;
        // With --update they get their hashes.
        if verified.has_no_hash() && !self.args.update {
            let reason = "no file of this share has a hash in the inventory: make them with 'megadir scan --hash all', or with --update";
            if self.args.verifies_all() {
                return Err(CliError::nothing_ran(format!("--verify: {reason}")));
            }
            // Other shares may have some; the changes are worth printing.
            self.fail(reason);
        }
        if !is_quiet {
            let read = sizes::text(read_bytes.load(std::sync::atomic::Ordering::Relaxed));
            eprintln!("megadir: {}", summary(verified, &read));
        }
        Ok(())
    }

    /// Lists of paths are for programs that copy them: a rotten file must not replace its backup, so it is in such a list only on request.
    pub(super) fn complain_of_rotten(&mut self, Verified { rotten, .. }: Verified) -> Vec<Rotten> {
        let is_listed = self.args.gains.is_none() && (!self.args.paths || self.args.only == [Only::Rotten]);
        if !is_listed {
            self.complain_of(&rotten);
        }
        rotten
    }

    fn complain_of(&mut self, rotten: &[Rotten]) {
        for file in rotten {
            let root =
                self.roots.get(file.root as usize).map(|root| names::from_os(root.as_os_str()).to_vec());
            let path = tree_path(&root.unwrap_or_default(), &file.path);
            self.complaints.print(ROTTEN, 1, || format!("{} is rotten: {WHY}", quoted_bytes(&path)));
        }
        self.complaints.print_rest();
    }

    /// Writes the rows of `--update`, with the hashes that `--verify` adds; hashes that still hold are kept. A rotten file keeps the hash of
    /// its contents before, so that it is reported until it is restored. `None` after an interrupt.
    pub(super) fn hashed(
        &mut self,
        mut writer: Writer,
        now: Kept,
        watch: &mut ScanWatch<'_>,
    ) -> Result<Option<(Writer, Metadata)>, CliError> {
        let hashed = match self.args.verify {
            None => return Ok(now.write(watch, &mut writer)?.map(|metadata| (writer, metadata))),
            Some(Verify::Suspects) => Hashed::Suspects,
            Some(Verify::Contents(_)) => Hashed::All,
        };
        let (trees, options) = (self.trees(), self.read_options());
        let (complaints, failures) = (&mut self.complaints, &mut self.failures);
        let is_counted = hashed == Hashed::All;
        let sink = Hashing::new(writer, hashed, trees, now.metadata().started_ns, &options)?;
        let mut sink = sink.reporting(|error| {
            if is_counted {
                complaints.print(&exit::kind(&error), 1, || exit::describe(&error));
                *failures += 1;
            }
        });
        let written = now.write(watch, &mut sink);
        let finished = if matches!(written, Ok(Some(_))) { Some(sink.finish()) } else { None };
        if self.interrupt.is_requested() {
            return Ok(None);
        }
        let (Some(metadata), Some(finished)) = (written?, finished) else { return Ok(None) };
        let (writer, counts, _) = finished?;
        if is_counted && counts.hashed > 0 && !self.args.quiet {
            let files = counted(counts.hashed, "new file", "new files");
            eprintln!("megadir: {files} hashed, {} read", sizes::text(counts.read_bytes));
        }
        Ok(Some((writer, metadata)))
    }
}

fn summary(verified: &Verified, read: &str) -> String {
    let Verified { rotten, intact, changed, unhashed, unreadable } = verified;
    let all = intact + rotten.len() as u64;
    let line = format!("{} verified, {read} read", counted(all, "file", "files"));
    with_outcomes(
        line,
        [
            (rotten.len() as u64, "rotten"),
            (*unreadable, "could not be read"),
            (*changed, "not verified: changed, renamed or gone"),
            (*unhashed, "not verified: without a hash"),
        ],
    )
}

impl Lines {
    pub(super) fn write_rotten(
        &self,
        args: &Args,
        rotten: &[Rotten],
        output: &mut Output,
    ) -> Result<(), Ended> {
        for file in rotten {
            match self.form {
                LineForm::Text { escape } => {
                    output.text.extend_from_slice(format!("{ROTTEN:<13}").as_bytes());
                    escape::name(&mut output.text, &self.path(file.root, &file.path), escape);
                    output.text.extend_from_slice(format!(" ({WHY})\n").as_bytes());
                }
                LineForm::Null => {
                    output.text.extend_from_slice(format!("{ROTTEN}\t").as_bytes());
                    output.text.extend_from_slice(&self.path(file.root, &file.path));
                    output.text.push(0);
                }
                LineForm::Json => self.json_rotten(&mut output.text, file),
                LineForm::Paths { end, escape } if args.only == [Only::Rotten] => {
                    list_path(&mut output.text, &file.path.to_vec(), end, escape);
                }
                LineForm::Paths { .. } => {}
            }
            output.made()?;
        }
        output.flush()
    }

    /// Without the member `change`.
    fn json_rotten(&self, text: &mut Vec<u8>, file: &Rotten) {
        Object::line(text, |object| {
            object.string("outcome", ROTTEN);
            object.name("path", &self.path(file.root, &file.path));
            object.part("old", |part| json_facts(part, &file.facts, &COMPARED));
            for (key, hash) in [("recorded", file.facts.hash), ("found", Some(file.found))] {
                if let Some(ContentHash::Sha256(bytes) | ContentHash::Blake3(bytes)) = hash {
                    object.string(key, &escape::hex(&bytes));
                }
            }
        });
    }
}
