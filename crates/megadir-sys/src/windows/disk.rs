//! Kind of the device below a volume, and bytes read from it, without privileges
//! (`IOCTL_STORAGE_QUERY_PROPERTY`, `IOCTL_DISK_PERFORMANCE`).

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsHandle;
use std::sync::atomic::{AtomicU32, Ordering};

use windows_sys::Win32::System::Ioctl::{
    DISK_PERFORMANCE, IOCTL_DISK_PERFORMANCE, IOCTL_DISK_PERFORMANCE_OFF, IOCTL_STORAGE_QUERY_PROPERTY,
    PropertyStandardQuery, STORAGE_PROPERTY_ID, StorageDeviceProperty, StorageDeviceSeekPenaltyProperty,
    StorageDeviceTrimProperty,
};

use super::control;

const DESCRIPTION_BYTES: usize = 1024;
/// Offsets in `STORAGE_DEVICE_DESCRIPTOR`: vendor, product, bus.
const VENDOR: usize = 12;
const PRODUCT: usize = 16;
const BUS: usize = 28;

#[derive(Debug)]
pub struct Disk(File);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Without the serial number.
    pub product: Option<String>,
    pub bus: Option<u32>,
    pub seek_penalty: Option<bool>,
    pub trim: Option<bool>,
}

impl Disk {
    /// `name` is like `\\?\Volume{...}` or `\\.\C:`.
    pub fn open(name: &[u16]) -> io::Result<Self> {
        // No access rights: queries need none, and other processes stay unrestricted.
        let opened = File::options().access_mode(0).share_mode(7).open(std::ffi::OsString::from_wide(name));
        opened.map(Self)
    }

    pub fn describe(&self) -> Description {
        // Version, size, boolean.
        let is = |property| {
            let bytes = self.property(property, 12).ok()?;
            bytes.get(8).map(|is| *is != 0)
        };
        let description = self.property(StorageDeviceProperty, DESCRIPTION_BYTES).unwrap_or_default();
        Description {
            product: product(&description),
            bus: number(&description, BUS),
            seek_penalty: is(StorageDeviceSeekPenaltyProperty),
            trim: is(StorageDeviceTrimProperty),
        }
    }

    /// Counts until the result is dropped. Fails if the volume cannot count.
    pub fn counting(self) -> io::Result<Counting> {
        let counting = Counting { disk: self, reads: AtomicU32::new(0) };
        counting.read_bytes().map(|_| counting)
    }

    fn property(&self, property: STORAGE_PROPERTY_ID, bytes_max: usize) -> io::Result<Vec<u8>> {
        // STORAGE_PROPERTY_QUERY: property, type of query, additional parameters.
        let query = [property, PropertyStandardQuery, 0];
        // Words, because the reply begins with numbers.
        let mut words = vec![0_u32; bytes_max / 4];
        let device = self.0.as_handle();
        // SAFETY: the device was opened for synchronous use; request and answer are numbers.
        let returned = unsafe { control(device, IOCTL_STORAGE_QUERY_PROPERTY, &query, &mut words[..]) }?;
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(returned);
        Ok(bytes)
    }
}

/// Each query registers one more user of the counters, so as many `IOCTL_DISK_PERFORMANCE_OFF` calls release them.
#[derive(Debug)]
pub struct Counting {
    disk: Disk,
    reads: AtomicU32,
}

impl Counting {
    pub fn read_bytes(&self) -> io::Result<u64> {
        let mut performance = DISK_PERFORMANCE::default();
        // SAFETY: the device was opened for synchronous use; the answer consists of numbers.
        unsafe { control(self.disk.0.as_handle(), IOCTL_DISK_PERFORMANCE, &(), &mut performance) }?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(performance.BytesRead.cast_unsigned())
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        for _ in 0..self.reads.load(Ordering::Relaxed) {
            // SAFETY: the device was opened for synchronous use; nothing is read or written.
            let _ = unsafe { control(self.disk.0.as_handle(), IOCTL_DISK_PERFORMANCE_OFF, &(), &mut ()) };
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn product(description: &[u8]) -> Option<String> {
    // Offset 0 means absent.
    let text = |at: usize| {
        let from = number(description, at).filter(|from| *from != 0)? as usize;
        let bytes = description.get(from..)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let text: String =
            String::from_utf8_lossy(&bytes[..end]).split_whitespace().collect::<Vec<_>>().join(" ");
        Some(text).filter(|text| !text.is_empty())
    };
    let words: Vec<String> = [text(VENDOR), text(PRODUCT)].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{Disk, number, product};

    #[test]
    fn a_description_is_read_within_its_bounds() {
        let mut description = vec![0_u8; 60];
        description[12..16].copy_from_slice(&36_u32.to_le_bytes());
        description[16..20].copy_from_slice(&45_u32.to_le_bytes());
        description[28..32].copy_from_slice(&17_u32.to_le_bytes());
        description[36..44].copy_from_slice(b"NVMe    ");
        description[45..60].copy_from_slice(b"SAMSUNG  MZVL21");
        assert_eq!(product(&description).as_deref(), Some("NVMe SAMSUNG MZVL21"));
        assert_eq!(number(&description, 28), Some(17));
        // Truncated, empty, and with an offset beyond the end.
        assert_eq!((product(&description[..20]), product(&[]), number(&description, 58)), (None, None, None));
    }

    #[test]
    fn a_volume_that_is_not_there_cannot_be_opened() {
        let name: Vec<u16> = r"\\?\Volume{00000000-0000-0000-0000-000000000001}".encode_utf16().collect();
        assert!(Disk::open(&name).is_err());
    }
}
