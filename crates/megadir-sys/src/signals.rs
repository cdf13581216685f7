//! Dispositions of signals.

use std::mem::MaybeUninit;

/// `nohup` starts programs with SIGHUP ignored.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only writes the present one.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: a call that succeeded has written it.
    asked == 0 && unsafe { now.assume_init() }.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use super::is_ignored;

    #[test]
    fn what_is_ignored_is_known() {
        assert!(is_ignored(libc::SIGPIPE) && !is_ignored(libc::SIGUSR2) && !is_ignored(1000));
    }
}
