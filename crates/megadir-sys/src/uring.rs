//! statx(2) through io_uring: many names with one system call (Linux 5.6 and later). The kernel passes each
//! request to its own thread, so local file systems gain nothing. A request writes to memory long after its
//! submission; [`StatxRing::statx`] returns only when all are answered.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, types};
use rustix::fs::{AtFlags, Statx, StatxFlags};

pub const NAMES_MAX: usize = 256;

/// The kernel fills the whole structure.
const _: () = assert!(size_of::<Statx>() == 256);

/// Waits when the system is out of memory.
const WAITS_MAX: u32 = 1000;
const WAIT: Duration = Duration::from_millis(1);

pub struct StatxRing {
    ring: IoUring,
    answers: Box<[MaybeUninit<Statx>]>,
    /// 0 if the call succeeded.
    errors: Vec<i32>,
    /// A call was cut short: the ring contains addresses that are no longer valid.
    broken: bool,
}

impl StatxRing {
    /// Fails with `ENOSYS` before Linux 5.1, `EINVAL` before 5.6, `EPERM` if an administrator or container
    /// forbids io_uring.
    pub fn new() -> io::Result<Self> {
        let ring = IoUring::new(NAMES_MAX as u32)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::Statx::CODE) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let answers = Box::new_uninit_slice(NAMES_MAX);
        Ok(Self { ring, answers, errors: Vec::with_capacity(NAMES_MAX), broken: false })
    }

    /// Answers or error numbers in the order of the names, at most [`NAMES_MAX`]. After an error of
    /// io_uring_enter(2) every later call fails too.
    pub fn statx(
        &mut self,
        directory: BorrowedFd<'_>,
        names: &[&CStr],
        flags: AtFlags,
        mask: StatxFlags,
    ) -> io::Result<impl Iterator<Item = Result<&Statx, i32>>> {
        if names.len() > NAMES_MAX || self.broken {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        self.errors.clear();
        self.errors.resize(names.len(), libc::ECANCELED);
        // An error leaves it set: the ring's contents are then never submitted.
        self.broken = true;
        let mut queue = self.ring.submission();
        for (number, (name, answer)) in (0..).zip(names.iter().zip(&mut self.answers)) {
            let answer = answer.as_mut_ptr().cast::<types::statx>();
            let request = opcode::Statx::new(types::Fd(directory.as_raw_fd()), name.as_ptr(), answer);
            let request = request.flags(flags.bits() as i32).mask(mask.bits()).build().user_data(number);
            // SAFETY: the request's memory is borrowed until this function returns, the answers exclusively,
            // and `wait` returns when the kernel has answered every request that it took. It never takes the
            // rest, since nothing is submitted once the ring is broken.
            let pushed = unsafe { queue.push(&request) };
            pushed.map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))?;
        }
        drop(queue);
        self.wait(names.len())?;
        self.broken = false;
        let answers = self.answers.iter().zip(&self.errors);
        Ok(answers.map(|(answer, error)| match error {
            // SAFETY: the kernel reported success for this one, and so filled all of it.
            0 => Ok(unsafe { answer.assume_init_ref() }),
            error => Err(*error),
        }))
    }

    /// Waits until the kernel has answered all that it took. Must not panic: borrowed memory would end while
    /// the kernel writes to it.
    fn wait(&mut self, pushed: usize) -> io::Result<()> {
        let (mut answered, mut waits) = (0, 0);
        let mut refused = None;
        loop {
            for answer in self.ring.completion() {
                answered += 1;
                waits = 0;
                if let Some(error) = self.errors.get_mut(answer.user_data() as usize) {
                    *error = answer.result().min(0).saturating_neg();
                }
            }
            let left = self.ring.submission().len();
            if answered >= if refused.is_some() { pushed.saturating_sub(left) } else { pushed } {
                break;
            }
            if refused.is_some() {
                // Submitted requests are answered without another call, eventually.
                std::thread::sleep(WAIT);
                continue;
            }
            match self.ring.submit_and_wait(pushed - answered) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_short_of_memory(&error) && waits < WAITS_MAX => {
                    waits += 1;
                    std::thread::sleep(WAIT);
                }
                Err(error) => refused = Some(error),
            }
        }
        refused.map_or(Ok(()), Err)
    }
}

