//! Systems without MPI: a world that no process can join.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use crate::{Error, Launcher, Proof};

#[derive(Debug)]
pub struct World(Infallible);

impl World {
    pub fn join(_launcher: Option<&Launcher>, _library: Option<&Path>, _proof: Proof) -> Result<Self, Error> {
        Err(Error::Unsupported)
    }

    #[must_use]
    pub fn rank(&self) -> u32 {
        match self.0 {}
    }

    #[must_use]
    pub fn size(&self) -> u32 {
        match self.0 {}
    }

    #[must_use]
    pub fn hosts(&self) -> &[String] {
        match self.0 {}
    }

    #[must_use]
    pub fn library(&self) -> &str {
        match self.0 {}
    }

    pub fn agree(&self, _own: Result<(), String>) -> Result<(), Error> {
        match self.0 {}
    }

    pub fn send_to_all(&self, _bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self.0 {}
    }

    pub fn gather(&self, _bytes: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        match self.0 {}
    }

    pub fn send(&self, _to: u32, _bytes: &[u8], _waiting: impl FnMut()) -> io::Result<()> {
        match self.0 {}
    }

    pub fn receive(&self) -> io::Result<Option<(u32, Vec<u8>)>> {
        match self.0 {}
    }

    pub fn barrier(&self) -> io::Result<()> {
        match self.0 {}
    }

    pub fn meet(&self, _pause: impl FnMut() -> bool) -> io::Result<bool> {
        match self.0 {}
    }

    pub fn finish(self) -> io::Result<()> {
        match self.0 {}
    }

    pub fn abort(&self, _code: u8) {
        match self.0 {}
    }
}
