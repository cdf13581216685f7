//! Circles of modules: the modules of one folder use each other in one direction only; a module and its children may use each other. A path
//! through a re-export counts for the defining module; test modules are left out. Macros' arguments count too.
//!
//! No order is declared: an import that closes no circle only adds to the order.
//!
//! ```text
//! source -> tokens -> Reader: modules, imports, references (module -> path) -> resolve (through re-exports)
//! references of one folder -> uses (child -> child) -> shortest circle of each strongly connected set
//! ```

use super::source::{Finding, Source};
use crate::tidy::source::is_word;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Re-exports that lead to re-exports are followed this far.
const REEXPORTS_MAX: u32 = 8;

pub(crate) fn find(sources: &[Source]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_rust() && !source.is_test()) {
        let parts = source.path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"));
        if let Some((name, _)) = parts {
            crates.entry(name).or_default().push(source);
        }
    }
    crates.values().flat_map(|sources| Crate::read(sources).circles()).collect()
}

/// Parts of a module's path below its crate; empty for the root.
type Path = Vec<String>;

/// Pairs of modules (user, used), with the first place of each use.
type Uses<'a> = BTreeMap<(String, String), (&'a Source, usize)>;

/// A path in the code that leads to another module, before re-exports are followed.
struct Reference<'a> {
    from: Path,
    to: Path,
    source: &'a Source,
    line: usize,
}

/// Modules of a crate, names that each module imports or re-exports, and all paths.
#[derive(Default)]
struct Crate<'a> {
    modules: BTreeSet<Path>,
    imports: BTreeMap<Path, BTreeMap<String, Path>>,
    references: Vec<Reference<'a>>,
}

impl<'a> Crate<'a> {
    fn read(sources: &[&'a Source]) -> Self {
        let modules = sources.iter().map(|source| module_of(&source.path)).collect();
        let mut all = Self { modules, ..Self::default() };
        for source in sources {
            let tokens = tokens(source);
            Reader { all: &mut all, source, tokens: &tokens, at: 0, inline: Vec::new(), depth: 0 }.read();
        }
        all
    }

    /// The module of a path: the longest beginning that is one, or the target of a re-export after it.
    fn resolve(&self, path: &[String], reexports: u32) -> Path {
        let mut length = 0;
        while length < path.len() && self.modules.contains(&path[..=length]) {
            length += 1;
        }
        let module = path[..length].to_vec();
        let target = path.get(length).and_then(|name| self.imports.get(&module)?.get(name));
        // A re-export of the same path would never end.
        match target.filter(|target| reexports < REEXPORTS_MAX && *target != path) {
            Some(target) => self.resolve(&[target, &path[length + 1..]].concat(), reexports + 1),
            None => module,
        }
    }

    fn circles(&self) -> Vec<Finding> {
        let mut folders: BTreeMap<&[String], Uses<'a>> = BTreeMap::new();
        for Reference { from, to, source, line } in &self.references {
            let to = self.resolve(to, 0);
            // Parent and child may use each other, so only the first parts that differ count: two children
            // of one folder.
            let common = from.iter().zip(&to).take_while(|(left, right)| left == right).count();
            if let (Some(left), Some(right)) = (from.get(common), to.get(common)) {
                let uses = folders.entry(&from[..common]).or_default();
                uses.entry((left.clone(), right.clone())).or_insert((source, *line));
            }
        }
        folders.iter().flat_map(|(folder, uses)| circles_in(folder, uses)).collect()
    }
}

/// The shortest circle in each set of modules that reach each other.
fn circles_in(folder: &[String], uses: &Uses<'_>) -> Vec<Finding> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut findings = Vec::new();
    for start in uses.keys().map(|(from, _)| from.as_str()).collect::<BTreeSet<_>>() {
        let Some(circle) = shortest_circle(start, uses).filter(|_| !known.contains(start)) else { continue };
        // Each set is reported once, by one circle.
        known.extend(
            reachable(start, uses).into_iter().filter(|other| reachable(other, uses).contains(start)),
        );
        let steps: Vec<String> = circle
            .windows(2)
            .map(|two| {
                let (source, line) = uses[&(two[0].to_owned(), two[1].to_owned())];
                format!("`{}` uses `{}` ({}:{line})", two[0], two[1], source.path)
            })
            .collect();
        let place = if folder.is_empty() { "the crate".into() } else { format!("`{}`", folder.join("::")) };
        let message = format!(
            "a circle of modules in {place}: {}; move what both need into a module below them",
            steps.join(", ")
        );
        let (source, line) = uses[&(circle[0].to_owned(), circle[1].to_owned())];
        findings.push(source.finding(line, message));
    }
    findings
}

/// Breadth first: the first way back to the start is a shortest one.
fn shortest_circle<'u>(start: &'u str, uses: &'u Uses<'_>) -> Option<Vec<&'u str>> {
    let mut waiting = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = waiting.pop_front() {
        for next in used_by(way[way.len() - 1], uses) {
            let way = [way.as_slice(), &[next]].concat();
            if next == start {
                return Some(way);
            }
            if seen.insert(next) {
                waiting.push_back(way);
            }
        }
    }
    None
}

