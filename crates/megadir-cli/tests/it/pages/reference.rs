//! Pages of docs/reference: made from the definitions that parse the command line, from the studies and from
//! the schema, and held equal to them. `MEGADIR_BLESS=1` writes them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use megadir_bench::study::{BUILT_IN, Study, built_in};
use serde_json::{Map, Value};

use crate::examples::helps;

const BLESSED: &str =
    "<!-- Made by `MEGADIR_BLESS=1 cargo test -p megadir-cli --test it -- pages::reference` -->\n\n";

/// Compares a page, or writes it.
fn hold(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    let (title, rest) = text.split_once("\n\n").expect("a title");
    let text = format!("{title}\n\n{BLESSED}{rest}");
    if std::env::var_os("MEGADIR_BLESS").is_some() {
        std::fs::write(&path, &text).expect("writable");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let line = page.lines().zip(text.lines()).position(|(page, now)| page != now);
    assert!(page == text, "docs/reference/{name} is out of date in line {line:?}: see its second line");
}

#[test]
fn commands_match_the_program() {
    let mut commands = helps();
    commands.sort();
    let mut text =
        "# Commands and options\n\nThe help of every command, as `megadir COMMAND --help` prints it.\n"
            .to_owned();
    for (words, help) in commands {
        let name = [&["megadir".to_owned()], &words[..]].concat().join(" ");
        let help = help.trim_end();
        let _ = write!(text, "\n## `{name}`\n\n```text\n{help}\n```\n");
    }
    hold("commands.md", &text);
}

#[test]
fn studies_match_the_built_in_list() {
    let mut text =
        "# Studies\n\nEach is a file that `megadir bench run NAME` runs; what was found: [answers](../answers/README.md). \
         Size `published` is for published records: the size of the source where that fits.\n"
            .to_owned();
    for entry in BUILT_IN {
        study(&mut text, &built_in(entry.name).expect("valid"));
    }
    hold("studies.md", &text);
}

fn study(text: &mut String, study: &Study) {
    let meta = &study.meta;
    let name = &meta.name;
    let source = match meta.source.split_once(": http") {
        Some((title, page)) => format!("[{title}](http{page})"),
        None => meta.source.trim_end_matches('.').to_owned(),
    };
    let _ = write!(
        text,
        "\n## `{name}`\n\n**{}**\n\nSource: {source}. File: [{name}.toml](../../crates/megadir-bench/studies/{name}.toml).\n\n",
        meta.question,
    );
    let sizes = [("quick", &study.sizes.quick), ("default", &study.sizes.default)];
    text.push_str("| size | entries | rounds |\n|---|--:|--:|\n");
    for (name, size) in sizes.into_iter().chain([("published", &study.sizes.published)]) {
        let _ = writeln!(text, "| {name} | {} | {} |", size.entries, size.rounds);
    }
    for (title, items) in [("Reproduces", &meta.reproduces), ("Fixes", &meta.fixes)] {
        if !items.is_empty() {
            let _ = write!(text, "\n{title}:\n\n");
        }
        for item in items {
            let _ = writeln!(text, "* {item}");
        }
    }
}

#[test]
fn report_fields_match_the_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let schema = std::fs::read_to_string(root.join("docs/schema/report.schema.json")).expect("readable");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let mut text =
        "# JSON of a report\n\n`megadir bench report RECORD --format json` prints one object. The \
                    [schema](../schema/report.schema.json) is for programs; these are its types and fields.\n"
            .to_owned();
    object(&mut text, "Document", &schema);
    for (name, of) in schema["$defs"].as_object().expect("definitions") {
        object(&mut text, name, of);
    }
    hold("report.md", &text);
}

fn object(text: &mut String, name: &str, of: &Value) {
    let _ = write!(text, "\n## {name}\n");
    if let Some(about) = of["description"].as_str() {
        let _ = write!(text, "\n{}\n", cell(about));
    }
    let Some(fields) = of["properties"].as_object() else {
        let _ = write!(text, "\nOne of: {}.\n", kind(of));
        return;
    };
    table(text, fields);
}

fn table(text: &mut String, fields: &Map<String, Value>) {
    text.push_str("\n| field | type | meaning |\n|---|---|---|\n");
    for (field, of) in fields {
        let about = of["description"].as_str().unwrap_or_default();
        let _ = writeln!(text, "| `{field}` | {} | {} |", kind(of), cell(about));
    }
}

/// Type of a value, with links to definitions.
fn kind(of: &Value) -> String {
    if let Some(name) = of["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(choices) = ["anyOf", "oneOf"].iter().find_map(|key| of[*key].as_array()) {
        let kinds: BTreeSet<String> = choices.iter().map(kind).collect();
        return kinds.into_iter().collect::<Vec<_>>().join(", ");
    }
    if let Some(word) = of["const"].as_str() {
        return format!("`{word}`");
    }
    if let Some(words) = of["enum"].as_array() {
        return words
            .iter()
            .map(|word| format!("`{}`", word.as_str().unwrap_or("null")))
            .collect::<Vec<_>>()
            .join(", ");
    }
    match &of["type"] {
        Value::String(name) if name == "array" && !of["items"].is_null() => {
            format!("list of {}", kind(&of["items"]))
        }
        Value::String(name) if name == "object" && !of["properties"].is_null() => {
            let names = of["properties"].as_object().into_iter().flat_map(Map::keys);
            format!("object of {}", names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

/// One line, as a table's cell: without the links of the library's documentation, and with JSON's word for
/// what is missing.
fn cell(text: &str) -> String {
    let mut parts = text.split("](crate::");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push(']');
        plain.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    let plain = plain.replace("[`", "`").replace("`]", "`").replace("`None`", "null");
    plain.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
