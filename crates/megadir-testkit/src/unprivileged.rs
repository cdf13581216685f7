//! Runs code as a user without privileges: root is refused nothing, so proves nothing about permissions.
//!
//! On Linux, privileges belong to a thread. A thread of its own drops them for good, and the test's thread
//! keeps its own.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};

use megadir::Dir;
use rustix::fs::RawDir;
use rustix::process::{Gid, Resource, Rlimit, Uid, geteuid, getrlimit, setrlimit};

/// User and group without any rights, as Debian numbers them.
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
        // A panic of the closure is the panic of the caller.
        match thread.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// In a thread of an ordinary user who may start `more` others. For a test program of its own: the limit holds for all
/// threads of this process but root's. The error says why it is impossible.
pub fn with_threads_left<T: Send>(more: u64, run: impl FnOnce() -> T + Send) -> Result<T, String> {
    if !geteuid().is_root() {
        return Err("only root can become a user without other threads".to_owned());
    }
    // The system counts the threads of all processes, and joined threads for a moment: no other call has
    // this user.
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let user = Uid::from_raw((1 << 30) + (CALLS.fetch_add(1, Ordering::Relaxed) << 22) + std::process::id());
    let before = getrlimit(Resource::Nproc);
    let ended = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            setrlimit(Resource::Nproc, Rlimit { current: Some(1 + more), maximum: before.maximum }).unwrap();
            let become_user = rustix::thread::set_thread_res_uid(user, user, user);
            become_user.map_err(|error| format!("cannot become user {}: {error}", user.as_raw()))?;
            Ok(run())
        });
        thread.join()
    });
    setrlimit(Resource::Nproc, before).unwrap();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
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