fn used_by<'u>(module: &str, uses: &'u Uses<'_>) -> impl Iterator<Item = &'u str> {
    uses.keys().filter(move |(from, _)| from == module).map(|(_, to)| to.as_str())
}

fn reachable<'u>(start: &str, uses: &'u Uses<'_>) -> BTreeSet<&'u str> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = used_by(start, uses).collect();
    while let Some(module) = waiting.pop() {
        if reached.insert(module) {
            waiting.extend(used_by(module, uses));
        }
    }
    reached
}

fn module_of(path: &str) -> Path {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside).trim_end_matches(".rs");
    let mut module: Path = inside.split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        module.pop();
    }
    module
}

type Token<'t> = (&'t str, usize);

/// A word, `::` or a single sign, with its line. Lines of tests have none.
fn tokens(source: &Source) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (index, line) in source.code.lines().enumerate() {
        if source.test_lines.get(index) == Some(&true) {
            continue;
        }
        // Spaces separate tokens and are none.
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                _ if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                _ => first.len_utf8(),
            };
            tokens.push((&rest[..length], index + 1));
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// A position in the tokens of one file. `inline` are the modules written in the file that are open at this
/// place, each with the depth of braces at which it ends. Each find goes to `all`, since paths lead to
/// other files.
struct Reader<'r, 'a> {
    all: &'r mut Crate<'a>,
    source: &'a Source,
    tokens: &'r [Token<'r>],
    at: usize,
    /// With the depth of braces.
    inline: Vec<(String, usize)>,
    depth: usize,
}

