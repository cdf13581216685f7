//! The directory by its name in its parent, to be replaced (`--renew`).

use std::path::{Component, Path};

use megadir::layout::Layout;
use megadir::reshard::{complete_renewal, renew};
use megadir::{Dir, Error, ErrorKind};

#[derive(Debug)]
pub(super) struct Renewal {
    parent: Dir,
    name: Vec<u8>,
}

impl Renewal {
    pub(super) fn begin(path: &Path) -> Result<Self, Error> {
        let Some(Component::Normal(name)) = path.components().next_back() else {
            let reason = "it cannot be replaced by this path; give it as PARENT/NAME";
            return Err(Error::new("renew", path, ErrorKind::BadOption, reason));
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = Dir::open(parent.unwrap_or(Path::new(".")))?;
        let renewal = Self { parent, name: name.as_encoded_bytes().to_vec() };
        complete_renewal(&renewal.parent, &renewal.name)?;
        Ok(renewal)
    }

    pub(super) fn finish(&self, layout: &Layout) -> Result<(), Error> {
        renew(&self.parent, &self.name, layout)
    }
}
