//! Ctrl-C and Ctrl-Break by `SetConsoleCtrlHandler`. The C library's `signal` is unsuitable: its handler serves
//! one signal only, and querying the previous handler crashes on some `msvcrt.dll` versions (Wine's).

use std::io;
use std::sync::OnceLock;

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::core::BOOL;

static ASKED: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Calls `asked` on a thread of the system; the keys no longer end the process. Fails with
/// [`io::ErrorKind::AlreadyExists`] on the second call.
pub fn on_interrupt(asked: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
    if ASKED.set(Box::new(asked)).is_err() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // SAFETY: the routine is a function of the program and lives as long as the process.
    super::succeeded(unsafe { SetConsoleCtrlHandler(Some(handle), 1) })
}

/// 1 stops further handling. Closing the console, logging off and shutting down still end the process.
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
    fn ctrl_c_and_ctrl_break_are_delivered_each_time_and_nothing_else() {
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
