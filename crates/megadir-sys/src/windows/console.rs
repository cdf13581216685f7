//! Ctrl-C and Ctrl-Break by `SetConsoleCtrlHandler`. The C library's `signal` is unsuitable: its handler serves
//! one signal only, and querying the previous handler crashes on some `msvcrt.dll` versions (Wine's).

use std::io;
use std::sync::OnceLock;

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::core::BOOL;

static HANDLER: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Calls `handler` on a thread of the system; the keys no longer end the process. Fails with
/// [`io::ErrorKind::AlreadyExists`] on the second call.
pub fn on_interrupt(handler: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
    if HANDLER.set(Box::new(handler)).is_err() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // SAFETY: the routine is a function of the program and lives as long as the process.
    super::succeeded(unsafe { SetConsoleCtrlHandler(Some(handle), 1) })
}

/// 1 stops further handling. Closing the console, logging off and shutting down still end the process.
extern "system" fn handle(event: u32) -> BOOL {
    match (event, HANDLER.get()) {
        (CTRL_C_EVENT | CTRL_BREAK_EVENT, Some(handler)) => {
            handler();
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
        let counter = Arc::clone(&times);
        let handler = move || {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        on_interrupt(handler).unwrap();
        assert_eq!(on_interrupt(|| ()).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
        let handled: Vec<i32> = [CTRL_C_EVENT, CTRL_BREAK_EVENT, CTRL_CLOSE_EVENT, CTRL_C_EVENT]
            .map(|event| handle(event))
            .into();
        assert_eq!((handled, times.load(Ordering::Relaxed)), (vec![1, 1, 0, 1], 3));
    }
}
