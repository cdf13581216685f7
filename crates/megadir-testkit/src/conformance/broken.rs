//! Failing, refusing and abandoned readers, and directories that change during a listing: an error is
//! returned once, nothing follows it, and nothing stays open.
//!
//! ```text
//! fails_at   0: open   1: first batch   2 ...   n: last batch   n + 1: end   n + 2: after the end
//! list_faulty, for every fails_at -> a subset of the entries, then the error once, then nothing, nothing open
//! ```

use std::collections::BTreeSet;

use megadir::policy::Choice;
use megadir::{
    BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, Dir, Error, ErrorKind, Listing, ReadOptions, SHARES_MAX, THREADS_MAX,
    policy,
};

use crate::conformance::Ground;
use crate::faulty;
use crate::faulty::Faulty;
use crate::leaks::{descriptors_below, settled};
use crate::seen::{Drained, Seen, drain, identities, oracle};
use crate::tree::{Flat, Maker};

/// An error of the opening counts like an error of the first batch, so that callers see one result.
fn list_faulty(ground: &Ground, directory: &Dir, fails_at: u64, error: fn() -> Error) -> Drained {
    let choice = Choice {
        backend: Faulty::leaked(ground.backend, fails_at, error),
        options: ground.options(4 << 10),
        ..policy::choose(directory, 1).unwrap()
    };
    match Listing::with_choice(directory, choice) {
        Ok(listing) => drain(&mut Relay(listing)),
        Err(error) => Drained { seen: Vec::new(), batches: 0, error: Some(error) },
    }
}

/// A listing as a reader, since `drain` takes readers. It passes calls on unchanged.
struct Relay(Listing);

impl megadir::Reader for Relay {
    fn next_batch(&mut self) -> megadir::Result<Option<megadir::Batch<'_>>> {
        self.0.next_batch()
    }

    fn calls(&self) -> Option<u64> {
        self.0.calls()
    }
}

/// The error is injected at each call in turn, from the first to one past the end, because a backend that
/// reads ahead has its errors at other calls than it returns them. Batches before the error must still be
/// returned: callers use the listed entries. Descriptors are counted at the end, which also finds threads that
/// were not joined.
pub(super) fn every_call(ground: &Ground) {
    let path = Flat::plain(1500).ensure(&ground.directory);
    let directory = Dir::open(&path).unwrap();
    if !ground.accepts(&directory) {
        return;
    }
    let all = oracle(&directory);
    let whole = list_faulty(ground, &directory, u64::MAX, faulty::io);
    assert_eq!(identities(&whole.seen), all);
    // The call after the last batch may fail too. With shares the number of batches varies.
    for fails_at in 0..whole.batches + 3 {
        let (error, kind): (fn() -> Error, _) = match fails_at % 2 {
            0 => (faulty::io, ErrorKind::Io),
            _ => (faulty::not_found, ErrorKind::NotFound),
        };
        let broken = list_faulty(ground, &directory, fails_at, error);
        let found = identities(&broken.seen);
        assert!(found.iter().all(|one| all.binary_search(one).is_ok()), "before the error: a subset");
        match broken.error {
            Some(error) => {
                assert_eq!(error.kind(), kind);
                assert_eq!(broken.batches, fails_at.saturating_sub(1), "the error comes when it happens");
            }
            None => assert_eq!(found, all, "without an error nothing is missing"),
        }
        // Threads return batches in any order, so only a serial backend returns a prefix.
        if !ground.backend.uses_threads() {
            assert_eq!(Seen::names(&broken.seen), Seen::names(&whole.seen[..broken.seen.len()]), "a prefix");
        }
    }
    drop(directory);
    assert_eq!(settled(|| descriptors_below(&path)), 0, "descriptors left open");
}

/// Readers that are given up after 0 to 3 batches, each many times: a thread that is still reading must
/// end, and release its descriptor, without being drained.
pub(super) fn dropped_early(ground: &Ground) {
    let path = Flat::plain(if cfg!(windows) { 1500 } else { 6000 }).ensure(&ground.directory);
    let directory = Dir::open(&path).unwrap();
    if !ground.accepts(&directory) {
        return;
    }
    let calls = [0, 1, 2, 3];
    for given_up_after in calls.into_iter().cycle().take(20) {
        let mut reader = ground.backend.open(&directory, &ground.options(4 << 10)).unwrap();
        for _ in 0..given_up_after {
            let _ = reader.next_batch().unwrap();
        }
    }
    drop(directory);
    assert_eq!(settled(|| descriptors_below(&path)), 0, "descriptors left open");
}