impl<'r> Reader<'r, '_> {
    fn read(&mut self) {
        while let Some((token, line)) = self.next() {
            // The name after `::` belongs to a path that was read as a whole.
            let is_after_path = self.at >= 2 && self.tokens[self.at - 2].0 == "::";
            match token {
                "{" => self.depth += 1,
                "}" => {
                    self.depth = self.depth.saturating_sub(1);
                    // A brace closes the inline modules that were opened at its depth.
                    self.inline.retain(|(_, depth)| *depth < self.depth);
                }
                "mod" if self.peek(1) == Some("{") => {
                    let name = self.next().map_or("", |(name, _)| name);
                    self.inline.push((name.to_owned(), self.depth));
                }
                "use" if self.peek(0).is_some_and(|next| next != "<") => self.tree(&[], line),
                // `Name::` outside of an import begins a path.
                _ if is_name(token) && self.peek(0) == Some("::") && !is_after_path => {
                    let mut path = vec![token.to_owned()];
                    while self.peek(0) == Some("::") && self.peek(1).is_some_and(is_name) {
                        self.at += 1;
                        path.extend(self.next().map(|(name, _)| name.to_owned()));
                    }
                    self.name(&path, None, line);
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Option<Token<'r>> {
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    fn peek(&self, ahead: usize) -> Option<&'r str> {
        self.tokens.get(self.at + ahead).map(|(token, _)| *token)
    }

    /// Reads a tree of `use`, including the `,`, `}` or `;` that ends it.
    fn tree(&mut self, prefix: &[String], line: usize) {
        let (mut path, mut alias) = (prefix.to_vec(), None);
        let mut nested = false;
        while let Some((token, _)) = self.next() {
            match token {
                "{" => {
                    nested = true;
                    while self.peek(0).is_some_and(|next| next != "}") {
                        self.tree(&path, line);
                    }
                    self.at += 1;
                }
                "as" => alias = self.next().map(|(name, _)| name.to_owned()),
                "self" if path.len() > prefix.len() || !prefix.is_empty() => {}
                _ if is_name(token) => path.push(token.to_owned()),
                "," | ";" => break,
                _ => {}
            }
            // The end of a nested tree belongs to the outer tree.
            if self.peek(0) == Some("}") {
                break;
            }
        }
        if !nested && !path.is_empty() {
            self.name(&path, Some(alias), line);
        }
    }

    /// Records a path as a reference, and as an import if it is one; `import` has the alias, if there is
    /// one.
    ///
    /// A path that begins with neither `crate`, `self` nor `super` counts only if its first part is a child
    /// module: all others are other crates, types or local names.
    fn name(&mut self, path: &[String], import: Option<Option<String>>, line: usize) {
        let own = module_of(&self.source.path);
        let mut base = own.clone();
        base.extend(self.inline.iter().map(|(name, _)| name.clone()));
        let supers = path.iter().take_while(|part| *part == "super").count();
        let to = match path[0].as_str() {
            "crate" => path[1..].to_vec(),
            "self" => [base.as_slice(), &path[1..]].concat(),
            "super" => [&base[..base.len().saturating_sub(supers)], &path[supers..]].concat(),
            child => {
                let below = [own.as_slice(), &[child.to_owned()]].concat();
                if !self.all.modules.contains(&below) {
                    return;
                }
                [own.as_slice(), path].concat()
            }
        };
        if let (Some(alias), Some(last)) = (import, path.last()) {
            let name = alias.unwrap_or_else(|| last.clone());
            self.all.imports.entry(base).or_default().insert(name, to.clone());
        }
        self.all.references.push(Reference { from: own, to, source: self.source, line });
    }
}

fn is_name(token: &str) -> bool {
    token.chars().next().is_some_and(|first| is_word(first) && !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the messages about a crate of these files.
    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let path = |name: &str| format!("crates/a/src/{name}");
        let sources: Vec<Source> = files.iter().map(|(name, text)| Source::new(path(name), *text)).collect();
        find(&sources).into_iter().map(|finding| finding.message).collect()
    }

    const LIB: (&str, &str) = ("lib.rs", "mod walk; mod order; mod plan;");

    #[test]
    fn a_circle_made_on_purpose_fails_and_is_named() {
        let there = ("walk.rs", "use crate::order::Order;\nfn a() {}");
        let back = ("order.rs", "// Far down.\n\nfn b() { crate::walk::a() }");
        let found = circles(&[LIB, there, back]);
        assert_eq!(
            found,
            ["a circle of modules in the crate: `order` uses `walk` (crates/a/src/order.rs:3), \
              `walk` uses `order` (crates/a/src/walk.rs:1); move what both need into a module below them"]
        );
        assert!(circles(&[LIB, there, ("order.rs", "fn b() {}")]).is_empty());
    }

    #[test]
    fn every_kind_of_path_counts() {
        let there = ("walk.rs", "use super::order;");
        for back in [
            "use crate::{plan, walk::{self, A}};",
            "use super::walk::*;",
            "fn f() -> super::walk::A { todo() }",
            "fn f() { vec![<A as crate::walk::A>::B] }",
            "mod linux { use super::super::walk::A; }",
            "pub(crate) use crate::plan::Through;",
        ] {
            let through = ("plan.rs", "pub(crate) use crate::walk::Through;");
            assert_eq!(circles(&[LIB, through, there, ("order.rs", back)]).len(), 1, "{back}");
        }
        for fine in [
            "use std::walk::A; use crate::Top; use crate::plan;",
            "#[cfg(test)]\nmod tests {\n  use crate::walk::A;\n}\n",
            "// crate::walk::A\nfn f() { \"crate::walk::A\" }",
            "fn f() -> impl Sized + use<'_> { A::walk::b() }",
        ] {
            assert!(circles(&[LIB, ("plan.rs", ""), there, ("order.rs", fine)]).is_empty(), "{fine}");
        }
    }

    #[test]
    fn folders_are_compared_as_wholes_and_children_may_use_their_parent() {
        let parent = ("walk/mod.rs", "mod one; mod two; use one::A; pub(crate) trait T {}");
        let child = ("walk/one.rs", "use super::T;");
        let two = ("walk/two.rs", "use super::one::A; use crate::order::B;");
        assert!(circles(&[LIB, parent, child, two, ("order.rs", "")]).is_empty());
        let found = circles(&[LIB, parent, child, two, ("order.rs", "use crate::walk::one::A;")]);
        assert!(found[0].starts_with("a circle of modules in the crate: `order` uses `walk`"), "{found:?}");
        let found = circles(&[LIB, parent, ("walk/one.rs", "use super::two::C;"), two, ("order.rs", "")]);
        assert!(found[0].starts_with("a circle of modules in `walk`: `one` uses `two`"), "{found:?}");
    }

    #[test]
    fn circle_of_three_modules_is_reported_by_its_shortest_path() {
        let files = [
            ("a.rs", "use crate::b; use crate::d;"),
            ("b.rs", "use crate::c;"),
            ("c.rs", "use crate::a;"),
            ("d.rs", "use crate::b;"),
        ];
        let found = circles(&files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].matches(" uses ").count(), 3);
    }
}
