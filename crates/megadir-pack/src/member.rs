//! Headers of a member: a ustar header, preceded by pax records where it has no room.
//!
//! Records are written and read here, because those of the crate `tar` end at newlines, which names and attributes may have. Owners are numbers
//! only: with names, tar would give files to other users on other machines. Times have nanoseconds as records, as GNU tar writes them with
//! `--format=posix`.
//!
//! Reference: pax(1) of POSIX; `SCHILY.xattr.` as star(5) and GNU tar have it.

use megadir::FileType;
use megadir_inventory::{Facts, time_of};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

use crate::layout::{BLOCK_BYTES, padded};

const XATTR: &[u8] = b"SCHILY.xattr.";
/// Largest size that eleven octal digits hold.
const SIZE_MAX: u64 = 0o777_7777_7777;
/// Records of a member; attributes of Linux have at most 64 KiB each.
const RECORDS_BYTES_MAX: u64 = 16 << 20;
const BLOCK: usize = BLOCK_BYTES as usize;

/// Extended attributes: names and values.
pub(crate) type Attributes = Vec<(Vec<u8>, Vec<u8>)>;

/// Headers of a member, as far as its index row does not have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) kind: MemberKind,
    /// Below the tree, without a slash at its end; empty for the tree itself.
    pub(crate) path: Vec<u8>,
    pub(crate) size_bytes: u64,
    pub(crate) attributes: Attributes,
}

/// Beginning of the SHA-256 of attributes as they are in the headers; 0 without any.
pub(crate) fn attributes_hash(attributes: &Attributes) -> u64 {
    if attributes.is_empty() {
        return 0;
    }
    let mut records = Vec::new();
    attributes.iter().for_each(|(name, value)| attribute(&mut records, name, value));
    let hash = Sha256::digest(&records);
    u64::from_be_bytes(std::array::from_fn(|at| hash[at]))
}

fn attribute(records: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    record(records, &[XATTR, &escaped(name)].concat(), value);
}

/// Kinds of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MemberKind {
    File,
    Directory,
    /// With its target.
    Symlink(Vec<u8>),
    /// With the path of the member whose contents it shares.
    HardLink(Vec<u8>),
}

impl Member {
    /// Appends the headers to `out`; mode, owner and mtime come from `facts`.
    ///
    /// A value goes into the ustar header if it fits there, and into a pax record otherwise, so that most
    /// members take one block of 512 bytes. The limits of the header: 100 bytes for a name, 155 more for the
    /// directories above it, 100 for the target of a link, eleven octal digits (8 GiB) for a size, and whole
    /// seconds since 1970. If a value has a record, the header has as much of it as fits, or 0, for programs
    /// that do not read records.
    pub(crate) fn write(&self, facts: &Facts, out: &mut Vec<u8>) {
        let mut header = Header::new_ustar();
        let mut records = Vec::new();
        let (kind, link) = match &self.kind {
            MemberKind::File => (EntryType::Regular, None),
            MemberKind::Directory => (EntryType::Directory, None),
            MemberKind::Symlink(target) => (EntryType::Symlink, Some(target)),
            MemberKind::HardLink(first) => (EntryType::Link, Some(first)),
        };
        header.set_entry_type(kind);
        header.set_mode(facts.mode.unwrap_or(0).into());
        header.set_uid(facts.user.unwrap_or(0).into());
        header.set_gid(facts.group.unwrap_or(0).into());
        header.set_size(self.size_bytes);
        if self.size_bytes > SIZE_MAX {
            header.set_size(0);
            record(&mut records, b"size", self.size_bytes.to_string().as_bytes());
        }
        let mut path = self.path.clone();
        match (path.is_empty(), &self.kind) {
            (true, _) => path.extend_from_slice(b"./"),
            (false, MemberKind::Directory) => path.push(b'/'),
            _ => {}
        }
        let has_path = put_path(&mut header, &path);
        let link_max = header.as_old().linkname.len();
        let long_link = link.filter(|link| link.len() > link_max);
        if [Some(&path).filter(|_| !has_path), long_link].into_iter().flatten().any(|text| !text.is_ascii()) {
            // Otherwise libarchive takes records for UTF-8 and may compose characters, so that two names become one.
            record(&mut records, b"hdrcharset", b"BINARY");
        }
        if !has_path {
            record(&mut records, b"path", &path);
        }
        if let Some(link) = link {
            let field = &mut header.as_old_mut().linkname;
            let shown = link.len().min(field.len());
            field[..shown].copy_from_slice(&link[..shown]);
            if long_link.is_some() {
                record(&mut records, b"linkpath", link);
            }
        }
        let modified = time_of(facts.modified_ns.unwrap_or(0));
        let is_whole =
            modified.seconds >= 0 && modified.seconds as u64 <= SIZE_MAX && modified.nanoseconds == 0;
        header.set_mtime(u64::try_from(modified.seconds).map_or(0, |seconds| seconds.min(SIZE_MAX)));
        if !is_whole {
            record(&mut records, b"mtime", seconds(facts.modified_ns.unwrap_or(0)).as_bytes());
        }
        for (name, value) in &self.attributes {
            attribute(&mut records, name, value);
        }
        header.set_cksum();
        if !records.is_empty() {
            write_records(&records, out);
        }
        out.extend_from_slice(header.as_bytes());
    }

