//! Layouts in Go. The text is formatted as gofmt would: tabs, sorted imports, and spaces around the colon
//! of a slice whose bounds are expressions.

use std::collections::BTreeSet;

use super::rule::{Depths, Directories, File, Number, Refusal, Rule, Slice, Text};
use crate::code::words;

pub(super) fn write(rule: &Rule) -> String {
    let packages: &[&str] = match rule.directories {
        Directories::Cut(Text::Digest, _) => &["crypto/sha256", "fmt", "strings"],
        Directories::Cut(..) => &["fmt", "strings"],
        Directories::Numbered(_) => &["fmt", "strconv", "strings"],
    };
    let mut code = imports(packages);
    code += &rule.growth.as_ref().map(depth_for).unwrap_or_default();
    code += &head(rule);
    code += &refusals(rule);
    code + &path(rule) + "}\n"
}

/// Code of the old and the new layout together, for the time in which files are moved.
pub(super) fn beside(old: &str, new: &str) -> String {
    let mut packages: BTreeSet<&str> = BTreeSet::from(["errors", "io/fs", "os", "path/filepath", "syscall"]);
    let [new_body, old_body] = [new, old].map(|code| {
        let (imports, body) = code.split_once("\n)\n\n").unwrap_or(("", code));
        packages.extend(imports.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix('"')));
        body
    });
    imports(&packages) + &format!("{new_body}\n{}\n", old_body.replace("pathFor", "oldPathFor"))
}

fn imports(packages: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    let lines: String = packages.into_iter().map(|package| format!("\t\"{package}\"\n")).collect();
    format!("import (\n{lines})\n\n")
}

fn depth_for(depths: &Depths) -> String {
    let mut code =
        "// depthFor returns the number of directories above a file, for a total number of files.\n"
            .to_owned();
    code += "func depthFor(files uint64) int {\n";
    if depths.below.is_empty() {
        return code + &format!("\treturn {}\n}}\n\n", depths.last);
    }
    code += "\tswitch {\n";
    for (files, depth) in &depths.below {
        code += &format!("\tcase files < {}:\n\t\treturn {depth}\n", words::digits(*files));
    }
    code + &format!("\tdefault:\n\t\treturn {}\n\t}}\n}}\n\n", depths.last)
}

fn head(rule: &Rule) -> String {
    let Rule { title, example, .. } = rule;
    let (parameter, depth) = rule.depth(", depth int", ", ");
    let mut code =
        format!("// pathFor returns the path of a file below the top directory in the layout {title}:\n");
    code += &format!("// pathFor(\"{}\"{depth}) is \"{}\". ", example.name, example.path);
    code += "It fails if the layout does not accept the name.\n";
    code += &rule.about_depth("// ");
    code + &format!("func pathFor(name string{parameter}) (string, error) {{\n\tn := len(name)\n")
}

fn refusals(rule: &Rule) -> String {
    let of_depth = |Depths { least, most, .. }: &Depths| format!("depth < {least} || depth > {most}");
    let reasons = rule.reasons(of_depth, reason);
    let several = format!("\tif {} {{\n", reasons.join(" ||\n\t\t"));
    let condition = words::fitting(format!("\tif {} {{", reasons.join(" || ")), several);
    format!(
        "{condition}\t\treturn \"\", fmt.Errorf(\"layout {} does not accept %q\", name)\n\t}}\n",
        rule.name
    )
}

