//! Loop devices with autoclear: the kernel detaches them with their last holder, mount or process (Linux 5.8
//! and later; loop(4), `loop_configure` in `drivers/block/loop.c`).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::PathBuf;

const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4c82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4c0a;
const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// Another process may take the free device first.
const TRIES_MAX: u32 = 64;

/// `struct loop_info64`.
///
/// One structure serves for setting and for reading. `LOOP_CONFIGURE` takes offset, size limit, flags and
/// names from it; all but the flags stay 0 here, so that the device shows the whole image.
/// `LOOP_GET_STATUS64` fills it in, and then `flags` shows whether the kernel could bypass the page cache.
#[repr(C)]
struct Info {
    /// Device, inode and rdev numbers; offset, size limit, bytes.
    numbers: [u64; 5],
    number: u32,
    encrypt: [u32; 2],
    flags: u32,
    file_name: [u8; 64],
    names: [u8; 96],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct Config {
    fd: u32,
    /// Sector size, bytes; 0 lets the kernel choose.
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

const _: () = {
    assert!(size_of::<Info>() == 232);
    assert!(size_of::<Config>() == 304);
    assert!(std::mem::offset_of!(Info, flags) == 52);
};

impl Info {
    const EMPTY: Self = Self {
        numbers: [0; 5],
        number: 0,
        encrypt: [0; 2],
        flags: 0,
        file_name: [0; 64],
        names: [0; 96],
        init: [0; 2],
    };
}

/// Attached as long as this value, a mount or another process holds it.
#[derive(Debug)]
pub struct LoopDevice {
    pub device: File,
    pub path: PathBuf,
    pub direct_io: bool,
}

/// `sector_bytes` 0 lets the kernel choose. `direct_io` requests bypassing the page cache; the result says
/// whether it does. Fails with `EACCES` or `EPERM` without permission, `ENOENT` without loop devices.
pub fn attach(image: BorrowedFd<'_>, sector_bytes: u32, direct_io: bool) -> io::Result<LoopDevice> {
    let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
    let mut tried = 0;
    loop {
        // SAFETY: on this device the number means LOOP_CTL_GET_FREE, which takes no argument and returns a number.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let device = OpenOptions::new().read(true).write(true).open(&path)?;
        match configure(&device, image, sector_bytes, direct_io) {
            Ok(()) => {
                let direct_io = status(&device)?.flags & LO_FLAGS_DIRECT_IO != 0;
                return Ok(LoopDevice { device, path, direct_io });
            }
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && tried < TRIES_MAX => tried += 1,
            Err(error) => return Err(error),
        }
    }
}

fn configure(device: &File, image: BorrowedFd<'_>, sector_bytes: u32, direct_io: bool) -> io::Result<()> {
    let flags = LO_FLAGS_AUTOCLEAR | if direct_io { LO_FLAGS_DIRECT_IO } else { 0 };
    let config = Config {
        fd: image.as_raw_fd().unsigned_abs(),
        block_size: sector_bytes,
        info: Info { flags, ..Info::EMPTY },
        reserved: [0; 8],
    };
    // SAFETY: on a loop device, which it was opened as, the number means LOOP_CONFIGURE. The kernel reads 304
    // bytes, the size of the structure, and keeps no pointer; it takes its own reference to the image.
    crate::succeeded(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) })
}

fn status(device: &File) -> io::Result<Info> {
    let mut info = Info::EMPTY;
    // SAFETY: on a loop device the number means LOOP_GET_STATUS64. The kernel writes 232 bytes, the size of the
    // structure, which is borrowed exclusively; any bytes are valid field values.
    crate::succeeded(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) })?;
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::attach;
    use std::os::fd::AsFd;

    #[test]
    fn a_device_is_there_until_it_is_given_up() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".loop-device.tmp");
        let image = std::fs::File::create(&path).unwrap();
        image.set_len(1 << 20).unwrap();
        drop(image);
        let image = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        // Without privileges or loop devices; the lab's tests report it.
        let Ok(attached) = attach(image.as_fd(), 0, true) else { return };
        let name = attached.path.file_name().unwrap().to_str().unwrap().to_owned();
        let state = std::path::PathBuf::from(format!("/sys/block/{name}/loop/dio"));
        let direct_io = std::fs::read_to_string(&state).unwrap();
        assert_eq!(direct_io.trim() == "1", attached.direct_io);
        drop(attached);
        let backing = format!("/sys/block/{name}/loop/backing_file");
        let ours = |text: String| text.contains(".loop-device.tmp");
        assert!(!std::fs::read_to_string(backing).is_ok_and(ours), "{name} is still attached");
    }
}