    /// Reads the headers of a member by `at`, which returns bytes of the shard from an offset relative to the first header. Returns the length of
    /// the headers too. Errors: what is wrong, for a message.
    pub(crate) fn read<E: From<String>>(
        mut at: impl FnMut(u64, usize) -> Result<Vec<u8>, E>,
    ) -> Result<(Self, u64), E> {
        let mut bytes = 0;
        let mut records = None;
        loop {
            let block = at(bytes, BLOCK)?;
            bytes += BLOCK_BYTES;
            let header = Header::from_byte_slice(&block);
            if !has_checksum(header, &block) {
                return Err("the header of the member is damaged".to_owned().into());
            }
            let size = header.entry_size().map_err(|error| error.to_string())?;
            if header.entry_type() == EntryType::XHeader {
                if records.is_some() || size > RECORDS_BYTES_MAX {
                    return Err("the records of the member are damaged".to_owned().into());
                }
                records = Some(at(bytes, size as usize)?);
                bytes += padded(size).unwrap_or(size);
                continue;
            }
            let parsed = parse(header, size, records.as_deref().unwrap_or_default())
                .ok_or_else(|| "the records of the member are damaged".to_owned())?;
            return Ok((parsed, bytes));
        }
    }

    /// `true` if a member of this kind holds entries of this type.
    pub(crate) fn fits(&self, kind: FileType) -> bool {
        match self.kind {
            MemberKind::File => kind == FileType::File,
            MemberKind::Directory => kind == FileType::Directory,
            MemberKind::Symlink(_) => kind == FileType::Symlink,
            // Symbolic links can have several names too, but each is a member of its own here.
            MemberKind::HardLink(_) => kind == FileType::File,
        }
    }
}

/// Records override the header, as POSIX demands, and unknown records are ignored, since later versions may
/// write more. `None` stands for a member that this crate does not write: the shards may have been changed by
/// anyone, so each length and number is checked before it is used. A directory must end with a slash, because
/// only such are written.
fn parse(header: &Header, size: u64, mut records: &[u8]) -> Option<Member> {
    let (mut path, mut size_bytes) = (header.path_bytes().into_owned(), size);
    let mut link = header.link_name_bytes().map(std::borrow::Cow::into_owned).unwrap_or_default();
    let mut attributes = Vec::new();
    while !records.is_empty() {
        let (key, value) = take_record(&mut records)?;
        match key {
            b"path" => path = value.to_vec(),
            b"linkpath" => link = value.to_vec(),
            b"size" => size_bytes = std::str::from_utf8(value).ok()?.parse().ok()?,
            _ => {
                if let Some(name) = key.strip_prefix(XATTR) {
                    attributes.push((unescaped(name), value.to_vec()));
                }
            }
        }
    }
    let kind = match header.entry_type() {
        EntryType::Regular => MemberKind::File,
        EntryType::Directory => MemberKind::Directory,
        EntryType::Symlink => MemberKind::Symlink(link),
        EntryType::Link => MemberKind::HardLink(link),
        _ => return None,
    };
    if kind == MemberKind::Directory {
        path = path.strip_suffix(b"/")?.to_vec();
        if path == b"." {
            path.clear();
        }
    }
    Some(Member { kind, path, size_bytes, attributes })
}

