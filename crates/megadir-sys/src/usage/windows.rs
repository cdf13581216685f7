//! `GetProcessTimes` and `GetThreadTimes`. (`GetProcessIoCounters` counts requested bytes instead of device
//! reads.)

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetProcessTimes, GetThreadTimes,
};

use super::Usage;
use crate::windows::system::units;

pub fn process_usage() -> Usage {
    // SAFETY: returns a constant that stands for the process itself.
    let process = unsafe { GetCurrentProcess() };
    let mut times = [FILETIME::default(); 4];
    let [made, ended, system, user] = &mut times;
    // SAFETY: the handle stands for this process, and the system writes one time to each of the four.
    let succeeded = unsafe { GetProcessTimes(process, made, ended, system, user) };
    if succeeded == 0 { NOTHING } else { told(times) }
}

pub fn thread_usage() -> Usage {
    // SAFETY: returns a constant that stands for the thread itself.
    let thread = unsafe { GetCurrentThread() };
    let mut times = [FILETIME::default(); 4];
    let [made, ended, system, user] = &mut times;
    // SAFETY: the handle stands for the calling thread, and the system writes one time to each of the four.
    let succeeded = unsafe { GetThreadTimes(thread, made, ended, system, user) };
    if succeeded == 0 { NOTHING } else { told(times) }
}

const NOTHING: Usage = Usage { user_ns: 0, system_ns: 0, read_bytes: None };

fn told([_made, _ended, system, user]: [FILETIME; 4]) -> Usage {
    Usage { user_ns: units(user) * 100, system_ns: units(system) * 100, read_bytes: None }
}
