//! `megadir pack cat`

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use megadir::names;
use megadir_pack::Pack;

use crate::cmd::listed::{Item, List};
use crate::exit::{self, CliError, describe};
use crate::ui::message::quoted_bytes;
use crate::ui::output::print_with;

/// Paths of a list that are looked up together.
const TOGETHER: usize = 4096;

/// Write the contents of packed files to standard output, one after the other
///
/// A file is found by the index and read with one system call, if it is small. Its SHA-256 is compared after it was written: if it differs, the output is
/// wrong, and the exit code is 1.
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 done; 1 some files are not in the pack or damaged; 2 usage; 3 the pack cannot be opened."
)]
pub(crate) struct Args {
    /// Directory of the pack, or its index.parquet
    #[arg(value_name = "PACK")]
    pack: PathBuf,
    /// Paths of files below the packed tree, as 'megadir list -r' prints them, with or without the tree's own path
    #[arg(value_name = "PATH", required_unless_present = "files0_from", conflicts_with = "files0_from")]
    paths: Vec<OsString>,
    /// Read NUL-terminated paths from FILE ('-': standard input)
    #[arg(long, value_name = "FILE")]
    files0_from: Option<PathBuf>,
}

/// Paths are looked up `TOGETHER` at a time: the index is read in groups of rows, and paths that are near each
/// other share a group. A list of millions of paths is therefore never in memory as a whole. A bad path of the list is reported
/// and the others follow, with an exit code that shows it.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let mut pack = Pack::open(&args.pack)?;
    let root = pack.metadata().roots.first().map(|root| root.path.clone()).unwrap_or_default();
    let mut list = args.files0_from.as_deref().map(List::open).transpose()?;
    let mut named = args.paths.iter().map(|path| names::from_os(path).to_vec());
    let mut code = exit::DONE;
    loop {
        let mut paths = Vec::new();
        while paths.len() < TOGETHER {
            let next = match &mut list {
                None => named.next(),
                Some(list) => match list.next_item()? {
                    None => None,
                    Some(Item::Path(path)) => Some(path),
                    Some(Item::Bad(message)) => {
                        eprintln!("megadir: {message}");
                        code = exit::SOME_FAILED;
                        continue;
                    }
                },
            };
            match next {
                Some(path) => paths.push(path),
                None => break,
            }
        }
        if paths.is_empty() {
            return Ok(code);
        }
        code = code.max(together(&mut pack, &root, &paths)?);
    }
}

fn together(pack: &mut Pack, root: &[u8], paths: &[Vec<u8>]) -> Result<u8, CliError> {
    let below: Vec<Vec<u8>> = paths.iter().map(|path| below(root, path)).collect();
    let mut found = pack.find_all(&below)?;
    // As the tree was named when it was packed, from the current directory.
    let others: Vec<usize> = (0..paths.len()).filter(|at| found[*at].is_none()).collect();
    let named: Vec<Vec<u8>> = others.iter().map(|at| from_here(root, &paths[*at])).collect();
    for (at, entry) in others.into_iter().zip(pack.find_all(&named)?) {
        found[at] = entry.filter(|entry| !entry.path.is_empty());
    }
    let mut failures = Vec::new();
    print_with(|output| {
        for (path, entry) in paths.iter().zip(&found) {
            let Some(entry) = entry else {
                failures.push(format!("{}: not in the pack", quoted_bytes(path)));
                continue;
            };
            let mut out = Kept { output: &mut *output, failed: None };
            let written = pack.write_to(entry, &mut out);
            if let Some(error) = out.failed {
                return Err(error);
            }
            if let Err(error) = written {
                failures.push(describe(&error));
            }
        }
        Ok(())
    })?;
    failures.iter().for_each(|failure| eprintln!("megadir: {failure}"));
    Ok(if failures.is_empty() { exit::DONE } else { exit::SOME_FAILED })
}

/// Keeps the error of the output, which may be a closed pipe.
struct Kept<'o, W: Write + ?Sized> {
    output: &'o mut W,
    failed: Option<io::Error>,
}

impl<W: Write + ?Sized> Write for Kept<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output
            .write(bytes)
            .inspect_err(|error| self.failed = Some(io::Error::new(error.kind(), error.to_string())))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Below the tree, in the spelling of the index.
fn below(root: &[u8], path: &[u8]) -> Vec<u8> {
    let rest = match path.strip_prefix(root) {
        Some(rest) if !root.is_empty() && (rest.first() == Some(&b'/') || root.ends_with(b"/")) => rest,
        _ => path,
    };
    let names = rest.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    names.collect::<Vec<_>>().join(&b'/')
}

/// Below the tree, if the path leads there from the current directory; otherwise nothing.
fn from_here(root: &[u8], path: &[u8]) -> Vec<u8> {
    let absolute = names::to_os(path).ok().and_then(|path| std::path::absolute(Path::new(&*path)).ok());
    let absolute = absolute.map(|path| names::from_os(path.as_os_str()).to_vec()).unwrap_or_default();
    if absolute.starts_with(root) { below(root, &absolute) } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn paths_begin_below_the_tree() {
        for path in ["a/b", "./a/b", "a//b/", "/tree/a/b", "/tree//a/./b"] {
            assert_eq!(below(b"/tree", path.as_bytes()), b"a/b", "{path}");
        }
        assert_eq!(below(b"/tree", b"/treehouse"), b"treehouse");
        assert_eq!(below(b"/", b"/a/b"), b"a/b");
        assert_eq!(below(b"/tree", b"../a"), b"../a");
    }
}
