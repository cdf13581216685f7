//! Quotas that apply to new entries of this process: on btrfs from sysfs (Linux 5.9 and later), else by
//! quotactl_fd(2) (Linux 5.14 and later). A quota that cannot be read counts as not set.

use std::os::fd::AsFd;

use megadir_sys::btrfs_info::{file_system_identifier, subvolume};
use megadir_sys::btrfs_search::BtrfsDirectory;
use megadir_sys::quota::{Owner, project, quota};
use rustix::fs::Stat;
use rustix::process::{getegid, geteuid};

use crate::dir::Dir;
use crate::file_system::FileSystem;
use crate::limits::facts::{Quota, QuotaOf};

const SET_GROUP_ID: u32 = 0o2000;

pub(super) fn quotas(directory: &Dir, file_system: FileSystem, status: &Stat) -> Vec<Quota> {
    if file_system == FileSystem::Btrfs {
        return of_subvolume(directory).into_iter().collect();
    }
    let group = if status.st_mode & SET_GROUP_ID != 0 { status.st_gid } else { getegid().as_raw() };
    let mut owners = vec![
        (QuotaOf::User(geteuid().as_raw()), Owner::User(geteuid().as_raw())),
        (QuotaOf::Group(group), Owner::Group(group)),
    ];
    if let Ok(number @ 1..) = project(directory.as_fd()) {
        owners.push((QuotaOf::Project(number), Owner::Project(number)));
    }
    owners.into_iter().filter_map(|(of, owner)| of_owner(directory, of, owner)).collect()
}

fn of_owner(directory: &Dir, of: QuotaOf, owner: Owner) -> Option<Quota> {
    let found = quota(directory.as_fd(), owner).ok()?;
    let limited = |used, max| (max > 0).then_some((used, max));
    let (bytes, inodes) = (limited(found.bytes, found.bytes_max), limited(found.inodes, found.inodes_max));
    (bytes.is_some() || inodes.is_some()).then_some(Quota { of, bytes, inodes })
}

/// The nearer of its limits on referenced and on exclusive bytes.
fn of_subvolume(directory: &Dir) -> Option<Quota> {
    let on = BtrfsDirectory::check(directory.as_fd()).ok()?;
    let (identifier, number) = (file_system_identifier(on).ok()?, subvolume(on).ok()?);
    let group = format!("/sys/fs/btrfs/{}/qgroups/0_{number}", hyphenated(&identifier));
    let read = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("{group}/{name}")).ok()?.trim().parse().ok()
    };
    let limited = |used: &str, max: &str| match read(max)? {
        // 0 or, after removal of a limit, all ones.
        0 | u64::MAX => None,
        max => Some((read(used)?, max)),
    };
    let pairs = [limited("referenced", "max_referenced"), limited("exclusive", "max_exclusive")];
    let nearest = pairs.into_iter().flatten().min_by_key(|(used, max)| max.saturating_sub(*used))?;
    Some(Quota { of: QuotaOf::Subvolume(number), bytes: Some(nearest), inodes: None })
}

fn hyphenated(identifier: &[u8; 16]) -> String {
    let mut text = String::new();
    for (index, byte) in identifier.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn identifiers_are_written_as_sysfs_has_them() {
        let identifier = std::array::from_fn(|index| 16 * index as u8 + 1);
        assert_eq!(super::hyphenated(&identifier), "01112131-4151-6171-8191-a1b1c1d1e1f1");
    }
}
