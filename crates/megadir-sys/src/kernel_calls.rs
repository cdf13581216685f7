//! System calls that a kernel may lack, or that a container may block.

use std::io;

pub struct KernelCall {
    pub name: &'static str,
    pub purpose: &'static str,
    number: libc::c_long,
}

pub static KERNEL_CALLS: [KernelCall; 5] = [
    KernelCall { name: "getdents64", purpose: "reading directories", number: libc::SYS_getdents64 },
    KernelCall { name: "statx", purpose: "attributes, birth times", number: libc::SYS_statx },
    KernelCall { name: "openat2", purpose: "opening without crossing mounts", number: libc::SYS_openat2 },
    KernelCall { name: "renameat2", purpose: "renaming without replacing", number: libc::SYS_renameat2 },
    KernelCall { name: "ioprio_set", purpose: "remove --idle", number: libc::SYS_ioprio_set },
];

impl KernelCall {
    /// Uses arguments that the call refuses, so that it changes nothing. Errors: ENOSYS if the kernel lacks
    /// it, EPERM or EACCES if it is blocked.
    pub fn probe(&self) -> io::Result<()> {
        // SAFETY: no descriptor has the number -1 and no process the kind -1, and all pointers are null: each of these calls
        // fails before it reads or writes memory.
        let result = unsafe { libc::syscall(self.number, -1, 0_usize, 0_usize, 0_usize, 0_usize, 0_usize) };
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EPERM | libc::EACCES) if result == -1 => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn present_and_missing_calls_are_distinguished() {
        let call = |name: &str| KERNEL_CALLS.iter().find(|call| call.name == name).unwrap();
        call("getdents64").probe().unwrap();
        call("statx").probe().unwrap();
        let missing = KernelCall { name: "none", purpose: "", number: 100_000 };
        assert_eq!(missing.probe().unwrap_err().raw_os_error(), Some(libc::ENOSYS));
    }
}
