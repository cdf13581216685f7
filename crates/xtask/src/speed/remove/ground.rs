//! File system that is restored from an image before each removal.

use super::super::interrupt::Interrupt;
use super::super::lab::{Kind, Lab};
use super::shapes::Shape;
use crate::process;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File system with a tree, and its image with the complete tree.
pub(crate) struct Ground {
    lab: Lab,
    kept: PathBuf,
}

impl Ground {
    /// Creates the file system and the tree, and keeps the image.
    pub(crate) fn make(
        kind: &'static Kind,
        folder: &Path,
        shape: &Shape,
        entries: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, String> {
        // Space for the contents, in addition to the inodes.
        let room = shape.files(entries) + shape.bytes(entries) / (16 << 10);
        let mut lab = Lab::make(kind, folder, room)?;
        shape.make(lab.path(), entries, interrupt)?;
        lab.detach()?;
        let kept = folder.join("kept.img");
        copy(lab.image(), &kept)?;
        lab.attach()?;
        Ok(Self { lab, kept })
    }

    /// Restores the tree and the shape's cache state.
    pub(crate) fn restore(&mut self, shape: &Shape) -> Result<(), String> {
        self.lab.detach()?;
        copy(&self.kept, self.lab.image())?;
        self.lab.attach()?;
        if shape.is_cold { self.lab.cool() } else { shape.warm(self.lab.path()) }
    }

    pub(crate) fn lab(&self) -> &Lab {
        &self.lab
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        std::fs::remove_file(&self.kept).ok();
    }
}

/// Copies an image without its holes to stable storage, so that writing it back disturbs no later run.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let cp = process::find_tool("cp").ok_or("no cp")?;
    process::output(Command::new(cp).arg("--sparse=always").arg(from).arg(to))?;
    let synced = std::fs::File::open(to).and_then(|file| file.sync_all());
    synced.map_err(|error| format!("cannot sync {}: {error}", to.display()))
}
