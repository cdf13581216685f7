//! State of services and drivers, from the service control manager; needs no privileges.

use std::io;

use windows_sys::Win32::Foundation::ERROR_SERVICE_DOES_NOT_EXIST;
use windows_sys::Win32::System::Services::{
    CloseServiceHandle, OpenSCManagerW, OpenServiceW, QueryServiceStatus, SC_HANDLE, SC_MANAGER_CONNECT,
    SERVICE_QUERY_STATUS, SERVICE_RUNNING, SERVICE_STATUS,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Absent,
    /// Not running, starting or stopping.
    Stopped,
    Running,
}

#[derive(Debug)]
pub struct Services(Handle);

#[derive(Debug)]
struct Handle(SC_HANDLE);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is open and has no other owner.
        unsafe { CloseServiceHandle(self.0) };
    }
}

impl Services {
    pub fn open() -> io::Result<Self> {
        // SAFETY: null names mean the manager of this machine and its active database.
        let manager = unsafe { OpenSCManagerW(std::ptr::null(), std::ptr::null(), SC_MANAGER_CONNECT) };
        if manager.is_null() { Err(io::Error::last_os_error()) } else { Ok(Self(Handle(manager))) }
    }

    pub fn state(&self, name: &str) -> io::Result<State> {
        let name = super::terminated(name.encode_utf16());
        // SAFETY: the manager is open, and the name ends with a NUL.
        let service = unsafe { OpenServiceW((self.0).0, name.as_ptr(), SERVICE_QUERY_STATUS) };
        if service.is_null() {
            let error = io::Error::last_os_error();
            let absent = error.raw_os_error() == Some(ERROR_SERVICE_DOES_NOT_EXIST as i32);
            return if absent { Ok(State::Absent) } else { Err(error) };
        }
        let service = Handle(service);
        let mut status = SERVICE_STATUS::default();
        // SAFETY: the service is open, and the system writes one such structure.
        super::succeeded(unsafe { QueryServiceStatus(service.0, &raw mut status) })?;
        Ok(if status.dwCurrentState == SERVICE_RUNNING { State::Running } else { State::Stopped })
    }
}

#[cfg(test)]
mod tests {
    use super::{Services, State};

    #[test]
    fn a_service_that_does_not_exist_is_absent() {
        let services = Services::open().unwrap();
        assert_eq!(services.state("megadir-no-such-service").unwrap(), State::Absent);
        // The remote procedure call service, which Windows always has; Wine starts it on demand.
        assert_ne!(services.state("RpcSs").unwrap(), State::Absent);
    }
}
