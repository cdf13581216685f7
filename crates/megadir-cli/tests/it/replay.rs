//! Output of `megadir changes` can be replayed, in each of its formats.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use megadir_testkit::require;
use megadir_testkit::rng::Rng;

use crate::support::megadir;

fn scan(tree: &Path, inventory: &Path) {
    let output = megadir(".", &["scan", "--output"]).args([inventory, tree]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Identity of a file: inode and birth time.
type File = (u64, Option<std::time::SystemTime>);
/// Files by path.
type Tree = BTreeMap<String, Option<File>>;

fn listing(tree: &Path) -> Tree {
    let (mut all, mut waiting) = (Tree::new(), vec![tree.to_owned()]);
    while let Some(path) = waiting.pop() {
        let meta = path.symlink_metadata().unwrap();
        all.insert(path.to_str().unwrap().to_owned(), Some((meta.ino(), meta.created().ok())));
        if meta.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    all
}

/// Changes a tree with few names, so that names are often reused.
struct Changer {
    tree: PathBuf,
    rng: Rng,
}

impl Changer {
    fn any(&mut self) -> PathBuf {
        let paths: Vec<String> = listing(&self.tree).into_keys().collect();
        PathBuf::from(&paths[self.rng.within(0, paths.len() as u64 - 1) as usize])
    }

    fn new_path(&mut self) -> PathBuf {
        loop {
            let directory = self.any();
            if directory.is_dir() {
                return directory.join(self.rng.pick(&["a", "b", "c", "x"]));
            }
        }
    }

    /// Makes one random change. A change that does not apply to the current tree is skipped.
    fn change(&mut self) {
        let (from, to) = (self.any(), self.new_path());
        match self.rng.within(0, 8) {
            0 => drop(fs::create_dir(to)),
            1 if from != self.tree => drop(fs::remove_dir_all(&from).or_else(|_| fs::remove_file(&from))),
            2 if !to.exists() => fs::write(to, "new").unwrap(),
            3 => drop(fs::hard_link(from, to)),
            4 if from.is_file() => fs::write(from, "changed").unwrap(),
            // Reuses the name of a directory and moves some of its old contents back.
            5 | 6 if from != self.tree && from.is_dir() && !to.exists() => take_name_again(&from, &to),
            _ if from != self.tree => drop(fs::rename(from, to)),
            _ => {}
        }
    }
}

/// Renames a directory, creates another with its old name, and moves some of the contents back.
fn take_name_again(from: &Path, to: &Path) {
    if fs::rename(from, to).is_err() {
        return;
    }
    fs::create_dir(from).unwrap();
    for entry in fs::read_dir(to).unwrap().map(Result::unwrap) {
        if entry.file_name().as_encoded_bytes()[0] % 2 == 1 {
            fs::rename(entry.path(), from.join(entry.file_name())).unwrap();
        }
    }
}

/// A printed change: kind, old path if any, path, `true` if it is another file.
type Printed = (String, Option<String>, String, bool);

fn of_text(output: &[u8]) -> Vec<Printed> {
    let text = std::str::from_utf8(output).unwrap();
    let printed = text.lines().map(|line| {
        let (kind, rest) = line.split_once(char::is_whitespace).unwrap();
        let (paths, besides) = rest.trim_start().split_once(" (").unwrap_or((rest.trim_start(), ""));
        let (from, path) =
            paths.split_once(" -> ").map_or((None, paths), |(from, path)| (Some(from.to_owned()), path));
        (kind.to_owned(), from, path.to_owned(), besides.contains("inode"))
    });
    printed.collect()
}

fn of_json(output: &[u8]) -> Vec<Printed> {
    let text = std::str::from_utf8(output).unwrap();
    let printed = text.lines().map(|line| {
        let member = |key: &str| {
            let rest = line.split_once(&format!("\"{key}\":\""))?.1;
            Some(rest.split_once('"').unwrap().0.to_owned())
        };
        (
            member("change").unwrap(),
            member("from"),
            member("path").unwrap(),
            line.contains("\"inode\"]") || line.contains("\"inode\","),
        )
    });
    printed.collect()
}

fn of_null(output: &[u8]) -> Vec<Printed> {
    let mut all: Vec<Printed> = Vec::new();
    for record in std::str::from_utf8(output).unwrap().split_terminator('\0') {
        let (kind, path) = record.split_once('\t').unwrap();
        match kind {
            "from" => all.last_mut().unwrap().1 = Some(path.to_owned()),
            _ => all.push((kind.to_owned(), None, path.to_owned(), false)),
        }
    }
    all
}

/// Removes a path with everything below it from a tree.
fn take(tree: &mut Tree, path: &str) -> Tree {
    let below = format!("{path}/");
    tree.extract_if(.., |at, _| at == path || at.starts_with(&below))
        .map(|(at, file)| (at[path.len()..].to_owned(), file))
        .collect()
}

/// Applies the printed changes to a listing, as documented in docs/inventory.md.
fn replay(mut tree: Tree, printed: &[Printed]) -> Tree {
    let mut out: Vec<(&String, usize)> = Vec::new();
    for (index, (kind, from, path, _)) in printed.iter().enumerate() {
        match kind.as_str() {
            "removed" => out.push((path, index)),
            "renamed" => out.push((from.as_ref().unwrap(), index)),
            _ => {}
        }
    }
    out.sort_by(|a, b| b.cmp(a));
    let mut aside: BTreeMap<usize, Tree> = BTreeMap::new();
    for (path, index) in out {
        let taken = take(&mut tree, path);
        assert!(taken.contains_key(""), "{path}: {printed:#?}");
        aside.insert(index, taken);
    }
    for (index, (kind, _, path, other)) in printed.iter().enumerate() {
        match kind.as_str() {
            "renamed" => {
                take(&mut tree, path);
                let moved = aside.remove(&index).unwrap();
                tree.extend(moved.into_iter().map(|(below, file)| (format!("{path}{below}"), file)));
            }
            "added" | "type-changed" => {
                take(&mut tree, path);
                tree.insert(path.clone(), None);
            }
            "modified" | "suspect" => {
                assert!(tree.contains_key(path), "{path}: {printed:#?}");
                if *other {
                    tree.insert(path.clone(), None);
                }
            }
            _ => {}
        }
    }
    tree
}

#[test]
fn changes_replayed_on_the_old_listing_give_the_new_one() {
    let scratch = tempfile::tempdir().unwrap();
    let trials = if require::full() { 2000 } else { 250 };
    let mut trees = Vec::new();
    for seed in 0..trials {
        let tree = scratch.path().join(seed.to_string());
        fs::create_dir(&tree).unwrap();
        let mut changer = Changer { tree: tree.clone(), rng: Rng::new(seed) };
        (0..20).for_each(|_| match changer.rng.chance(50) {
            true => drop(fs::create_dir(changer.new_path())),
            false => changer.change(),
        });
        trees.push(changer);
    }
    std::thread::sleep(Duration::from_millis(130));
    for (seed, changer) in trees.iter_mut().enumerate() {
        let inventory = scratch.path().join("inventory");
        scan(&changer.tree, &inventory);
        let old = listing(&changer.tree);
        (0..changer.rng.within(1, 8)).for_each(|_| changer.change());
        let new = listing(&changer.tree);
        for (options, parse) in [
            (&["changes"][..], of_text as fn(&[u8]) -> Vec<Printed>),
            (&["changes", "--json"], of_json),
            (&["changes", "-0"], of_null),
        ] {
            let output = megadir(".", options).arg(&inventory).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let printed = parse(&output.stdout);
            let replayed = replay(old.clone(), &printed);
            let paths: Vec<&String> = replayed.keys().collect();
            assert_eq!(paths, new.keys().collect::<Vec<_>>(), "seed {seed}: {old:#?} {printed:#?}");
            // Without fields, a replaced file looks like a modified one.
            for (path, file) in replayed.iter().filter(|_| !options.contains(&"-0")) {
                assert!(
                    file.is_none() || *file == new[path],
                    "seed {seed}: {path}: {old:#?} {new:#?} {printed:#?}"
                );
            }
        }
    }
}
