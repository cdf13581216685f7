//! The report knows no study by name: what is special about one is data in its file and in the record.

use std::path::{Path, PathBuf};

/// Names of studies that are also the name of a chart or of a kind of work.
const OTHER_USES: [(&str, &str); 3] =
    [("chart/mod.rs", "fill"), ("chart/growth.rs", "fill"), ("render/operations.rs", "listing")];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn no_source_names_a_study() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut studies, mut sources) = (Vec::new(), Vec::new());
    files(&root.join("../megadir-bench/studies"), &mut studies);
    files(&root.join("src"), &mut sources);
    assert!(studies.len() > 8 && sources.len() > 50, "{} and {}", studies.len(), sources.len());
    for source in sources {
        let text = std::fs::read_to_string(&source).expect("a source");
        let within =
            source.strip_prefix(root.join("src")).expect("it is below").to_string_lossy().into_owned();
        for study in &studies {
            let name = study.file_stem().expect("it has a name").to_string_lossy();
            let named = text.contains(&format!("\"{name}\""));
            let other = OTHER_USES.contains(&(within.as_str(), &*name));
            assert_eq!(named, other, "{within} and the study `{name}`");
        }
    }
}
