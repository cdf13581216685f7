//! Examiner `uring`: statx through io_uring. Slower on local file systems, because the kernel runs each statx
//! in its own thread; for file systems that wait for a network, and for measurements.

use std::ffi::CStr;
use std::os::fd::AsFd;

use megadir_sys::uring::{NAMES_MAX, StatxRing};

use crate::attributes::{Attributes, Want};
use crate::batch::Batch;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::stat::statx::{FLAGS, StatxRequest};
use crate::stat::{Examine, Examiner};

pub(crate) struct Uring;

impl Examiner for Uring {
    fn name(&self) -> &'static str {
        "uring"
    }

    fn about(&self) -> &'static str {
        "statx by io_uring, hundreds of names per call: for network file systems"
    }

    fn probe(&self, directory: &Dir) -> Result<()> {
        ring(directory).map(drop)
    }

    fn start(&self, directory: &Dir, want: Want) -> Result<Box<dyn Examine>> {
        Ok(Box::new(BulkReader { ring: ring(directory)?, statx: StatxRequest::new(want) }))
    }
}

fn ring(directory: &Dir) -> Result<StatxRing> {
    StatxRing::new().map_err(|error| {
        let reason = format!("the system refuses io_uring, or its statx ({error})");
        Error::new("examine", directory.path(), ErrorKind::Unavailable, reason)
    })
}

struct BulkReader {
    ring: StatxRing,
    statx: StatxRequest,
}

impl Examine for BulkReader {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        rows.clear();
        rows.reserve(batch.len());
        let mut records = Records::new(batch.bytes()).filter(|record| !record.is_dot());
        loop {
            let names: Vec<&CStr> = records.by_ref().take(NAMES_MAX).map(|record| record.c_name()).collect();
            if names.is_empty() {
                return Ok(());
            }
            let answers = self
                .ring
                .statx(directory.as_fd(), &names, FLAGS, self.statx.mask())
                .map_err(|error| Error::io("examine", directory.path(), error))?;
            for (answer, name) in answers.zip(&names) {
                rows.push(match answer {
                    Ok(status) => self.statx.attributes(status),
                    // An error of the ring, not of the entry: requests may be cancelled.
                    Err(CANCELED | INTERRUPTED) => self.statx.ask(directory, name),
                    Err(error) => Attributes::failed(error),
                });
            }
        }
    }
}

const CANCELED: i32 = rustix::io::Errno::CANCELED.raw_os_error();
const INTERRUPTED: i32 = rustix::io::Errno::INTR.raw_os_error();
