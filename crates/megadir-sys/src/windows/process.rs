//! Processes that work together: handles are handed over, a gate lets all go at once, and none outlives the one who started them.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle, RawHandle};

use windows_sys::Win32::Foundation::{
    DUPLICATE_CLOSE_SOURCE, DUPLICATE_HANDLE_OPTIONS, DUPLICATE_SAME_ACCESS, DuplicateHandle, HANDLE,
    WAIT_OBJECT_0,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::Threading::{
    CreateEventW, GetCurrentProcess, INFINITE, SetEvent, WaitForSingleObject,
};

/// A handle that another process was given, which closes it there when it is dropped: the other one makes one of its own of it
/// ([`take`]) before.
#[derive(Debug)]
pub struct Given {
    to: OwnedHandle,
    /// No handle of this process.
    there: usize,
}

impl Given {
    /// Returns the number that the other process is to be told.
    pub fn number(&self) -> u64 {
        self.there as u64
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // Nobody else closes it, so it is what was given still; it is gone already where the process has ended. A copy made of it here is
        // closed again.
        if let Ok(copy) =
            duplicate(self.to.as_raw_handle(), self.there as HANDLE, this_process(), CLOSE_THERE)
        {
            // SAFETY: the call succeeded, so this is a handle of this process that nobody else has.
            drop(unsafe { OwnedHandle::from_raw_handle(copy) });
        }
    }
}

/// Gives another process a handle to what is open here.
///
/// The process must have been opened for that (`PROCESS_DUP_HANDLE`), as who started it has.
///
/// # Errors
///
/// The system's; access denied where the process has ended.
pub fn give(open: BorrowedHandle<'_>, to: BorrowedHandle<'_>) -> io::Result<Given> {
    let to = to.try_clone_to_owned()?;
    let there = duplicate(this_process(), open.as_raw_handle(), to.as_raw_handle(), DUPLICATE_SAME_ACCESS)?;
    Ok(Given { to, there: there as usize })
}

/// Makes a handle of its own of what another process has given this one by [`give`], which said the number.
///
/// The number is only another's word. So no handle is closed by it: a wrong one leads to what else this process has open, or to nothing.
///
/// # Errors
///
/// Where this process has no handle of that number.
pub fn take(number: u64) -> io::Result<OwnedHandle> {
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "not the number of a handle");
    // Those above stand for the process and its threads.
    let given = i32::try_from(number).map_err(|_| none())? as usize as RawHandle;
    let own = this_process();
    let taken = duplicate(own, given, own, DUPLICATE_SAME_ACCESS)?;
    // SAFETY: the call succeeded, so this is a handle of this process that nobody else has.
    Ok(unsafe { OwnedHandle::from_raw_handle(taken) })
}

/// How a handle of another process is closed there: it is moved.
const CLOSE_THERE: DUPLICATE_HANDLE_OPTIONS = DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE;

fn duplicate(
    from: HANDLE,
    open: HANDLE,
    to: HANDLE,
    options: DUPLICATE_HANDLE_OPTIONS,
) -> io::Result<RawHandle> {
    let mut made: HANDLE = std::ptr::null_mut();
    // SAFETY: the system checks all three handles, and writes one; it is not inherited by processes that this one starts.
    let succeeded = unsafe { DuplicateHandle(from, open, to, &raw mut made, 0, 0, options) };
    if succeeded == 0 { Err(io::Error::last_os_error()) } else { Ok(made) }
}

fn this_process() -> HANDLE {
    // SAFETY: returns a constant that stands for the process itself.
    unsafe { GetCurrentProcess() }
}

/// A gate that is closed until it is opened, once, for all who wait there.
#[derive(Debug)]
pub struct Gate {
    event: OwnedHandle,
}

