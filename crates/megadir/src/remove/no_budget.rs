//! Stands for [`budget`](super::budget) where there is none: no selection exists.

use std::marker::PhantomData;

use crate::attributes::{Attributes, StatMask};

#[derive(Debug)]
pub(super) enum Selection {}

#[derive(Debug)]
pub(super) enum By {}

#[derive(Debug)]
pub(super) struct Taken<'s>(Selection, PhantomData<&'s Selection>);

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

    pub(super) fn enters<D>(&self, _directory: &D) -> bool {
        match *self {}
    }

    pub(super) fn take(
        &self,
        _file: &Attributes,
        _dry_run: bool,
        _path: impl FnOnce() -> Vec<u8>,
        _look_again: &mut dyn FnMut() -> Option<u64>,
    ) -> Option<Taken<'_>> {
        match *self {}
    }

    pub(super) fn before_removals(&self, _file: &Attributes) -> Attributes {
        match *self {}
    }
}

impl Taken<'_> {
    pub(super) fn removed(self) -> u64 {
        match self.0 {}
    }

    pub(super) fn vanished(self) {
        match self.0 {}
    }
}
