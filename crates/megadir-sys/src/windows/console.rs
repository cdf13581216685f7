//! Ctrl-C and Ctrl-Break of a console.
//!
//! Not by the C library's `signal`: a handler holds there for one signal, and what it was before is asked for in a way that `msvcrt.dll` need not
//! know (Wine's takes the question for a handler, and the next Ctrl-C ends in a page fault).
//!
//! Reference: `SetConsoleCtrlHandler`, `HandlerRoutine`.

use std::io;
use std::sync::OnceLock;

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::core::BOOL;

/// What is to be called.
static ASKED: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Has `asked` called, in a thread that the system starts for it, each time somebody presses Ctrl-C or Ctrl-Break, which then do not end the
/// process.
///
/// # Errors
///
/// [`io::ErrorKind::AlreadyExists`] the second time; the system's.
pub fn on_interrupt(asked: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
    if ASKED.set(Box::new(asked)).is_err() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // SAFETY: the routine is a function of the program, there as long as the process is.
    match unsafe { SetConsoleCtrlHandler(Some(handle), 1) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Is called by the system; 1 where the event needs nobody else's handling. Closing the console, logging off and shutting down end the process.
extern "system" fn handle(event: u32) -> BOOL {
    match (event, ASKED.get()) {
        (CTRL_C_EVENT | CTRL_BREAK_EVENT, Some(asked)) => {
            asked();
            1
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT};

    use super::{handle, on_interrupt};

    #[test]
    fn ctrl_c_and_ctrl_break_are_told_each_time_and_nothing_else() {
        let times = Arc::new(AtomicU32::new(0));
        let told = Arc::clone(&times);
        let asked = move || {
            told.fetch_add(1, Ordering::Relaxed);
        };
        on_interrupt(asked).unwrap();
        assert_eq!(on_interrupt(|| ()).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
        let handled: Vec<i32> = [CTRL_C_EVENT, CTRL_BREAK_EVENT, CTRL_CLOSE_EVENT, CTRL_C_EVENT]
            .map(|event| handle(event))
            .into();
        assert_eq!((handled, times.load(Ordering::Relaxed)), (vec![1, 1, 0, 1], 3));
    }
}
