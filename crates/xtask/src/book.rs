//! `cargo xtask book`: docs/, the methodology, the architecture and the records as a book, built by mdBook in `target/book`,
//! with every link checked. Pages link by their places in the repository, so they are copied to `target/book-source` in the
//! same places, with every file that they link to.
//!
//! ```text
//! docs/SUMMARY.md -> pages -> target/book-source/src, with the files they link to -> mdbook -> target/book -> check_links
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::files;
use crate::process::{self, Build, CratesIo, Workspace};

/// Built from source once for each machine: Debian has no package.
const MDBOOK: CratesIo = CratesIo { package: "mdbook", program: "mdbook", version: "0.5.4" };

/// First page of the book: the pages keep their places in the repository, and the first one is in docs/.
const FIRST: &str = "<!DOCTYPE html>\n<title>megadir</title>\n<meta http-equiv=\"refresh\" \
                     content=\"0; url=docs/index.html\">\n<a href=\"docs/index.html\">Start here</a>\n";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fail if mdBook is not installed yet, instead of installing it (some minutes)
    #[arg(long)]
    no_install: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let workspace = Workspace::find()?;
    if !args.no_install {
        install(&workspace)?;
    }
    println!("{}", build(&workspace)?);
    Ok(())
}

pub(crate) fn install(workspace: &Workspace) -> Result<(), String> {
    MDBOOK.install(&workspace.tools(), Build::Quick, &["--no-default-features", "--features", "search"])
}

pub(crate) fn build(workspace: &Workspace) -> Result<String, String> {
    let source = workspace.target.join("book-source");
    let book = workspace.target.join("book");
    for old in [&source, &book] {
        files::remove_folder(old)?;
    }
    copy_pages(&workspace.root, &source).map_err(files::cannot("copy the pages to", &source))?;
    let mut command = Command::new(workspace.tools().join("bin/mdbook"));
    let (_, messages) = process::outputs(command.arg("build").arg(&source).arg("--dest-dir").arg(&book))?;
    // mdBook copies the first page there, whose links begin in docs/.
    files::write(&book.join("index.html"), FIRST)?;
    // mdBook reports some faults as warnings only, and succeeds.
    if let Some(line) = messages.lines().find(|line| line.contains("WARN") || line.contains("ERROR")) {
        return Err(format!("mdbook: {line}"));
    }
    check_links(&book)
}

fn copy_pages(root: &Path, source: &Path) -> io::Result<()> {
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md"))?;
    // Links of the summary are relative to docs/, all other links to the page that has them.
    let pages: Vec<PathBuf> = links(&summary).map(|link| plain(&Path::new("docs").join(link))).collect();
    let mut files: BTreeSet<PathBuf> = pages.iter().cloned().collect();
    for page in &pages {
        let text = fs::read_to_string(root.join(page))?;
        let folder = page.parent().unwrap_or(Path::new(""));
        let linked = links(&text).map(|link| plain(&folder.join(link.split('#').next().unwrap_or(link))));
        // Only files: a link to a folder has no page.
        files.extend(linked.filter(|path| root.join(path).is_file()));
    }
    for file in &files {
        let copy = source.join("src").join(file);
        copy.parent().map_or(Ok(()), fs::create_dir_all)?;
        // Pages are text, with links that follow the names of the book; everything else is copied as bytes.
        match pages.contains(file) {
            true => fs::write(indexed(&copy), renamed(&fs::read_to_string(root.join(file))?))?,
            false => drop(fs::copy(root.join(file), copy)?),
        }
    }
    // The summary is in docs/, but the book begins at the root of the repository.
    let moved = renamed(&summary).replace("](", "](docs/").replace("](docs/../", "](");
    fs::write(source.join("src/SUMMARY.md"), moved)?;
    fs::copy(root.join("docs/book.toml"), source.join("book.toml"))?;
    Ok(())
}

/// mdBook renames `README.md` to `index.html`, but not the links to it.
fn renamed(text: &str) -> String {
    text.replace("README.md)", "index.md)").replace("README.md#", "index.md#")
}

fn indexed(path: &Path) -> PathBuf {
    if path.ends_with("README.md") { path.with_file_name("index.md") } else { path.to_owned() }
}

/// Targets of Markdown links within the repository. Addresses and anything with a space, such as code with
/// brackets, are no links to a file.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    targets.filter(|target| !target.contains("://") && !target.contains(char::is_whitespace))
}

/// The path without `.` and `..`, by its parts: the file need not exist.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

/// Parts of a page that other pages can name, and its own links.
struct Page {
    ids: BTreeSet<String>,
    links: Vec<String>,
}

fn check_links(book: &Path) -> Result<String, String> {
    let mut pages = BTreeMap::new();
    read_pages(book, &mut pages).map_err(files::cannot("read", book))?;
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (path, page) in &pages {
        // Links with a colon are addresses, which may be unreachable without being wrong.
        for link in page.links.iter().filter(|link| !link.contains(':')) {
            count += 1;
            let (file, id) = link.split_once('#').unwrap_or((link, ""));
            let folder = path.parent().unwrap_or(Path::new(""));
            let target = if file.is_empty() { path.clone() } else { plain(&folder.join(file)) };
            let is_right = match pages.get(&target) {
                Some(page) => id.is_empty() || page.ids.contains(id),
                None => target.is_file(),
            };
            if !is_right {
                let from = path.strip_prefix(book).unwrap_or(path);
                wrong.push(format!("{}: {link}", from.display()));
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(format!("book: {} pages, {count} links, in {}", pages.len(), book.display())),
        false => Err(format!("links in the book that lead nowhere:\n{}", wrong.join("\n"))),
    }
}

fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, Page>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(&path)?;
            let ids = values(&text, "id").collect();
            let links = values(&text, "href").chain(values(&text, "src")).collect();
            // The page for missing addresses has links of another form.
            if path.file_name().is_some_and(|name| name != "404.html") {
                pages.insert(path, Page { ids, links });
            }
        }
    }
    Ok(())
}

/// By text and not by a parser: mdBook writes attributes in one form.
fn values<'t>(text: &'t str, attribute: &str) -> impl Iterator<Item = String> + use<'t> {
    let begin = format!(" {attribute}=\"");
    let rests: Vec<&str> = text.split(&begin).skip(1).collect();
    rests.into_iter().filter_map(|rest| Some(rest.split_once('"')?.0.replace("&amp;", "&")))
}
