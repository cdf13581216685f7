//! One layout in each language, and the page about layouts; `MEGADIR_BLESS=1` rewrites the files.

use std::fmt::Write;

use megadir::layout::{Layout, PRESETS};
use megadir_advise::code::{Language, snippet, words};
use megadir_testkit::output::golden;

#[track_caller]
fn code_is(file: &str, layout: &str, language: Language) {
    same(&format!("tests/golden/{file}"), &snippet(&layout.parse().unwrap(), language).unwrap());
}

#[track_caller]
fn same(file: &str, text: &str) {
    golden(env!("CARGO_MANIFEST_DIR"), file, text);
}

#[test]
fn printed_code_equals_the_stored_code() {
    code_is("digest.py", "digest:2/2", Language::Python);
    code_is("ccache.py", "ccache", Language::Python);
    code_is("digest.rs.txt", "digest:2/2", Language::Rust);
    code_is("digest.go", "digest:2/2", Language::Go);
    code_is("digest.sh", "digest:2/2", Language::Shell);
}

/// Fixed beginning of the page.
const HEAD: &str = "\
# Layouts: the path of a file

A layout computes the path of a file from its name, to spread very many files over directories. `megadir make --layout` fills a tree by a layout,
`megadir bench run layout --layout` compares layouts, and `megadir advise` recommends one and prints its code. In Rust they are `megadir::layout`.

```text
LAYOUT  = \"flat\" | PRESET | SOURCE \":\" LEVEL { \"/\" LEVEL } { \"+\" OPTION }
SOURCE  = \"prefix\" | \"suffix\" | \"next-to-last\" | \"digest\" | \"decimal\" | \"sequence\"
LEVEL   = number of characters in a directory's name; with sequence, number of directories
OPTION  = \"rest\" | \"from=\" LEVELS | \"under=\" FILES | \"label=\" TEXT | \"ending=\" TEXT
```

Names are bytes, and a character is a byte. Two names never share a path, and no file's path is a directory of another file. A layout refuses names that
would break this rule (too short, or with a directory called `..`).

The rest of this page is generated (`MEGADIR_BLESS=1 cargo test -p megadir-advise --test code golden`).

";

/// One layout for each source and option.
const SHOWN: &[&str] = &[
    "flat",
    "prefix:2/2",
    "prefix:2+rest",
    "suffix:1/2",
    "next-to-last:2",
    "digest:2",
    "digest:2/2",
    "decimal:3/3/3",
    "sequence:16/256",
    "digest:1/1/1+from=1+under=10000",
    "suffix:1/1+label=DIR_",
    "next-to-last:2+ending=.data",
];

#[test]
fn layouts_page_equals_the_code() {
    let mut page = HEAD.to_owned();
    writeln!(page, "## How a path is computed\n").unwrap();
    for text in SHOWN {
        writeln!(page, "* `{text}`: {}", words(&text.parse::<Layout>().unwrap())).unwrap();
    }
    writeln!(page, "\n## Layouts of known programs\n").unwrap();
    for preset in PRESETS {
        // Its last sentence is the example.
        let words = words(&preset.layout);
        let example = words.rsplit(". ").next().unwrap_or_default();
        writeln!(page, "* `{}` is `{}`: {}. {example}", preset.name, preset.layout, preset.about).unwrap();
    }
    writeln!(page, "\n## As code\n").unwrap();
    writeln!(
        page,
        "`megadir advise --layout LAYOUT --code python` (rust, go, shell) prints this for any layout. A test runs it in each \
         language and compares every path and refusal with the library. For `digest:2/2`, Python 3.8 and later; `str` gives \
         `str`, and `bytes` give `bytes`:\n"
    )
    .unwrap();
    let code = snippet(&"digest:2/2".parse().unwrap(), Language::Python).unwrap();
    writeln!(page, "```python\n{code}```").unwrap();
    page.truncate(page.trim_end().len());
    same("../../docs/reference/layouts.md", &(page + "\n"));
}
