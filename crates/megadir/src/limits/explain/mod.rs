//! Finds the limit behind a refused create: exhausted resources, then the mount option, then the directory's size.

#[cfg(windows)]
mod windows;

use std::fmt;

use super::answer::Limits;
use super::cure::{self, Cure};
use super::facts::{Details, Facts, QuotaOf};
use super::model::Limit;
use crate::file_system::FileSystem;
use crate::sizes;

#[cfg(target_os = "linux")]
pub use gather::{explain, explain_at};
#[cfg(windows)]
pub use windows::{explain, explain_at};

/// The operation that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Creating a file or another entry.
    Create,
    /// Creating a directory.
    MakeDirectory,
    /// Writing contents.
    Write,
}

/// Errors that limits cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `ENOSPC`, "No space left on device".
    NoSpace,
    /// `EDQUOT`, "Disk quota exceeded".
    Quota,
    /// `EMLINK`, "Too many links".
    Links,
    /// `EOVERFLOW`, "Value too large for defined data type".
    Overflow,
}

/// The limit that was reached, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The limit.
    pub limit: Limit,
    /// Evidence with figures; a sentence without its full stop.
    pub evidence: String,
    /// Another name may be accepted.
    pub another_name_may_do: bool,
    /// Remedies, best first.
    pub cures: Vec<Cure>,
}

impl Explanation {
    fn new(limit: Limit, evidence: impl Into<String>, cures: Vec<Cure>) -> Self {
        Self { limit, evidence: evidence.into(), another_name_may_do: false, cures }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.evidence)?;
        if self.another_name_may_do {
            f.write_str("; another name may still be taken")?;
        }
        Ok(())
    }
}

/// File systems keep a few in reserve.
const BLOCKS_LEFT_MAX: u64 = 16;
/// XFS and btrfs keep this share plus some bytes in reserve.
const PART_KEPT: f64 = 0.02;
const BYTES_KEPT: u64 = 256 << 20;
/// No fill ended below 0.85 of the full size.
const INDEX_USED_MIN: f64 = 0.8;
/// From this share on, a directory of limited size takes no further block.
const SIZE_USED_MIN: f64 = 0.97;
/// `EXT4_LINK_MAX`.
const EXT4_LINKS: u64 = 65_000;

/// Finds the limit from the facts at the moment of the refusal. A `privileged` process may use root's reserve.
pub fn decide(limits: &Limits, refusal: Refusal, step: Step, privileged: bool) -> Explanation {
    match refusal {
        Refusal::NoSpace => no_space(limits, step, privileged),
        Refusal::Quota => quota(&limits.facts),
        Refusal::Links => links(&limits.facts, step),
        Refusal::Overflow => overflow(&limits.facts),
    }
}

fn no_space(limits: &Limits, step: Step, privileged: bool) -> Explanation {
    let facts = &limits.facts;
    let blocks = || used_blocks(facts, privileged).or_else(|| used_quota(facts));
    match step {
        Step::Write => blocks().unwrap_or_else(|| blocks_of(facts, privileged)),
        Step::Create | Step::MakeDirectory => {
            let found = used_inodes(facts).or_else(blocks).or_else(|| size_option(facts));
            found.or_else(|| index(limits)).unwrap_or_else(|| {
                let evidence =
                    format!("the file system says \"No space left on device\", though {}", free(facts));
                Explanation::new(Limit::Unknown, evidence, Vec::new())
            })
        }
    }
}

fn free(facts: &Facts) -> String {
    let space = &facts.space;
    let inodes = match space.inodes {
        0 => String::new(),
        _ => format!(" and {} inodes", space.inodes_free),
    };
    format!("{} blocks{inodes} are free", space.blocks_available)
}

fn used_inodes(facts: &Facts) -> Option<Explanation> {
    let space = &facts.space;
    if space.inodes == 0 || space.inodes_free > 0 {
        return None;
    }
    let evidence = format!("the file system's inodes are used up (0 of {} free)", space.inodes);
    Some(Explanation::new(Limit::Inodes, evidence, cure::inodes(facts)))
}