/// Each bad value alone, with all others good, so that the refusal can only be due to it. Serial backends
/// must refuse threads and shares instead of ignoring them. The smallest buffer that is accepted must list
/// correctly, since every longer name then takes a call of its own.
pub(super) fn options(ground: &Ground) {
    let path = Flat::plain(5000).ensure(&ground.directory);
    let directory = Dir::open(&path).unwrap();
    let good = ground.options(128 << 10);
    let mut bad = vec![
        ReadOptions { buffer_bytes: 0, ..good },
        ReadOptions { buffer_bytes: 279, ..good },
        ReadOptions { buffer_bytes: BUFFER_BYTES_MIN - 1, ..good },
        ReadOptions { buffer_bytes: BUFFER_BYTES_MAX + 1, ..good },
        ReadOptions { threads: 0, ..good },
        ReadOptions { threads: THREADS_MAX + 1, threads_max: THREADS_MAX + 1, ..good },
        ReadOptions { threads_max: 0, ..good },
        ReadOptions { threads_max: THREADS_MAX + 1, ..good },
        ReadOptions { shares: 0, ..good },
        ReadOptions { shares: SHARES_MAX + 1, ..good },
    ];
    if !ground.backend.uses_threads() {
        bad.push(good.divided(2, 1));
        bad.push(ReadOptions { threads_max: 2, ..good });
        bad.push(ReadOptions { shares: 2, ..good });
    }
    for options in bad {
        let Err(error) = ground.backend.open(&directory, &options) else { panic!("accepted {options:?}") };
        assert_eq!(error.kind(), ErrorKind::BadOption, "{options:?}: {error}");
        assert_eq!(error.path(), path);
        assert!(error.to_string().contains(ground.backend.name()), "names itself: {error}");
        assert!(!error.to_string().contains('\n'), "one line: {error}");
    }
    let smallest = ReadOptions { buffer_bytes: BUFFER_BYTES_MIN, ..good };
    ground.check(&path, &smallest, "smallest buffer");
}

/// Opening is the library's own, but every backend relies on its refusals.
pub(super) fn paths(ground: &Ground) {
    let missing = ground.directory.join("missing");
    assert_eq!(Dir::open(&missing).unwrap_err().kind(), ErrorKind::NotFound);
    let file = ground.directory.join(format!("file-{}", ground.backend.name()));
    std::fs::write(&file, "").unwrap();
    let error = Dir::open(&file).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::NotADirectory, &*file));
    std::fs::remove_file(&file).unwrap();
    #[cfg(unix)]
    links(ground);
}

/// A link is followed if the caller named it, never below.
#[cfg(unix)]
fn links(ground: &Ground) {
    let parent = Dir::open(&ground.directory).unwrap();
    let link = ground.directory.join(format!("link-{}", ground.backend.name()));
    std::os::unix::fs::symlink(Flat::plain(1).ensure(&ground.directory), &link).unwrap();
    ground.check(&link, &ground.options(4 << 10), "link");
    let below = parent.open_below(link.file_name().unwrap().as_encoded_bytes());
    assert_eq!(below.unwrap_err().kind(), ErrorKind::NotADirectory);
    std::fs::remove_file(&link).unwrap();
}

