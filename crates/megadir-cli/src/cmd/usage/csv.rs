//! Directories as comma-separated values.

use megadir::names;
use megadir::usage::Sum;

use super::Answer;
use super::text::{exact_time, whole_path};

pub(super) fn write(text: &mut Vec<u8>, answer: &Answer<'_>) {
    text.extend_from_slice(
        b"directory,depth,entries,inodes,directories,allocated,apparent,newest,oldest\r\n",
    );
    for root in &answer.report.roots {
        row(text, names::from_os(root.path.as_os_str()), 0, &root.sum, answer);
    }
    for directory in answer.report.best(answer.args.printed()) {
        row(text, &whole_path(&answer.report, directory), directory.depth, &directory.sum, answer);
    }
}

fn row(text: &mut Vec<u8>, path: &[u8], depth: u32, sum: &Sum, answer: &Answer<'_>) {
    field(text, path);
    let allocated = match answer.report.has_allocated() {
        true => sum.amount.allocated.to_string(),
        false => String::new(),
    };
    let [newest, oldest] = [sum.newest, sum.oldest].map(|time| time.map(exact_time).unwrap_or_default());
    let (amount, directories) = (&sum.amount, sum.directories);
    let (entries, inodes, apparent) = (amount.entries, amount.inodes, amount.apparent);
    let rest =
        format!(",{depth},{entries},{inodes},{directories},{allocated},{apparent},{newest},{oldest}\r\n");
    text.extend_from_slice(rest.as_bytes());
}

/// Bytes that are not UTF-8 become `\xff`.
fn field(text: &mut Vec<u8>, bytes: &[u8]) {
    let mut plain = String::new();
    for chunk in bytes.utf8_chunks() {
        plain.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| plain.push_str(&format!("\\x{byte:02x}")));
    }
    match plain.contains(['"', ',', '\r', '\n']) {
        true => text.extend_from_slice(format!("\"{}\"", plain.replace('"', "\"\"")).as_bytes()),
        false => text.extend_from_slice(plain.as_bytes()),
    }
}
