//! Contents that differ although nothing else does: no program changed them, so a disk, a cable or a memory did.
//!
//! Each file that is the one of its row by size, mtime, ctime and inode number is read again and compared with its recorded hash.
//! A file that differs in any of these is a change, which [`compare`](super::compare()) reports. Suspects are left out too: their
//! times do not show whether a program changed them.

use std::time::SystemTime;

use megadir::mount_traits::Clock;
use megadir::{Dir, Error, ErrorKind, FileType, MountTraits, Result, names};
use twox_hash::XxHash64;

use super::proof::{Proof, Racy, has_contents};
use super::{Fields, Selection, interrupted};
use crate::contents::hasher::Function;
use crate::contents::opened::Trusted;
use crate::contents::window::{BYTES_MAX, Contents, Hands, ROWS_MAX, ReadOptions, Reader, Wanted};
use crate::path::TreePath;
use crate::row::{ContentHash, Facts, Row};
use crate::rows::{Rows, SeenRows};
use crate::waiting::WaitingRows;

/// Part of the files of a tree, chosen by a hash of their paths, so that it is the same in every run.
///
/// ```
/// use megadir_inventory::changes::Share;
/// let nights: Vec<Share> = (20_000..20_030).map(|day| Share::of_day(1, 30, day)).collect();
/// assert_eq!(nights.iter().filter(|night| night.has(0, b"photos/a.jpg")).count(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    parts: u64,
    first: u64,
    count: u64,
}

impl Share {
    /// All files.
    pub const ALL: Self = Self { parts: 1, first: 0, count: 1 };

    /// `count` of `parts` parts, other ones on each day: in as many days as it takes, every file has its turn. Days are counted from any
    /// day on. `parts` and `count` are at least 1.
    #[must_use]
    pub fn of_day(count: u32, parts: u32, day: u64) -> Self {
        let (count, parts) = (u64::from(count.max(1)), u64::from(parts.max(1)));
        Self { parts, first: (day % parts) * count % parts, count }
    }

    /// `true` for an entry whose turn it is: `root` is the index of its tree, `path` relative to that.
    pub fn has(&self, root: u32, path: &[u8]) -> bool {
        let turn = XxHash64::oneshot(u64::from(root), path) % self.parts;
        (turn + self.parts - self.first) % self.parts < self.count
    }
}

/// Entries whose contents are compared with their hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Suspects, by [`verify`](super::verify()).
    Suspects,
    /// Suspects, and this share of all others that have a hash, by [`verify_contents`].
    Contents(Share),
}

impl Verify {
    /// Parses `suspects`, `all`, `1/30`, which is the share of today (UTC), or `1/30@7`, that of day 7. Errors: one line that names the accepted forms.
    ///
    /// ```
    /// use megadir_inventory::changes::{Share, Verify};
    /// assert_eq!(Verify::parse("all"), Ok(Verify::Contents(Share::ALL)));
    /// assert_eq!(Verify::parse("1/30@7"), Ok(Verify::Contents(Share::of_day(1, 30, 7))));
    /// assert!(Verify::parse("2/1").is_err());
    /// ```
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let wanted = || {
            format!(
                "'{text}' is not a share: write suspects, all, 1/30 (another thirtieth each day), or 1/30@7 for that of day 7"
            )
        };
        match text {
            "suspects" => return Ok(Self::Suspects),
            "all" => return Ok(Self::Contents(Share::ALL)),
            _ => {}
        }
        let (share, day) = text.split_once('@').map_or((text, None), |(share, day)| (share, Some(day)));
        let (count, parts) = share.split_once('/').ok_or_else(wanted)?;
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let (Some(count), Some(parts)) = (number(count), number(parts)) else { return Err(wanted()) };
        let day = match day {
            Some(day) => day.parse().map_err(|_| wanted())?,
            None => {
                SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() / DAY_S
            }
        };
        if count > parts {
            return Err(format!("'{text}' is more than everything: write all"));
        }
        Ok(Self::Contents(Share::of_day(count, parts, day)))
    }
}

const DAY_S: u64 = 24 * 60 * 60;

