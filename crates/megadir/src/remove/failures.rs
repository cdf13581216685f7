//! Keeps a bounded number of failures.

use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// Collects failures: keeps the first ones and drops the rest ([`Counts::failures`](super::Counts) counts all).
/// A message has a path of 16 KiB at most, which bounds the memory.
#[derive(Debug)]
pub struct Failures {
    kept_max: usize,
    kept: Mutex<Vec<Error>>,
}

impl Failures {
    /// Creates a collector that keeps up to `kept_max` failures.
    pub fn new(kept_max: usize) -> Self {
        Self { kept_max, kept: Mutex::new(Vec::new()) }
    }

    /// Adds a failure; for [`RemoveOptions::on_failure`](super::RemoveOptions).
    pub fn add(&self, failure: Error) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < self.kept_max {
            kept.push(failure);
        }
    }

    /// Takes the failures out of the collector, which then has space again.
    pub fn take(&self) -> Vec<Error> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
