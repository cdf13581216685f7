//! Reads a tree depth first, as far as a visitor enters directories, with one buffer per level.

use std::sync::Arc;

use crate::backend::{self, Reader};
use crate::dir::{Dir, DirId};
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::options::ReadOptions;

pub(super) const READ: ReadOptions = ReadOptions { resolve_types: true, ..ReadOptions::serial(128 << 10) };

pub(super) trait Visit {
    /// The top has level 0.
    fn enters(&self, level: usize, name: &[u8]) -> bool;

    /// A directory that is entered next. `path` is relative to the top.
    fn found(&mut self, _path: &[u8]) {}

    /// `true` ends the visit before the next entry.
    fn is_ended(&self) -> bool;

    /// Any other entry. `path` is relative to the top and ends in `name`.
    fn entry(&mut self, at: &At<'_>, name: &[u8], kind: FileType);

    /// After all of a directory was read. `path` is relative to the top and ends in `name`.
    fn left(&mut self, _parent: &Arc<Dir>, _name: &[u8], _path: &[u8]) {}

    /// The visit goes on.
    fn fail(&mut self, failure: Error);

    /// A directory that could not be read, or not to its end. The visit goes on.
    fn unread(&mut self, failure: Error) {
        self.fail(failure);
    }
}

pub(super) struct At<'a> {
    pub(super) directory: &'a Arc<Dir>,
    pub(super) path: &'a [u8],
    pub(super) inode: u64,
}

struct Frame {
    directory: Arc<Dir>,
    reader: Box<dyn Reader>,
    below: Vec<Box<[u8]>>,
    name_at: usize,
}

impl Frame {
    fn open(directory: Dir, name_at: usize) -> Result<Self> {
        let directory = Arc::new(directory);
        let reader = backend::by_name("getdents")?.open_once(&directory, &READ)?;
        Ok(Self { directory, reader, below: Vec::new(), name_at })
    }
}

/// Own stack of frames, one for each level with its buffer and descriptor: the depth is a layout's and
/// bounded. A directory's subdirectories are entered as soon as the batch that had them was visited, so that
/// their names take no memory for long. A directory that vanished is no failure; the top that cannot be read
/// is an error, any other one a report to the visitor.
pub(super) fn visit(top: &Dir, except: Option<DirId>, visitor: &mut impl Visit) -> Result<()> {
    let mut frames = vec![Frame::open(top.again()?, 0)?];
    let mut path = Vec::new();
    while let Some(frame) = frames.last_mut().filter(|_| !visitor.is_ended()) {
        if let Some(name) = frame.below.pop() {
            match enter(&frame.directory, &name, except, path.len()) {
                Ok(Some(below)) => {
                    path.extend_from_slice(&name);
                    path.push(b'/');
                    frames.push(below);
                }
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => visitor.unread(error),
            }
            continue;
        }
        let level = frames.len() - 1;
        let Some(frame) = frames.last_mut() else { break };
        match read(frame, level, &mut path, visitor) {
            Ok(true) => {}
            Ok(false) => leave(&mut frames, &mut path, visitor),
            Err(error) if level == 0 => return Err(error),
            Err(error) => {
                visitor.unread(error);
                leave(&mut frames, &mut path, visitor);
            }
        }
    }
    Ok(())
}

fn leave(frames: &mut Vec<Frame>, path: &mut Vec<u8>, visitor: &mut impl Visit) {
    let Some(done) = frames.pop() else { return };
    if let Some(parent) = frames.last() {
        let path = &path[..path.len() - 1];
        visitor.left(&parent.directory, &path[done.name_at..], path);
    }
    path.truncate(done.name_at);
}

/// One batch. `false` at the end of the directory.
fn read(frame: &mut Frame, level: usize, path: &mut Vec<u8>, visitor: &mut impl Visit) -> Result<bool> {
    // `path` is one buffer for the whole visit, cut back after each entry. A type that the directory does not
    // store is looked up here, since layouts treat files and directories differently.
    let Some(batch) = frame.reader.next_batch()? else { return Ok(false) };
    let length = path.len();
    for mut entry in batch {
        if entry.kind == FileType::Unknown {
            match frame.directory.kind_of(entry.name) {
                // Removed since.
                Ok(FileType::Unknown) => continue,
                Ok(kind) => entry.kind = kind,
                Err(error) => {
                    visitor.fail(error);
                    continue;
                }
            }
        }
        if entry.kind == FileType::Directory && visitor.enters(level, entry.name) {
            frame.below.push(entry.name.into());
            path.extend_from_slice(entry.name);
            visitor.found(path);
            path.truncate(length);
            continue;
        }
        path.extend_from_slice(entry.name);
        let at = At { directory: &frame.directory, path, inode: entry.inode };
        visitor.entry(&at, entry.name, entry.kind);
        path.truncate(length);
        if visitor.is_ended() {
            break;
        }
    }
    Ok(true)
}

fn enter(parent: &Dir, name: &[u8], except: Option<DirId>, name_at: usize) -> Result<Option<Frame>> {
    let Some(directory) = parent.open_below_on_this_mount(name)? else {
        let reason = "another file system is mounted there, which is not entered";
        return Err(Error::new("open", &parent.entry_path(name), ErrorKind::MountPoint, reason));
    };
    if except.is_some() && except == directory.id().ok() {
        return Ok(None);
    }
    Frame::open(directory, name_at).map(Some)
}