/// Settings of [`verify_contents`].
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Files to read.
    pub share: Share,
    /// Fields that do not count: without `ctime` and `inode`, a copy is verified by the inventory of its original.
    pub ignored: Fields,
    /// Conditions on the entries.
    pub selection: Selection,
    /// How files are read.
    pub read: ReadOptions,
}

/// Entry whose contents differ from its hash, although nothing else does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotten {
    /// Index of the root.
    pub root: u32,
    /// Path relative to the root.
    pub path: TreePath,
    /// Attributes, with the recorded hash.
    pub facts: Facts,
    /// Hash of the contents today.
    pub found: ContentHash,
}

/// Result of [`verify_contents`]; numbers of entries.
#[derive(Debug, Default)]
pub struct Verified {
    /// Sorted by path.
    pub rotten: Vec<Rotten>,
    /// Read, with the contents of the hash.
    pub intact: u64,
    /// Not read, because they changed, are gone, or were renamed.
    pub changed: u64,
    /// Not read, because they have no hash.
    pub unhashed: u64,
    /// They could not be read, or were read differently the second time.
    pub unreadable: u64,
}

impl Verified {
    /// `true` if there were files and none of them had a hash: nothing was verified, which must not look like intact files.
    #[must_use]
    pub fn has_no_hash(&self) -> bool {
        let judged = self.intact + self.changed + self.unreadable + self.rotten.len() as u64;
        judged == 0 && self.unhashed > 0
    }
}

/// Reads the files of an inventory again whose turn it is, and compares them with their hashes. `roots` are the trees today, and `failed` receives
/// each file that cannot be read: where a file system with checksums refuses rotten contents, that is an error and no result.
///
/// The pages of each file are dropped from the cache first, so that the device is read, and afterwards. A file whose hash differs is read a second time:
/// if that has the recorded hash, the file is intact on the device, and the fault is elsewhere. `verified` has what was found so far, also
/// after an error. Errors: the inventory is damaged; a stop was requested.
pub fn verify_contents<R: Rows + Send>(
    rows: R,
    roots: &[Option<Dir>],
    options: &VerifyOptions,
    verified: &mut Verified,
    failed: &mut dyn FnMut(Error),
) -> Result<()> {
    let metadata = rows.metadata().clone();
    let pass = Pass { reader: Reader::new(&options.read), roots, trusted: trusted(roots, options.ignored) };
    let mut waiting = WaitingRows::default();
    let sight = options.selection.sight.clone();
    let mut rows: Box<dyn Rows + Send> = match sight {
        Some(conditions) => Box::new(SeenRows::new(rows, conditions)),
        None => Box::new(rows),
    };
    let mut path = Vec::new();
    while let Some(row) = rows.next_row()? {
        let facts = &row.facts;
        if !matches!(facts.kind, FileType::File | FileType::Symlink) || !has_contents(facts) {
            continue;
        }
        row.key.path_into(&mut path);
        let is_selected = || options.selection.sight.is_none() || options.selection.accepts(&path, facts);
        if !options.share.has(row.key.root, &path) || !is_selected() {
            continue;
        }
        let racy = || Racy::of_device(&metadata, row.key.root, facts.device, metadata.started_ns);
        if facts.hash.is_none() {
            verified.unhashed += 1;
        } else if !racy().is_suspect(facts) {
            waiting.push(&row);
            if waiting.is_full(ROWS_MAX, BYTES_MAX) {
                pass.read(&mut waiting, verified, failed)?;
            }
        }
    }
    pass.read(&mut waiting, verified, failed)
}

/// Attributes that prove on each mount that a file is the one of its row.
fn trusted(roots: &[Option<Dir>], ignored: Fields) -> Vec<Trusted> {
    let of = |root: &Option<Dir>| {
        let Some(root) = root else { return Trusted::ALL };
        let traits = MountTraits::of(root);
        let proof = Proof::of(root.file_system(), &traits);
        let is_kept = traits.clock != Clock::Stopped;
        Trusted {
            modified: !ignored.contains(Fields::MODIFIED),
            changed: is_kept && proof.change_times && !ignored.contains(Fields::CHANGED),
            inode: traits.has_lasting_inodes() && !ignored.contains(Fields::INODE),
        }
    };
    roots.iter().map(of).collect()
}

struct Pass<'p> {
    reader: Reader,
    roots: &'p [Option<Dir>],
    trusted: Vec<Trusted>,
}

