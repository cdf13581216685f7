//! The newest entries of a directory, which stay.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::num::NonZeroUsize;

use super::node::Node;
use super::system::{self, Directory, Errno, Reader};
use super::worker::Worker;
use crate::attributes::{Attributes, Time};
use crate::decode::Records;
use crate::file_type::FileType;
use crate::remove::RemoveOptions;

const CALL_BYTES: usize = 128 << 10;

impl Worker<'_, '_, '_> {
    pub(super) fn is_newest(
        &mut self,
        node: &Node,
        directory: &Directory,
        facts: Option<&Attributes>,
    ) -> bool {
        let options = self.shared.options;
        let Some(count) = options.keep_newest else { return false };
        if node.newest.get().is_none() {
            let found = find(node, directory, options, count).unwrap_or_else(|error| {
                self.fail(node, b"", "find the newest entries of", error);
                None
            });
            let _ = node.newest.set(found);
        }
        let last = node.newest.get().copied().flatten();
        // Newer entries may have come since.
        last.zip(facts).is_none_or(|(last, facts)| options.by().of(facts) >= last)
    }
}

/// `None` if there are no more than `count`.
///
/// Time of the oldest of the `count` newest entries, from which on entries stay. It is found before the first entry
/// of the directory goes, by a descriptor of its own, so that the position of the removal's descriptor does not move.
/// The heap holds `count` times whatever the size of the directory. Conditions on age are left out: the newest are
/// those of all entries that match otherwise, or else old entries would be kept in addition to newer ones that the
/// conditions protect anyway. Entries that vanish meanwhile do not count; any other error makes all entries stay.
fn find(
    node: &Node,
    directory: &Directory,
    options: &RemoveOptions<'_>,
    count: NonZeroUsize,
) -> io::Result<Option<Time>> {
    let Some(open_again) = system::OPEN_AGAIN else { return Ok(None) };
    let directory = open_again(directory)?;
    let place = node.place(options.conditions);
    let of_any_age = options.conditions.map(crate::Conditions::without_times);
    let counts = |facts: &Attributes| {
        facts.kind != FileType::Directory
            && facts.have.contains(options.by().want())
            && of_any_age.as_ref().is_none_or(|conditions| {
                conditions.accepts_type(facts.kind) && conditions.accepts_attributes(facts)
            })
    };
    let mut newest = BinaryHeap::new();
    let mut is_full = false;
    let (mut reader, mut buffer) = (Reader::new(), vec![0; CALL_BYTES]);
    loop {
        let filled = reader.read(&directory, None, &mut buffer)?;
        if filled == 0 {
            break;
        }
        for record in Records::new(&buffer[..filled]).filter(|record| !record.is_dot()) {
            let is_directory = FileType::from_d_type(record.kind) == FileType::Directory;
            if is_directory || !options.accepts_name(place, record.name) {
                continue;
            }
            let facts = match system::facts(&directory, record.c_name()) {
                Ok((facts, _)) => facts,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            if counts(&facts) {
                newest.push(Reverse(options.by().of(&facts)));
                if newest.len() > count.get() {
                    newest.pop();
                    is_full = true;
                }
            }
        }
    }
    Ok(newest.peek().filter(|_| is_full).map(|Reverse(time)| *time))
}
