//! One layout in each language as it is printed, to be read; `MEGADIR_BLESS=1` writes the files anew.

use std::path::Path;

use megadir_advise::code::{Language, snippet};

#[track_caller]
fn same(file: &str, layout: &str, language: Language) {
    let text = snippet(&layout.parse().unwrap(), language).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("MEGADIR_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert!(text == golden, "differs from tests/golden/{file} (MEGADIR_BLESS=1 writes it anew):\n{text}");
}

#[test]
fn code_is_as_it_was() {
    same("digest.py", "digest:2/2", Language::Python);
    same("ccache.py", "ccache", Language::Python);
    same("digest.rs.txt", "digest:2/2", Language::Rust);
    same("digest.go", "digest:2/2", Language::Go);
    same("digest.sh", "digest:2/2", Language::Shell);
}