/// Conditions in Go for one refusal, joined with `||` by the caller; each assumes that the ones before are
/// false. Go's strings are bytes, so names that are no UTF-8 need no conversion.
fn reason(refusal: &Refusal, label: &str) -> Vec<String> {
    match refusal {
        Refusal::Length(least, most) if least == most => vec![format!("n != {least}")],
        Refusal::Length(least, most) => vec![format!("n < {least} || n > {most}")],
        Refusal::Dots => vec!["name == \".\" || name == \"..\"".into()],
        Refusal::Separator => vec!["strings.ContainsAny(name, \"/\\x00\")".into()],
        Refusal::NotDecimal => vec!["strings.Trim(name, \"0123456789\") != \"\"".into()],
        Refusal::LeadingZero => vec!["n > 1 && name[0] == '0'".into()],
        Refusal::NotHex => vec!["strings.Trim(name, \"0123456789ABCDEF\") != \"\"".into()],
        Refusal::OtherEnding(ending) => vec![format!("!strings.HasSuffix(name, \"{ending}\")")],
        Refusal::Part(dots, parts) => {
            parts.iter().map(|part| format!("{} == \"{dots}\"", slice("name", *part))).collect()
        }
        Refusal::Rest(rest) => {
            let rest = slice("name", *rest);
            vec![format!("{rest} == \".\""), format!("{rest} == \"..\"")]
        }
        Refusal::LikeDirectory { after, widths } => {
            let start = after + label.len();
            let bytes: Vec<String> = widths.iter().map(|width| format!("n == {}", start + width)).collect();
            if label.is_empty() {
                return bytes;
            }
            // Unicode folding knows more letters than ASCII, but none of equal length.
            let part = slice("name", Slice { backwards: false, from: *after, to: Some(start) });
            let labelled = |bytes: &String| format!("{bytes} && strings.EqualFold({part}, \"{label}\")");
            bytes.iter().map(labelled).collect()
        }
    }
}

fn path(rule: &Rule) -> String {
    let (text, parts) = match &rule.directories {
        Directories::Cut(text, parts) => (text, parts),
        Directories::Numbered(numbers) => return numbered(numbers),
    };
    let (before, text) = match text {
        Text::Name => (String::new(), "name"),
        Text::Digest => ("\tdigest := fmt.Sprintf(\"%x\", sha256.Sum256([]byte(name)))\n".into(), "digest"),
        Text::Padded(digits) => (format!("\tnumber := strings.Repeat(\"0\", {digits}-n) + name\n"), "number"),
    };
    let mut parts: Vec<String> = parts.iter().map(|part| item(text, *part)).collect();
    let file = match rule.file {
        File::Whole => "name".to_owned(),
        File::Rest(rest) => slice(text, rest),
        File::RestAtDepth => "name[len(strings.Join(parts, \"\")):]".into(),
    };
    if parts.is_empty() {
        return format!("{before}\treturn {file}, nil\n");
    }
    if rule.label.is_empty() && rule.growth.is_none() {
        parts.push(file);
        return before + &words::list("\t", "return strings.Join([]string{", &parts, "}, \"/\"), nil");
    }
    let end = if rule.growth.is_some() { "}[:depth]" } else { "}" };
    let label = if rule.label.is_empty() { String::new() } else { format!("\"{}\" + ", rule.label) };
    let mut code = before + &words::list("\t", "parts := []string{", &parts, end);
    code +=
        &format!("\tpath := \"\"\n\tfor _, part := range parts {{\n\t\tpath += {label}part + \"/\"\n\t}}\n");
    code + &format!("\treturn path + {file}, nil\n")
}

fn numbered(numbers: &[Number]) -> String {
    let number = |number: &Number| number.or_zero(|divisor, count| format!("number/{divisor}%{count}"));
    let values: Vec<String> = numbers.iter().map(number).chain(["name".to_owned()]).collect();
    let mut code = "\tnumber, err := strconv.ParseUint(name, 16, 32)\n".to_owned();
    code += "\tif err != nil {\n\t\treturn \"\", err\n\t}\n";
    let head = format!("return fmt.Sprintf(\"{}%s\", ", "%02X/".repeat(numbers.len()));
    code + &words::list("\t", &head, &values, "), nil")
}

/// Bounds from the end are written with `n`, the length of the name, which the code computes first.
fn slice(text: &str, Slice { backwards, from, to }: Slice) -> String {
    let to = to.unwrap_or(0);
    let shown = |at: usize, sign: &str| if at == 0 { String::new() } else { format!("{sign}{at}") };
    if backwards {
        return format!("{text}[n-{to}:{}]", shown(from, "n-"));
    }
    format!("{text}[{}:{}]", shown(from, ""), shown(to, ""))
}

/// A slice as an element of a list, where gofmt puts spaces around the colon of two expressions.
fn item(text: &str, part: Slice) -> String {
    let slice = slice(text, part);
    if part.backwards && part.from > 0 { slice.replace(":n-", " : n-") } else { slice }
}