fn used_blocks(facts: &Facts, privileged: bool) -> Option<Explanation> {
    let space = &facts.space;
    let left = blocks_left(facts, privileged);
    let keeps_back = matches!(facts.file_system, FileSystem::Xfs | FileSystem::Btrfs);
    let left_bytes = left.saturating_mul(space.unit_bytes);
    let kept = (PART_KEPT * space.blocks as f64) as u64;
    let few = left <= BLOCKS_LEFT_MAX || (keeps_back && left <= kept && left_bytes <= BYTES_KEPT);
    (space.blocks > 0 && few).then(|| blocks_of(facts, privileged))
}

fn blocks_left(facts: &Facts, privileged: bool) -> u64 {
    let space = &facts.space;
    if !privileged {
        return space.blocks_available;
    }
    let reserve = if facts.ext4().is_some() { super::room::ext4_reserve(space) } else { 0 };
    space.blocks_free.saturating_sub(reserve).max(space.blocks_available)
}

fn blocks_of(facts: &Facts, privileged: bool) -> Explanation {
    let space = &facts.space;
    let left = blocks_left(facts, privileged);
    let kept = match space.blocks_free.saturating_sub(left) {
        0 => String::new(),
        kept => format!(", {kept} kept back"),
    };
    let evidence = format!("the file system's blocks are used up ({left} of {} free{kept})", space.blocks);
    Explanation::new(Limit::Blocks, evidence, vec![cure::blocks()])
}

/// XFS gives `ENOSPC` for a project quota.
fn used_quota(facts: &Facts) -> Option<Explanation> {
    let used_up = |(used, allowed): (u64, u64), unit: u64| allowed.saturating_sub(used) < unit;
    let over = facts.quotas.iter().find(|quota| {
        quota.bytes.is_some_and(|bytes| used_up(bytes, facts.space.unit_bytes.max(1)))
            || quota.inodes.is_some_and(|inodes| used_up(inodes, 1))
    });
    over.map(|quota| of_quota(quota.of, facts))
}

fn of_quota(of: QuotaOf, facts: &Facts) -> Explanation {
    let quota = facts.quotas.iter().find(|quota| quota.of == of);
    let bytes = quota.and_then(|quota| quota.bytes);
    let inodes = quota.and_then(|quota| quota.inodes);
    let figures = [(bytes, "bytes"), (inodes, "inodes")].into_iter().filter_map(|(pair, unit)| {
        let (used, allowed) = pair?;
        Some(format!("{used} of {allowed} {unit}"))
    });
    let figures: Vec<String> = figures.collect();
    let figures = if figures.is_empty() { String::new() } else { format!(" ({} used)", figures.join(", ")) };
    let evidence = format!("the quota of {of} is used up{figures}, though {}", free(facts));
    Explanation::new(Limit::Quota(of), evidence, vec![cure::quota(of, facts)])
}

fn quota(facts: &Facts) -> Explanation {
    if let Some(explanation) = used_quota(facts) {
        return explanation;
    }
    // Reserved space counts before it is used.
    let left = |pair: Option<(u64, u64)>| {
        pair.map_or(f64::MAX, |(used, allowed)| 1.0 - used as f64 / allowed.max(1) as f64)
    };
    let nearest = facts.quotas.iter().min_by(|a, b| {
        let of = |quota: &super::facts::Quota| left(quota.bytes).min(left(quota.inodes));
        of(a).total_cmp(&of(b))
    });
    match nearest {
        Some(quota) => of_quota(quota.of, facts),
        None => Explanation::new(
            Limit::Quota(QuotaOf::Hidden),
            format!("a quota that is not visible from here is used up, though {}", free(facts)),
            vec![Cure::new("ask the administrator: root can list quotas with repquota or xfs_quota")],
        ),
    }
}

fn size_option(facts: &Facts) -> Option<Explanation> {
    let kib = facts.max_dir_size_kib()?;
    if facts.directory_bytes >> 10 < kib {
        return None;
    }
    let evidence = format!(
        "the directory has the maximum size of the mount option max_dir_size_kb={kib} ({}), though {}",
        sizes::text(facts.directory_bytes),
        free(facts)
    );
    let cures = vec![cure::max_dir_size(facts), cure::spread()];
    let explanation = Explanation::new(Limit::MountOption, evidence, cures);
    Some(Explanation { another_name_may_do: true, ..explanation })
}