/// Into the fields for name and prefix. If `false`, they have the end of the path, for programs that know no records.
fn put_path(header: &mut Header, path: &[u8]) -> bool {
    let Some(fields) = header.as_ustar_mut() else { return false };
    let (name_max, prefix_max) = (fields.name.len(), fields.prefix.len());
    if path.len() <= name_max {
        fields.name[..path.len()].copy_from_slice(path);
        return true;
    }
    // The prefix ends before a slash that is not the last byte, so that the name is not empty.
    let first = path.len().saturating_sub(name_max + 1);
    let split = (first.max(1)..path.len() - 1).find(|at| path[*at] == b'/').filter(|at| *at <= prefix_max);
    let Some(split) = split else {
        fields.name.copy_from_slice(&path[path.len() - name_max..]);
        return false;
    };
    fields.prefix[..split].copy_from_slice(&path[..split]);
    let name = &path[split + 1..];
    fields.name[..name.len()].copy_from_slice(name);
    true
}

fn write_records(records: &[u8], out: &mut Vec<u8>) {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::XHeader);
    header.as_old_mut().name[..9].copy_from_slice(b"PaxHeader");
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(records.len() as u64);
    header.set_cksum();
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(records);
    pad(out, records.len());
}

/// Zeros up to a whole block after `bytes`.
pub(crate) fn pad(out: &mut Vec<u8>, bytes: usize) {
    out.resize(out.len() + bytes.next_multiple_of(BLOCK) - bytes, 0);
}

/// `LENGTH KEY=VALUE\n`, where the length includes itself.
fn record(records: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest;
    while length != rest + digits(length) {
        length = rest + digits(length);
    }
    records.extend_from_slice(length.to_string().as_bytes());
    for part in [b" ", key, b"=", value, b"\n"] {
        records.extend_from_slice(part);
    }
}

fn digits(number: usize) -> usize {
    number.checked_ilog10().map_or(1, |exponent| exponent as usize + 1)
}

fn take_record<'r>(records: &mut &'r [u8]) -> Option<(&'r [u8], &'r [u8])> {
    let space = records.iter().take(20).position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&records[..space]).ok()?.parse().ok()?;
    let (record, rest) = records.split_at_checked(length)?;
    let body = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = body.iter().position(|byte| *byte == b'=')?;
    *records = rest;
    Some((&body[..equals], &body[equals + 1..]))
}

/// GNU tar writes `%` and `=` in names of attributes like this, because a record has its first `=` after the key.
fn escaped(name: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'%' => escaped.extend_from_slice(b"%25"),
            b'=' => escaped.extend_from_slice(b"%3D"),
            byte => escaped.push(*byte),
        }
    }
    escaped
}

fn unescaped(mut name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    while let Some((&byte, rest)) = name.split_first() {
        let (byte, rest) = match name.first_chunk() {
            Some(b"%25") => (b'%', &name[3..]),
            Some(b"%3D") => (b'=', &name[3..]),
            _ => (byte, rest),
        };
        plain.push(byte);
        name = rest;
    }
    plain
}

/// Decimal seconds with as many digits as they need.
fn seconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let (whole, part) = (ns.unsigned_abs() / 1_000_000_000, ns.unsigned_abs() % 1_000_000_000);
    let text = format!("{sign}{whole}.{part:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn has_checksum(header: &Header, block: &[u8]) -> bool {
    let sum = block
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) });
    header.cksum().is_ok_and(|there| there == sum.sum::<u32>())
}

