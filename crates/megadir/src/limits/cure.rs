//! Remedies for a limit; none may cause damage. Never `e2fsck -D`: before e2fsprogs 1.47.3 it can damage directories with many
//! extents, and a packed index refuses entries sooner. Never a command that creates a file system.

use std::path::{Path, PathBuf};

use super::facts::{Facts, Mount, QuotaOf};
use crate::file_system::FileSystem;

/// A remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cure {
    /// One sentence.
    pub text: String,
    /// Command for a POSIX shell; `None` if one command is not enough.
    pub command: Option<String>,
}

impl Cure {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), command: None }
    }

    pub(super) fn with(text: impl Into<String>, command: String) -> Self {
        Self { text: text.into(), command: Some(command) }
    }
}

pub(super) fn spread() -> Cure {
    Cure::new(
        "spread the entries over several directories: one level of 256, named after a hash, costs next to nothing",
    )
}

pub(super) fn large_dir(facts: &Facts) -> Cure {
    Cure::with(
        "enable large_dir, mounted or not: with a third index level, inodes run out first. It cannot be disabled again; GRUB \
         before 2.12 cannot boot from it; kernels before 5.14 (stable ones: August 2021) can damage such directories",
        format!("tune2fs -O large_dir {}", device(facts)),
    )
}

pub(super) fn full_index(facts: &Facts) -> Vec<Cure> {
    let may_grow = facts.ext4().is_some_and(|ext4| !ext4.features.value.large_dir);
    std::iter::once(spread()).chain(may_grow.then(|| large_dir(facts))).collect()
}

pub(super) fn absent_names() -> Cure {
    Cure::with(
        "drop the cached names and inodes, once (root; what is in use stays, and the next look-ups read the disk); lasting: do not \
         look up names that cannot exist",
        "sync && echo 2 > /proc/sys/vm/drop_caches".to_owned(),
    )
}

/// Recreating a directory releases its size.
pub(super) fn renew(facts: &Facts) -> Cure {
    let text = "recreate the directory by renaming its entries while nothing uses it (keeps owner and mode, but not ACLs; \
                avoid e2fsck -D: before e2fsprogs 1.47.3, see e2fsck -V, it can damage large directories)";
    let mount = facts.mount.as_ref().is_some_and(|mount| Path::new(&mount.point) == facts.path);
    // A path that ends in a name, and is not a mount point, can be renamed.
    let named = facts.path.file_name().filter(|_| !mount && !facts.path.ends_with("."));
    match named.and_then(|_| quoted(&facts.path)) {
        Some(old) => {
            let new = quoted(&with_suffix(&facts.path, ".new")).unwrap_or_default();
            Cure::with(
                text,
                format!(
                    "mkdir {new} && chmod --reference={old} {new} && chown --reference={old} {new} && \
                     find {old} -mindepth 1 -maxdepth 1 -exec mv -n -t {new} {{}} + && rmdir {old} && mv -T {new} {old}"
                ),
            )
        }
        None => Cure::new(text),
    }
}

pub(super) fn dir_index(facts: &Facts) -> Cure {
    Cure::with(
        "enable dir_index, then recreate the directory: only new directories get an index",
        format!("tune2fs -O dir_index {}", device(facts)),
    )
}

pub(super) fn dir_nlink(facts: &Facts) -> Cure {
    Cure::with(
        "enable dir_nlink, mounted or not (programs that count links of directories must cope with 1)",
        format!("tune2fs -O dir_nlink {}", device(facts)),
    )
}

pub(super) fn max_dir_size(facts: &Facts) -> Cure {
    Cure::with(
        "remove the mount option (also from /etc/fstab)",
        format!("mount -o remount,max_dir_size_kb=0 {}", point(facts)),
    )
}

pub(super) fn inodes(facts: &Facts) -> Vec<Cure> {
    if facts.file_system == FileSystem::Tmpfs {
        let doubled = facts.space.inodes.saturating_mul(2);
        let command = format!("mount -o remount,nr_inodes={doubled} {}", point(facts));
        return vec![Cure::with("allow more inodes", command)];
    }
    let mut cures = vec![Cure::new(
        "remove unneeded files, grow the file system (which adds inodes), or move to one with more inodes (ext4 created \
         with -N) or without a fixed number (XFS, btrfs)",
    )];
    if facts.file_system == FileSystem::Xfs {
        cures.push(Cure::with(
            "if space is left, allow inodes a larger share of it (xfs_info shows imaxpct, 5 to 25 by default)",
            format!("xfs_growfs -m 50 {}", point(facts)),
        ));
    }
    cures
}

pub(super) fn blocks() -> Cure {
    Cure::new("remove unneeded files, or grow the file system")
}

pub(super) fn quota(of: QuotaOf, facts: &Facts) -> Cure {
    let point = point(facts);
    match of {
        QuotaOf::Subvolume(number) => Cure::with(
            "raise or remove the quota of the subvolume",
            format!("btrfs qgroup limit none 0/{number} {point}"),
        ),
        QuotaOf::User(number) => Cure::with("raise the user's quota", format!("edquota -u {number}")),
        QuotaOf::Group(number) => Cure::with("raise the group's quota", format!("edquota -g {number}")),
        QuotaOf::Project(number) => Cure::with("raise the project's quota", format!("edquota -P {number}")),
        QuotaOf::Hidden => Cure::new("ask the administrator of the file system for a higher quota"),
    }
}

fn device(facts: &Facts) -> String {
    let source = facts.mount.as_ref().map(|mount| mount.source.as_str());
    source
        .filter(|source| source.starts_with('/'))
        .and_then(|source| quoted(Path::new(source)))
        .unwrap_or("DEVICE".into())
}

fn point(facts: &Facts) -> String {
    let point = |mount: &Mount| quoted(Path::new(&mount.point));
    facts.mount.as_ref().and_then(point).unwrap_or("MOUNTPOINT".into())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// The result cannot become an option; `None` with characters that a terminal cannot show.
fn quoted(path: &Path) -> Option<String> {
    let text = path
        .to_str()
        .filter(|text| !text.is_empty() && !text.chars().any(crate::names::acts_on_terminals))?;
    let text = match text.trim_end_matches('/') {
        "" => "/",
        trimmed => trimmed,
    };
    let text = if text.starts_with('-') { format!("./{text}") } else { text.to_owned() };
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if text.chars().all(plain) { Some(text) } else { Some(format!("'{}'", text.replace('\'', r"'\''"))) }
}

/// A surprising property of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Short, stable name.
    pub name: &'static str,
    /// The property and its effect here, in a sentence or two.
    pub text: String,
    /// Remedies, best first.
    pub cures: Vec<Cure>,
}

#[cfg(test)]
mod tests {
    use super::quoted;
    use std::path::Path;

    #[test]
    fn paths_are_words_of_a_shell() {
        let of = |path: &str| quoted(Path::new(path));
        assert_eq!(of("/var/a b").as_deref(), Some("'/var/a b'"));
        assert_eq!(of("it's").as_deref(), Some(r"'it'\''s'"));
        assert_eq!(of("-rf").as_deref(), Some("./-rf"));
        assert_eq!(of("a/b//").as_deref(), Some("a/b"));
        assert_eq!(of("/").as_deref(), Some("/"));
        assert_eq!((of("a\nb"), of("")), (None, None));
    }
}
