//! The process's I/O priority. Cooperating processes: names that one of them holds, duplicated handles, a gate, and a job that ends them with
//! their starter.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle, RawHandle};

use windows_sys::Wdk::System::Threading::{PROCESSINFOCLASS, ProcessIoPriority};
use windows_sys::Win32::Foundation::{
    DUPLICATE_CLOSE_SOURCE, DUPLICATE_HANDLE_OPTIONS, DUPLICATE_SAME_ACCESS, DuplicateHandle,
    ERROR_ALREADY_EXISTS, GetLastError, HANDLE, NTSTATUS, WAIT_OBJECT_0,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::Threading::{
    CreateEventW, CreateMutexW, INFINITE, SetEvent, WaitForSingleObject,
};

use super::{checked, find_in_ntdll, succeeded, terminated, this_process};

/// `IoPriorityVeryLow`: the priority of the system's background work.
static VERY_LOW: u32 = 0;

type NtSetInformationProcess =
    unsafe extern "system" fn(HANDLE, PROCESSINFOCLASS, *const core::ffi::c_void, u32) -> NTSTATUS;

/// Gives the process the lowest I/O priority. Win32's background mode would also lower processor and memory priority, which limits the
/// process to 32 MiB. Fails with [`io::ErrorKind::Unsupported`] if the system lacks the call.
pub fn make_idle() -> io::Result<()> {
    let found = find_in_ntdll(c"NtSetInformationProcess").ok_or(io::ErrorKind::Unsupported)?;
    // SAFETY: both are pointers to functions of the system's calling convention, and the function of this name
    // has this documented signature.
    let set = unsafe {
        std::mem::transmute::<unsafe extern "system" fn() -> isize, NtSetInformationProcess>(found)
    };
    // SAFETY: the system reads one number, which lives until the call returns.
    checked(unsafe { set(this_process(), ProcessIoPriority, (&raw const VERY_LOW).cast(), 4) })
}

/// Holds a name until the handle is closed; the system releases it when the process ends for any reason. `name` is `Global\...` for
/// all sessions, without a NUL. `None` if it exists or cannot be created. Reference: `CreateMutexW`.
pub fn hold_new(name: &[u16]) -> Option<OwnedHandle> {
    let name = terminated(name.iter().copied());
    // SAFETY: the name ends with a NUL and lives until the call returns; there are no attributes.
    let made = unsafe { CreateMutexW(std::ptr::null(), 0, name.as_ptr()) };
    // SAFETY: reads a number of the calling thread, set by the call before.
    let error = unsafe { GetLastError() };
    if made.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so this is a handle that no other owner has.
    let made = unsafe { OwnedHandle::from_raw_handle(made) };
    (error != ERROR_ALREADY_EXISTS).then_some(made)
}

/// Handle duplicated into another process by [`give`], closed there on drop; the other process duplicates it first ([`take`]).
#[derive(Debug)]
pub struct Given {
    to: OwnedHandle,
    /// Value in the other process; no handle of this one.
    there: usize,
}

impl Given {
    pub fn number(&self) -> u64 {
        self.there as u64
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // If the process lives, the value is still ours: moving it here closes it there, and the copy is dropped.
        if let Ok(copy) =
            duplicate(self.to.as_raw_handle(), self.there as HANDLE, this_process(), CLOSE_THERE)
        {
            // SAFETY: the call succeeded, so this is a handle of this process that no other owner has.
            drop(unsafe { OwnedHandle::from_raw_handle(copy) });
        }
    }
}

/// `to` must have been opened with `PROCESS_DUP_HANDLE`, as its starter has. "Access denied" if the process has ended.
pub fn give(open: BorrowedHandle<'_>, to: BorrowedHandle<'_>) -> io::Result<Given> {
    let to = to.try_clone_to_owned()?;
    let there = duplicate(this_process(), open.as_raw_handle(), to.as_raw_handle(), DUPLICATE_SAME_ACCESS)?;
    Ok(Given { to, there: there as usize })
}

/// Duplicates a handle created here by [`give`]. The value is untrusted and never closed, so a wrong one gives
/// another open file of this process or an error.
pub fn take(number: u64) -> io::Result<OwnedHandle> {
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "not the number of a handle");
    // Values above stand for the process and its threads.
    let given = i32::try_from(number).map_err(|_| none())? as usize as RawHandle;
    let own = this_process();
    let taken = duplicate(own, given, own, DUPLICATE_SAME_ACCESS)?;
    // SAFETY: the call succeeded, so this is a handle of this process that no other owner has.
    Ok(unsafe { OwnedHandle::from_raw_handle(taken) })
}