/// `true` if a later attempt may succeed.
fn is_short_of_memory(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY))
}

#[cfg(test)]
mod tests {
    use super::{NAMES_MAX, StatxRing};
    use rustix::fs::{AtFlags, StatxFlags, statx};
    use std::ffi::CString;
    use std::fs::File;
    use std::os::fd::AsFd;

    const FLAGS: AtFlags = AtFlags::SYMLINK_NOFOLLOW;

    /// Ring, or the report that containers may forbid it.
    fn ring() -> Option<StatxRing> {
        StatxRing::new().inspect_err(|error| eprintln!("unavailable: uring: {error}")).ok()
    }

    #[test]
    fn answers_come_in_the_order_of_the_names() {
        let Some(mut ring) = ring() else { return };
        let directory = File::open(env!("CARGO_MANIFEST_DIR")).unwrap();
        let names: Vec<CString> = ["src", "absent", "Cargo.toml", "build.rs", "", "src/lib.rs"]
            .into_iter()
            .cycle()
            .take(NAMES_MAX)
            .map(|name| CString::new(name).unwrap())
            .collect();
        let names: Vec<_> = names.iter().map(CString::as_c_str).collect();
        for some in [&names[..], &names[..7], &[], &names[1..2]] {
            let answers = ring.statx(directory.as_fd(), some, FLAGS, StatxFlags::BASIC_STATS).unwrap();
            let answers: Vec<_> =
                answers.map(|answer| answer.map(|status| (status.stx_ino, status.stx_mode))).collect();
            let singly = some.iter().map(|name| {
                statx(&directory, *name, FLAGS, StatxFlags::BASIC_STATS)
                    .map(|status| (status.stx_ino, status.stx_mode))
                    .map_err(rustix::io::Errno::raw_os_error)
            });
            assert_eq!(answers, singly.collect::<Vec<_>>());
        }
    }

    #[test]
    fn signals_neither_end_nor_mix_up_a_call() {
        use std::time::{Duration, Instant};

        extern "C" fn nothing(_signal: libc::c_int) {}
        let Some(mut ring) = ring() else { return };
        let handler: extern "C" fn(libc::c_int) = nothing;
        // SAFETY: the handler does nothing, which is allowed at any time.
        let before = unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
        assert_ne!(before, libc::SIG_ERR);
        // SAFETY: has no preconditions.
        let caller = unsafe { libc::pthread_self() };
        let directory = File::open(env!("CARGO_MANIFEST_DIR")).unwrap();
        let names: Vec<_> = [c"src", c"absent", c"Cargo.toml"].into_iter().cycle().take(NAMES_MAX).collect();
        let inode = |name| statx(&directory, name, FLAGS, StatxFlags::INO).map(|status| status.stx_ino);
        let expected = [inode(c"src").unwrap(), 0, inode(c"Cargo.toml").unwrap()];
        let until = Instant::now() + Duration::from_millis(300);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while Instant::now() < until {
                    // SAFETY: the thread still exists: it waits for this one to end.
                    unsafe { libc::pthread_kill(caller, libc::SIGUSR1) };
                    std::thread::sleep(Duration::from_micros(50));
                }
            });
            while Instant::now() < until {
                let answers = ring.statx(directory.as_fd(), &names, FLAGS, StatxFlags::INO).unwrap();
                for (answer, expected) in answers.zip(expected.into_iter().cycle()) {
                    match answer {
                        Ok(status) => assert_eq!(status.stx_ino, expected),
                        Err(error) => assert_eq!((error, expected), (libc::ENOENT, 0)),
                    }
                }
            }
        });
    }

    #[test]
    fn more_names_than_fit_are_refused() {
        let Some(mut ring) = ring() else { return };
        let directory = File::open("/").unwrap();
        let names = vec![c"x"; NAMES_MAX + 1];
        assert!(ring.statx(directory.as_fd(), &names, FLAGS, StatxFlags::TYPE).is_err());
        assert_eq!(ring.statx(directory.as_fd(), &[c"proc"], FLAGS, StatxFlags::TYPE).unwrap().count(), 1);
    }
}