impl Gate {
    /// Makes a gate that is closed.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn new() -> io::Result<Self> {
        let none = std::ptr::null();
        // SAFETY: no attributes and no name; the event stays set for all once it is set, and is not set yet.
        let event = unsafe { CreateEventW(none, 1, 0, none.cast()) };
        if event.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so this is a handle that nobody else has.
        Ok(Self { event: unsafe { OwnedHandle::from_raw_handle(event) } })
    }

    /// Opens it.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn open(&self) -> io::Result<()> {
        // SAFETY: the handle is open for the call.
        let succeeded = unsafe { SetEvent(self.event.as_raw_handle()) };
        if succeeded == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until it is open.
    ///
    /// # Errors
    ///
    /// The system's, as where the handle that was taken is none of a gate.
    pub fn wait(&self) -> io::Result<()> {
        // SAFETY: the handle is open for the call.
        let ended = unsafe { WaitForSingleObject(self.event.as_raw_handle(), INFINITE) };
        if ended == WAIT_OBJECT_0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsHandle for Gate {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.event.as_handle()
    }
}

impl From<OwnedHandle> for Gate {
    /// Takes a gate that another process has given this one.
    fn from(event: OwnedHandle) -> Self {
        Self { event }
    }
}

/// Processes that end when this is dropped, or when the process that has it ends, however it does.
///
/// A job object that kills what is in it with its last handle, which no other process has. Processes that those in it start
/// are in it too.
#[derive(Debug)]
pub struct Job {
    job: OwnedHandle,
}

impl Job {
    /// Makes one without processes.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn new() -> io::Result<Self> {
        let none = std::ptr::null();
        // SAFETY: no attributes, so that it is not inherited, and no name, so that nobody else opens it.
        let job = unsafe { CreateJobObjectW(none, none.cast()) };
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so this is a handle that nobody else has.
        let job = Self { job: unsafe { OwnedHandle::from_raw_handle(job) } };
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the system reads one such structure, which lives until the call returns.
        let succeeded = unsafe {
            SetInformationJobObject(
                job.job.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            )
        };
        if succeeded == 0 { Err(io::Error::last_os_error()) } else { Ok(job) }
    }

    /// Adds a process that was started.
    ///
    /// # Errors
    ///
    /// The system's; access denied where the process has ended, or is in a job that forbids it (before Windows 8: in any).
    pub fn add(&self, process: BorrowedHandle<'_>) -> io::Result<()> {
        // SAFETY: both handles are open for the call.
        let succeeded =
            unsafe { AssignProcessToJobObject(self.job.as_raw_handle(), process.as_raw_handle()) };
        if succeeded == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_gate_lets_all_go_and_stays_open() {
        let gate = Gate::new().unwrap();
        std::thread::scope(|scope| {
            let waits: Vec<_> = (0..3).map(|_| scope.spawn(|| gate.wait())).collect();
            gate.open().unwrap();
            waits.into_iter().for_each(|wait| wait.join().unwrap().unwrap());
        });
        gate.wait().unwrap();
    }

    #[test]
    fn a_handle_is_given_and_taken() {
        let gate = Gate::new().unwrap();
        // SAFETY: a constant that stands for the process; nothing is closed with a borrowed handle.
        let own = unsafe { BorrowedHandle::borrow_raw(this_process()) };
        let given = give(gate.as_handle(), own).unwrap();
        let taken = Gate::from(take(given.number()).unwrap());
        drop(given);
        gate.open().unwrap();
        taken.wait().unwrap();
        // No such handle, and what stands for the process and its thread.
        for number in [0, 0x7fff_fffc, u64::MAX, u64::MAX - 1, 0xffff_ffff] {
            assert!(take(number).is_err(), "{number}");
        }
    }

    #[test]
    fn a_process_ends_with_its_job() {
        let job = Job::new().unwrap();
        // It waits for a line that never comes.
        let mut child = Command::new("cmd")
            .args(["/d", "/c", "set /p x="])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let never_written = child.stdin.take();
        job.add(child.as_handle()).unwrap();
        assert!(child.try_wait().unwrap().is_none());
        drop(job);
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(300), "it has outlived its job");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(never_written);
    }
}