fn index(limits: &Limits) -> Option<Explanation> {
    let facts = &limits.facts;
    let gauge = limits.judgement.gauge.as_ref()?;
    let is_ext4 = matches!(facts.details, Details::Ext4(_));
    if gauge.used() < if is_ext4 { INDEX_USED_MIN } else { SIZE_USED_MIN } {
        return None;
    }
    let (now, full) = (sizes::text(gauge.bytes), sizes::text(gauge.full_bytes));
    if !is_ext4 {
        let evidence = format!(
            "the directory has the maximum size on {} ({now} of {full}), though {}",
            facts.file_system,
            free(facts)
        );
        return Some(Explanation::new(Limit::DirectorySize, evidence, vec![cure::spread()]));
    }
    let evidence = format!(
        "the directory's index is full, though {}: its size is {now}, and with blocks of {} bytes it is full at about {full}",
        free(facts),
        facts.space.block_bytes
    );
    let explanation = Explanation::new(Limit::DirectoryIndex, evidence, cure::full_index(facts));
    Some(Explanation { another_name_may_do: true, ..explanation })
}

fn links(facts: &Facts, step: Step) -> Explanation {
    let without = facts.ext4().is_some_and(|ext4| !ext4.features.value.dir_nlink);
    if step == Step::MakeDirectory || (without && facts.links >= EXT4_LINKS) {
        let cures = if without { vec![cure::dir_nlink(facts), cure::spread()] } else { vec![cure::spread()] };
        let why = if without { ", and dir_nlink is off" } else { "" };
        let evidence =
            format!("the directory has the maximum number of subdirectories ({} links{why})", facts.links);
        return Explanation::new(Limit::LinkCount, evidence, cures);
    }
    let cures = vec![Cure::new("copy the file instead of adding a name")];
    Explanation::new(Limit::LinkCount, "the file has the maximum number of names of the file system", cures)
}

fn overflow(facts: &Facts) -> Explanation {
    if facts.file_system == FileSystem::Btrfs {
        let evidence = "btrfs keeps names with the same crc32c in one item, which is full; such names are usually crafted";
        let cures =
            vec![Cure::new("choose another name; if others choose the names, hash them with a secret key")];
        let explanation = Explanation::new(Limit::NameCollision, evidence, cures);
        return Explanation { another_name_may_do: true, ..explanation };
    }
    let evidence = format!("{} returned EOVERFLOW for an unknown reason", facts.file_system);
    Explanation::new(Limit::Unknown, evidence, Vec::new())
}

#[cfg(target_os = "linux")]
mod gather {

    use std::io;
    use std::os::fd::BorrowedFd;
    use std::path::Path;

    use rustix::io::Errno;

    use super::{Explanation, Refusal, Step, decide};
    use crate::dir::Dir;
    use crate::limits::{Assumptions, limits};

    /// Finds the limit behind a refused create or write; `None` if no limit gives this error.
    ///
    /// Takes a few milliseconds, creates nothing and retries nothing. Call it at once: space freed by other
    /// processes hides the evidence.
    ///
    /// ```no_run
    /// use megadir::limits::{Step, explain};
    /// let directory = megadir::Dir::open("cache")?;
    /// if let Err(error) = std::fs::File::create_new("cache/name")
    ///     && let Some(explanation) = explain(&directory, Step::Create, &error)
    /// {
    ///     eprintln!("{}: {explanation}", explanation.limit);
    /// }
    /// # Ok::<(), megadir::Error>(())
    /// ```
    pub fn explain(directory: &Dir, step: Step, error: &io::Error) -> Option<Explanation> {
        let refusal = refusal(error)?;
        let limits = limits(directory, &Assumptions::MORE_OF_THE_SAME).ok()?;
        Some(decide(&limits, refusal, step, rustix::process::geteuid().is_root()))
    }

    /// As [`explain`], for a directory that is already open; `path` is for messages.
    pub fn explain_at(
        directory: BorrowedFd<'_>,
        path: &Path,
        step: Step,
        error: &io::Error,
    ) -> Option<Explanation> {
        refusal(error)?;
        let directory = directory.try_clone_to_owned().ok()?;
        explain(&Dir::from_descriptor(directory, path), step, error)
    }

    fn refusal(error: &io::Error) -> Option<Refusal> {
        match Errno::from_io_error(error)? {
            Errno::NOSPC => Some(Refusal::NoSpace),
            Errno::DQUOT => Some(Refusal::Quota),
            Errno::MLINK => Some(Refusal::Links),
            Errno::OVERFLOW => Some(Refusal::Overflow),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