enum Outcome {
    Intact,
    Changed,
    Rotten(ContentHash),
    Unreadable(Error),
}

impl Pass<'_> {
    /// Reads the files of a window and counts their outcomes. These come in the order in which files were read, by several threads, and are
    /// reported in the order of paths.
    fn read(
        &self,
        waiting: &mut WaitingRows,
        verified: &mut Verified,
        failed: &mut dyn FnMut(Error),
    ) -> Result<()> {
        let wanted = (0..waiting.len()).collect();
        let mut outcomes =
            self.reader.in_disk_order(waiting, wanted, self.roots, |hands, row| self.compare(hands, row))?;
        outcomes.sort_by_key(|(index, _)| *index);
        for (index, outcome) in outcomes {
            match outcome {
                Outcome::Intact => verified.intact += 1,
                Outcome::Changed => verified.changed += 1,
                Outcome::Unreadable(error) => {
                    verified.unreadable += 1;
                    failed(error);
                }
                Outcome::Rotten(found) => {
                    let Row { key, facts, .. } = waiting.row(index);
                    let path = TreePath::from(key.parent).join(key.name);
                    verified.rotten.push(Rotten { root: key.root, path, facts, found });
                }
            }
        }
        waiting.clear();
        if self.reader.is_stopped() { Err(interrupted("verify")) } else { Ok(()) }
    }

    fn compare(&self, hands: &mut Hands<'_>, row: &Row<'_>) -> Outcome {
        let Some(recorded) = row.facts.hash else { return Outcome::Changed };
        let trusted = self.trusted.get(row.key.root as usize).copied().unwrap_or(Trusted::ALL);
        let wanted = Wanted { function: Function::of(&recorded), trusted, from_device: true };
        let found = match hands.hash(row, wanted) {
            Contents::Hashed(found) if found == recorded => return Outcome::Intact,
            Contents::Hashed(found) => found,
            Contents::Changed | Contents::Stopped => return Outcome::Changed,
            Contents::Unreadable(error) => return Outcome::Unreadable(error),
        };
        match hands.hash(row, wanted) {
            Contents::Hashed(again) if again == found => Outcome::Rotten(found),
            // What the disk holds is not known, whichever reading was as recorded.
            Contents::Hashed(_) => Outcome::Unreadable(self.unsteady(row)),
            Contents::Changed | Contents::Stopped => Outcome::Changed,
            Contents::Unreadable(error) => Outcome::Unreadable(error),
        }
    }

    fn unsteady(&self, row: &Row<'_>) -> Error {
        let root = self.roots.get(row.key.root as usize).and_then(Option::as_ref);
        let mut path = Vec::new();
        row.key.path_into(&mut path);
        let below = names::to_os(&path).unwrap_or_default();
        let path = root.map_or_else(|| below.clone().into_owned().into(), |root| root.path().join(&below));
        let reason = "read differently twice: a fault of memory, cable, controller or disk, and not of the contents alone";
        Error::new("verify", &path, ErrorKind::Io, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::Share;

    #[test]
    fn every_path_has_its_turn_once_in_as_many_days_as_there_are_parts() {
        for (count, parts) in [(1, 30), (1, 7), (3, 10), (2, 5), (1, 1), (4, 3)] {
            let days = u64::from(parts).div_ceil(u64::from(count));
            for start in [0, 20_788, 20_789] {
                let shares: Vec<Share> =
                    (start..start + days).map(|day| Share::of_day(count, parts, day)).collect();
                for number in 0..500 {
                    let path = format!("d{}/f{number}", number % 7);
                    let turns = shares.iter().filter(|share| share.has(0, path.as_bytes())).count();
                    assert!(turns >= 1, "{count}/{parts} from day {start}: {path}");
                    assert!(turns == 1 || parts % count != 0 || count > parts, "{count}/{parts}: {path}");
                }
            }
        }
    }

    #[test]
    fn parts_are_about_equal() {
        let share = Share::of_day(1, 30, 5);
        let chosen = (0..30_000).filter(|number| share.has(0, format!("d/{number}").as_bytes())).count();
        assert!((850..1150).contains(&chosen), "{chosen} of 30000");
    }
}
