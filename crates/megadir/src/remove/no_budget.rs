//! Stands for [`budget`](super::budget) where there is none: no selection exists.

use super::progress::FileId;
use crate::attributes::{Attributes, StatMask};

#[derive(Debug)]
pub(super) enum Selection {}

#[derive(Debug)]
pub(super) enum By {}

impl By {
    pub(super) fn want(&self) -> StatMask {
        match *self {}
    }
}

impl Selection {
    pub(super) fn by(&self) -> By {
        match *self {}
    }

    pub(super) fn is_freed(&self) -> bool {
        match *self {}
    }

    pub(super) fn is_inside_unit(&self) -> bool {
        match *self {}
    }

    pub(super) fn takes(&self, _file: &Attributes, _path: impl FnOnce() -> Vec<u8>) -> bool {
        match *self {}
    }

    pub(super) fn before_removals(&self, _file: &Attributes) -> Attributes {
        match *self {}
    }

    pub(super) fn note_removed(&self, _file: (FileId, u64)) -> u64 {
        match *self {}
    }
}