/// Moving a handle closes it there.
const CLOSE_THERE: DUPLICATE_HANDLE_OPTIONS = DUPLICATE_SAME_ACCESS | DUPLICATE_CLOSE_SOURCE;

fn duplicate(
    from: HANDLE,
    open: HANDLE,
    to: HANDLE,
    options: DUPLICATE_HANDLE_OPTIONS,
) -> io::Result<RawHandle> {
    let mut made: HANDLE = std::ptr::null_mut();
    // SAFETY: the system checks all three handles and writes one, which child processes do not inherit.
    succeeded(unsafe { DuplicateHandle(from, open, to, &raw mut made, 0, 0, options) })?;
    Ok(made)
}

/// Releases all waiters when it opens, once.
#[derive(Debug)]
pub struct Gate {
    event: OwnedHandle,
}

impl Gate {
    pub fn new() -> io::Result<Self> {
        let none = std::ptr::null();
        // SAFETY: no attributes and no name; the event is unset, and stays set for all once it is set.
        let event = unsafe { CreateEventW(none, 1, 0, none.cast()) };
        if event.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so this is a handle that no other owner has.
        Ok(Self { event: unsafe { OwnedHandle::from_raw_handle(event) } })
    }

    pub fn open(&self) -> io::Result<()> {
        // SAFETY: the handle is open for the call.
        succeeded(unsafe { SetEvent(self.event.as_raw_handle()) })
    }

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
    fn from(event: OwnedHandle) -> Self {
        Self { event }
    }
}

/// Job object whose members, and their children, end when its last handle is closed. No other process has one.
#[derive(Debug)]
pub struct Job {
    job: OwnedHandle,
}

impl Job {
    pub fn new() -> io::Result<Self> {
        let none = std::ptr::null();
        // SAFETY: no attributes, so that it is not inherited, and no name, so that no other process opens it.
        let job = unsafe { CreateJobObjectW(none, none.cast()) };
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so this is a handle that no other owner has.
        let job = Self { job: unsafe { OwnedHandle::from_raw_handle(job) } };
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the system reads one such structure, which lives until the call returns.
        succeeded(unsafe {
            SetInformationJobObject(
                job.job.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            )
        })?;
        Ok(job)
    }

    /// "Access denied" if the process has ended, or is in a job that forbids it (before Windows 8: in any job).
    pub fn add(&self, process: BorrowedHandle<'_>) -> io::Result<()> {
        // SAFETY: both handles are open for the call.
        succeeded(unsafe { AssignProcessToJobObject(self.job.as_raw_handle(), process.as_raw_handle()) })
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
        // SAFETY: a constant that stands for the process; a borrowed handle is never closed.
        let own = unsafe { BorrowedHandle::borrow_raw(this_process()) };
        let given = give(gate.as_handle(), own).unwrap();
        let taken = Gate::from(take(given.number()).unwrap());
        drop(given);
        gate.open().unwrap();
        taken.wait().unwrap();
        // Invalid values, and values that stand for the process and its thread.
        for number in [0, 0x7fff_fffc, u64::MAX, u64::MAX - 1, 0xffff_ffff] {
            assert!(take(number).is_err(), "{number}");
        }
    }

    #[test]
    fn a_process_ends_with_its_job() {
        let job = Job::new().unwrap();
        // Waits for a line that never comes.
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
