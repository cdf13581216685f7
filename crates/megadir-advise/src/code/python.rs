//! Layouts in Python. Names may be `str` or `bytes`: the function works on bytes and returns the type that
//! it was given, with undecodable bytes as surrogates, as `os.fsdecode` makes them.

use std::collections::BTreeSet;

use super::rule::{Depths, Directories, File, Number, Refusal, Rule, Slice, Text};
use crate::code::words;

pub(super) fn write(rule: &Rule) -> String {
    let mut code = String::new();
    if matches!(rule.directories, Directories::Cut(Text::Digest, _)) {
        code += "import hashlib\n";
    }
    code += "import os\nfrom typing import AnyStr\n\n\n";
    code += &rule.growth.as_ref().map(depth_for).unwrap_or_default();
    code += &head(rule);
    code += &refusals(rule);
    code += &path(rule);
    code + "    return path if isinstance(name, bytes) else os.fsdecode(path)\n"
}

/// Code of the old and the new layout together, for the time in which files are moved.
pub(super) fn beside(old: &str, new: &str) -> String {
    let ((mut imports, old_body), (more, new_body)) = (lines_before(old), lines_before(new));
    imports.extend(more);
    imports.extend(["import errno", "import os"]);
    let (modules, names): (Vec<&str>, Vec<&str>) =
        imports.into_iter().partition(|line| line.starts_with("import"));
    let imports = [modules, names].concat().join("\n");
    format!("{imports}\n\n\n{new_body}\n\n{}\n\n", old_body.replace("path_for", "old_path_for"))
}

fn lines_before(code: &str) -> (BTreeSet<&str>, &str) {
    let (imports, body) = code.split_once("\n\n\n").unwrap_or(("", code));
    (imports.lines().collect(), body)
}

fn depth_for(depths: &Depths) -> String {
    let mut code = "def depth_for(files: int) -> int:\n".to_owned();
    code += "    \"\"\"Number of directories above a file, for a total number of files.\"\"\"\n";
    for (files, depth) in &depths.below {
        let files = words::digits(*files);
        code += &format!("    if files < {files}:\n        return {depth}\n");
    }
    code + &format!("    return {}\n\n\n", depths.last)
}

fn head(rule: &Rule) -> String {
    let Rule { title, example, .. } = rule;
    let (parameter, argument) = rule.depth(", depth: int", ", ");
    let mut code = format!("def path_for(name: AnyStr{parameter}) -> AnyStr:\n");
    code += &format!("    \"\"\"Path of a file below the top directory in the layout {title}.\n\n");
    code += &format!("    >>> path_for(\"{}\"{argument})\n    '{}'\n\n", example.name, example.path);
    code += &rule.about_depth("    ");
    code + "    ValueError: the layout does not accept the name.\n    \"\"\"\n    raw = os.fsencode(name)\n"
}

fn refusals(rule: &Rule) -> String {
    let of_depth = |Depths { least, most, .. }: &Depths| format!("not {least} <= depth <= {most}");
    let reasons = rule.reasons(of_depth, reason);
    let several = format!("    if (\n        {}\n    ):\n", reasons.join("\n        or "));
    let condition = words::fitting(format!("    if {}:", reasons.join(" or ")), several);
    format!("{condition}        raise ValueError(f\"layout {} does not accept {{name!r}}\")\n", rule.name)
}