#[cfg(test)]
mod tests {
    use megadir_inventory::Facts;

    use super::{Member, MemberKind, seconds, take_record};

    fn facts(modified_ns: i64) -> Facts {
        let (mode, user, group) = (Some(0o4755), Some(u32::MAX - 1), Some(7));
        Facts { modified_ns: Some(modified_ns), mode, user, group, ..Facts::NOTHING }
    }

    fn read(bytes: &[u8]) -> Result<(Member, u64), String> {
        Member::read(|at, length| {
            let at = at as usize;
            bytes.get(at..at + length).map(<[u8]>::to_vec).ok_or_else(|| "the end".to_owned())
        })
    }

    #[test]
    fn members_come_back_from_their_headers() {
        let deep = [&b"d/".repeat(80)[..], b"name"].concat();
        let paths = [
            b"a".to_vec(),
            vec![b'x'; 100],
            vec![b'x'; 101],
            vec![0xff; 255],
            deep.clone(),
            b"d/".repeat(2000).repeat(2).into_iter().chain(*b"x").collect(),
            b"new\nline and = and %".to_vec(),
        ];
        for path in paths {
            for kind in [
                MemberKind::File,
                MemberKind::Directory,
                MemberKind::Symlink(vec![b'y'; 300]),
                MemberKind::Symlink(b"../x".to_vec()),
                MemberKind::HardLink(deep.clone()),
            ] {
                for size_bytes in [0, 5, 0o777_7777_7777, 1 << 40] {
                    let attributes =
                        vec![(b"user.a=b%25\n".to_vec(), b"\0\n=".to_vec()), (b"user.b".to_vec(), vec![])];
                    for attributes in [Vec::new(), attributes] {
                        let member =
                            Member { kind: kind.clone(), path: path.clone(), size_bytes, attributes };
                        let mut out = Vec::new();
                        member.write(&facts(-1), &mut out);
                        assert_eq!(out.len() % 512, 0);
                        assert_eq!(read(&out), Ok((member, out.len() as u64)));
                    }
                }
            }
        }
        let root =
            Member { kind: MemberKind::Directory, path: Vec::new(), size_bytes: 0, attributes: Vec::new() };
        let mut out = Vec::new();
        root.write(&facts(0), &mut out);
        assert_eq!((read(&out), out.len()), (Ok((root, 512)), 512));
    }

    #[test]
    fn damaged_headers_are_errors() {
        let member = Member {
            kind: MemberKind::Symlink(b"target".to_vec()),
            path: vec![b'x'; 200],
            size_bytes: 0,
            attributes: vec![(b"user.a".to_vec(), b"value".to_vec())],
        };
        let mut whole = Vec::new();
        member.write(&facts(1_500_000_001), &mut whole);
        for at in 0..whole.len() {
            for byte in [0, b'9', 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                let _ = read(&damaged);
            }
            assert!(read(&whole[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn records_have_their_own_length() {
        for bytes in [0, 1, 85, 86, 87, 88, 89, 980, 990, 99_990] {
            let mut records = Vec::new();
            super::record(&mut records, b"path", &vec![b'v'; bytes]);
            let mut rest = &records[..];
            assert_eq!(take_record(&mut rest), Some((&b"path"[..], &vec![b'v'; bytes][..])), "{bytes}");
            assert!(rest.is_empty());
        }
        assert_eq!(take_record(&mut &b"99 path=x\n"[..]), None);
        assert_eq!(take_record(&mut &b"3 p"[..]), None);
    }

    #[test]
    fn seconds_have_as_many_digits_as_they_need() {
        let text = [0, 1, -1, 1_500_000_000, -1_500_000_000, 10_000_000_000].map(seconds);
        assert_eq!(text, ["0", "0.000000001", "-0.000000001", "1.5", "-1.5", "10"]);
    }
}
