//! Running something as a user without privileges: root is refused nothing, so it proves nothing about permissions.

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