/// One condition in Python for each refusal, joined with `or` by the caller. Each assumes that the earlier
/// ones do not hold, so that slices need no check of the length. Names are bytes (`raw`), because a name need
/// not be UTF-8.
fn reason(refusal: &Refusal, label: &str) -> Vec<String> {
    let reason = match refusal {
        Refusal::Length(least, most) if least == most => format!("len(raw) != {least}"),
        Refusal::Length(least, most) => format!("not {least} <= len(raw) <= {most}"),
        Refusal::Dots => "raw in (b\".\", b\"..\")".into(),
        Refusal::Separator => return vec!["b\"/\" in raw".into(), "b\"\\0\" in raw".into()],
        Refusal::NotDecimal => "not raw.isdigit()".into(),
        Refusal::LeadingZero => "(len(raw) > 1 and raw[:1] == b\"0\")".into(),
        Refusal::NotHex => "raw.strip(b\"0123456789ABCDEF\") != b\"\"".into(),
        Refusal::OtherEnding(ending) => format!("not raw.endswith(b\"{ending}\")"),
        Refusal::Part(dots, parts) => match &parts[..] {
            [part] => format!("{} == b\"{dots}\"", slice("raw", *part)),
            _ => {
                let parts: Vec<String> = parts.iter().map(|part| slice("raw", *part)).collect();
                format!("b\"{dots}\" in ({})", parts.join(", "))
            }
        },
        Refusal::Rest(rest) => format!("{} in (b\".\", b\"..\")", slice("raw", *rest)),
        Refusal::LikeDirectory { after, widths } => {
            let start = after + label.len();
            let bytes: Vec<String> = widths.iter().map(|width| (start + width).to_string()).collect();
            let bytes = match &bytes[..] {
                [bytes] => format!("len(raw) == {bytes}"),
                _ => format!("len(raw) in ({})", bytes.join(", ")),
            };
            if label.is_empty() {
                return vec![bytes];
            }
            let part = slice("raw", Slice { backwards: false, from: *after, to: Some(start) });
            format!("({bytes} and {part}.lower() == b\"{}\")", label.to_ascii_lowercase())
        }
    };
    vec![reason]
}

/// The last lines of the function, after all refusals. There are forms of different length for the same
/// meaning, and the shortest that the layout permits is written: the code is for reading, and for copying
/// into another program.
fn path(rule: &Rule) -> String {
    let (text, parts) = match &rule.directories {
        Directories::Cut(text, parts) => (text, parts),
        Directories::Numbered(numbers) => return numbered(numbers),
    };
    let (before, text) = match text {
        Text::Name => (String::new(), "raw"),
        Text::Digest => ("    digest = hashlib.sha256(raw).hexdigest().encode()\n".into(), "digest"),
        Text::Padded(digits) => (format!("    number = raw.zfill({digits})\n"), "number"),
    };
    let mut parts: Vec<String> = parts.iter().map(|part| slice(text, *part)).collect();
    let file = match rule.file {
        File::Whole => "raw".to_owned(),
        File::Rest(rest) => slice(text, rest),
        File::RestAtDepth => "raw[len(b\"\".join(parts)) :]".into(),
    };
    if parts.is_empty() {
        return format!("{before}    path = {file}\n");
    }
    if rule.label.is_empty() && rule.growth.is_none() {
        parts.push(file);
        return before + &words::list("    ", "path = b\"/\".join([", &parts, "])");
    }
    let end = if rule.growth.is_some() { "][:depth]" } else { "]" };
    let parts = words::list("    ", "parts = [", &parts, end);
    let labelled = match rule.label.as_str() {
        "" => "parts".to_owned(),
        label => format!("[b\"{label}\" + part for part in parts]"),
    };
    format!("{before}{parts}    path = b\"/\".join({labelled} + [{file}])\n")
}

fn numbered(numbers: &[Number]) -> String {
    let number = |number: &Number| number.or_zero(|divisor, count| format!("number // {divisor} % {count}"));
    let values: Vec<String> = numbers.iter().map(number).chain(["raw".to_owned()]).collect();
    let head = format!("path = b\"{}%b\" % (", "%02X/".repeat(numbers.len()));
    "    number = int(raw, 16)\n".to_owned() + &words::list("    ", &head, &values, ")")
}

/// Negative bounds count from the end. A bound of zero is left out, because `[-2:-0]` would be empty.
fn slice(text: &str, Slice { backwards, from, to }: Slice) -> String {
    let shown = |at: usize, sign: &str| if at == 0 { String::new() } else { format!("{sign}{at}") };
    let to = to.unwrap_or(0);
    if backwards {
        return format!("{text}[{}:{}]", shown(to, "-"), shown(from, "-"));
    }
    format!("{text}[{}:{}]", shown(from, ""), shown(to, ""))
}
