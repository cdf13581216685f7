//! Runs code as a user without privileges: root is refused nothing, so proves nothing about permissions.

use std::mem::MaybeUninit;

use megadir::Dir;
use rustix::fs::RawDir;
use rustix::process::{Gid, Uid, geteuid};

pub const NOBODY: u32 = 65534;

/// In its own thread, which passes no privileges on.
pub fn unprivileged<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if geteuid().is_root() {
                let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
                // System calls, not the C library's functions, change this thread alone.
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

/// Checked with another decoder than megadir's. Servers may demand more than read permission.
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