/// Root may list everything, so the reader runs as another user, who owns the directories. The error must be
/// the kernel's refusal and not an empty listing. A file system may refuse what the mode permits (a server
/// with its own rules), so the backend is compared with a plain attempt. Modes are restored at the end,
/// because the directory is removed by the same user.
#[cfg(target_os = "linux")]
pub(super) fn permissions(ground: &Ground) {
    use crate::seen::{Seen, drain};
    use crate::unprivileged::{NOBODY, may_be_listed, unprivileged};
    use megadir::Result;
    use std::os::unix::fs::{PermissionsExt, chown};
    const ENTRIES: u64 = 3000;
    // The mount's root may be closed to other users.
    let parent_path = ground.directory.join(format!("permissions-{}", ground.backend.name()));
    std::fs::create_dir(&parent_path).unwrap();
    std::fs::set_permissions(&parent_path, PermissionsExt::from_mode(0o755)).unwrap();
    let parent = Dir::open(&parent_path).unwrap();
    let modes: [(&[u8], u32); 4] = [(b"rwx", 0o700), (b"r--", 0o400), (b"--x", 0o100), (b"---", 0)];
    for (name, mode) in modes {
        let path = parent_path.join(std::str::from_utf8(name).unwrap());
        Flat::plain(ENTRIES).build(&path);
        if rustix::process::geteuid().is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let read = |name: &[u8]| -> Result<Vec<Seen>> {
        unprivileged(|| {
            let directory = parent.open_below(name)?;
            let drained = drain(&mut *ground.backend.open(&directory, &ground.options(4 << 10))?);
            drained.error.map_or(Ok(drained.seen), Err)
        })
    };
    let may_be_listed = |name: &[u8]| unprivileged(|| may_be_listed(&parent.open_below(name).unwrap()));
    for name in [&b"--x"[..], b"---"] {
        let refused = read(name).map(|found| found.len());
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
    for name in [&b"rwx"[..], b"r--"] {
        match read(name) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied && !may_be_listed(name) => {}
            Ok(found) => {
                assert_eq!(found.len() as u64, ENTRIES);
                assert!(found.iter().all(|seen| seen.kind == megadir::FileType::File));
            }
            // Threads reopen the directory, which needs search permission.
            Err(error) if ground.backend.uses_threads() => {
                let expected =
                    if name == b"r--" { ErrorKind::PermissionDenied } else { ErrorKind::Unavailable };
                assert!([expected, ErrorKind::Unavailable].contains(&error.kind()), "{error}");
            }
            Err(error) => panic!("{} {name:?}: {error}", ground.backend.name()),
        }
    }
    for (name, _) in modes {
        let path = parent_path.join(std::str::from_utf8(name).unwrap());
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
    }
    std::fs::remove_dir_all(&parent_path).unwrap();
}

// Each case builds its own directory: it is changed, so that no other case may share it.
/// Enough for several 4 KiB buffers; Wine takes a millisecond per file.
const ENTRIES: u64 = if cfg!(windows) { 400 } else { 6000 };

fn make(ground: &Ground, purpose: &str) -> (std::path::PathBuf, BTreeSet<Vec<u8>>) {
    let path = ground.directory.join(format!("{purpose}-{}", ground.backend.name()));
    let flat = Flat::plain(ENTRIES);
    flat.build(&path);
    (path, (0..ENTRIES).map(|index| flat.name(index)).collect())
}

/// POSIX leaves open if an entry that vanishes is returned. Every entry that nothing touched must come
/// once, and none that never existed.
pub(super) fn vanishing(ground: &Ground) {
    let (path, all) = make(ground, "vanishing");
    let directory = Dir::open(&path).unwrap();
    if ground.accepts(&directory) {
        let mut reader = ground.backend.open(&directory, &ground.options(4 << 10)).unwrap();
        let batch = reader.next_batch().unwrap().unwrap();
        let mut seen: Vec<Vec<u8>> = batch.entries().map(|entry| Seen::of(&entry).name).collect();
        let maker = Maker::open(&path);
        let mut untouched = all.clone();
        for name in all.iter().step_by(2) {
            maker.remove(name);
            untouched.remove(name);
        }
        let rest = drain(&mut *reader);
        assert!(rest.error.is_none(), "entries that vanish are no error: {:?}", rest.error);
        seen.extend(rest.seen.into_iter().map(|seen| seen.name));
        let unique: BTreeSet<_> = seen.iter().cloned().collect();
        assert_eq!(unique.len(), seen.len(), "each name once");
        assert!(unique.is_subset(&all), "nothing that never existed");
        assert!(untouched.is_subset(&unique), "every untouched name");
    }
    std::fs::remove_dir_all(&path).unwrap();
}

/// A reader that has begun and one that has not, since the second has no entries in its buffer. Both must
/// end: with the end, or with an error.
pub(super) fn removed(ground: &Ground) {
    let (path, all) = make(ground, "removed");
    let directory = Dir::open(&path).unwrap();
    if !ground.accepts(&directory) {
        std::fs::remove_dir_all(&path).unwrap();
        return;
    }
    let options = ground.options(4 << 10);
    let mut reader = ground.backend.open(&directory, &options).unwrap();
    reader.next_batch().unwrap().unwrap();
    let mut unread = ground.backend.open(&directory, &options).unwrap();
    match std::fs::remove_dir_all(&path) {
        // Wine refuses to remove a directory during a search (FindFirstFile).
        Err(error) if crate::require::is_wine() && error.raw_os_error() == Some(32) => {
            let what = format!("removing what {} lists", ground.backend.name());
            crate::require::unavailable(&what, "Wine does not let directories go that are being searched");
            drop((reader, unread));
            return std::fs::remove_dir_all(&path).unwrap();
        }
        removed => removed.unwrap(),
    }
    for reader in [&mut reader, &mut unread] {
        let rest = drain(&mut **reader);
        assert!(rest.seen.iter().all(|seen| all.contains(&seen.name)));
        // The C library reports the end, the kernel an error. Windows refuses to open a directory that is being
        // removed.
        let may_be_refused = cfg!(windows);
        assert!(rest.error.is_none_or(|error| error.kind() == ErrorKind::NotFound
            || (may_be_refused && error.kind() == ErrorKind::PermissionDenied)));
    }
}
