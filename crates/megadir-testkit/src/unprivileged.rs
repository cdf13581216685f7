//! Running something as a user without privileges: root is refused nothing, so it proves nothing about permissions.

use std::mem::MaybeUninit;

use megadir::Dir;
use rustix::fs::RawDir;
use rustix::process::{Gid, Uid, geteuid};

/// The user and group that have no privileges, as most systems number them.
pub const NOBODY: u32 = 65534;

/// Runs something in a thread of its own as a user without privileges, where this process has them.
///
/// Threads that it starts have none either.
///
/// # Panics
///
/// When `run` does.
pub fn unprivileged<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if geteuid().is_root() {
                let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
                // System calls, not the C library's functions: they change this thread alone.
                rustix::thread::set_thread_groups(&[]).unwrap();
                rustix::thread::set_thread_res_gid(group, group, group).unwrap();
                rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            }
            run()
        });
        match thread.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Tells whether the system lets a user list a directory just opened; asked by a decoder other than ours.
///
/// A local one that was opened may be listed. Servers may refuse it, and demand more than permission to read.
pub fn may_be_listed(directory: &Dir) -> bool {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        if entry.is_err() {
            return false;
        }
    }
    true
}
