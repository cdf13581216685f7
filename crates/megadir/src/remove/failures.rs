//! Keeps a bounded number of failures.

use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// Collects failures: keeps the first and drops the others ([`Counts::failures`](super::Counts) counts them all).
///
/// A message holds a path of 16 KiB at most, so that their memory is bounded too.
#[derive(Debug)]
pub struct Failures {
    kept_max: usize,
    kept: Mutex<Vec<Error>>,
}

impl Failures {
    /// Makes a collector that keeps so many.
    pub fn new(kept_max: usize) -> Self {
        Self { kept_max, kept: Mutex::new(Vec::new()) }
    }

    /// Takes a failure; for [`RemoveOptions::on_failure`](super::RemoveOptions).
    pub fn add(&self, failure: Error) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < self.kept_max {
            kept.push(failure);
        }
    }

    /// Takes those that are kept out of the collector, which then has room again.
    pub fn take(&self) -> Vec<Error> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
