//! Layouts in Rust. The transition puts the old layout into a module of its own, so that both functions
//! keep their names.

use super::rule::{Depths, Directories, File, Number, Refusal, Rule, Slice, Text};
use crate::code::words;

pub(super) fn write(rule: &Rule) -> String {
    let mut code = String::new();
    if matches!(rule.directories, Directories::Cut(Text::Digest, _)) {
        code += "// Cargo.toml: sha2 = \"0.10\"\nuse sha2::{Digest, Sha256};\n\n";
    }
    code += match is_ascii(rule) {
        true => "use std::ffi::OsStr;\nuse std::path::PathBuf;\n\n",
        false => {
            "use std::ffi::{OsStr, OsString};\nuse std::os::unix::ffi::{OsStrExt, OsStringExt};\nuse std::path::PathBuf;\n\n"
        }
    };
    code += &rule.growth.as_ref().map(depth_for).unwrap_or_default();
    code += &head(rule);
    code += &refusals(rule);
    code + &path(rule) + "}\n"
}

/// Code of the old and the new layout together, for the time in which files are moved.
pub(super) fn beside(old: &str, new: &str) -> String {
    let indent = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") };
    let indented: String = old.lines().map(indent).collect();
    format!("{new}\n/// The old layout.\nmod old {{\n{indented}}}\n\n")
}

/// `true` if every name that the layout accepts is made of ASCII digits, so that the code may work on
/// `str`.
fn is_ascii(rule: &Rule) -> bool {
    matches!(rule.directories, Directories::Cut(Text::Padded(_), _) | Directories::Numbered(_))
}

fn depth_for(depths: &Depths) -> String {
    let mut code =
        "/// Returns the number of directories above a file, for a total number of files.\n".to_owned();
    if depths.below.is_empty() {
        return code + &format!("pub fn depth_for(_files: u64) -> usize {{\n    {}\n}}\n\n", depths.last);
    }
    code += "pub fn depth_for(files: u64) -> usize {\n    match files {\n";
    for (files, depth) in &depths.below {
        code += &format!("        _ if files < {} => {depth},\n", words::digits(*files));
    }
    code + &format!("        _ => {},\n    }}\n}}\n\n", depths.last)
}

fn head(rule: &Rule) -> String {
    let Rule { title, example, .. } = rule;
    let (parameter, depth) = rule.depth(", depth: usize", ", ");
    let mut code =
        format!("/// Returns the path of a file below the top directory in the layout {title}.\n///\n");
    code +=
        &format!("/// `path_for(\"{}\".as_ref(){depth})` is `Some(\"{}\")`; ", example.name, example.path);
    code += "`None` if the layout does not accept the name.\n";
    code += &rule.about_depth("/// ");
    code += &format!("pub fn path_for(name: &OsStr{parameter}) -> Option<PathBuf> {{\n");
    code +=
        if is_ascii(rule) { "    let name = name.to_str()?;\n" } else { "    let name = name.as_bytes();\n" };
    code + "    let n = name.len();\n"
}

fn refusals(rule: &Rule) -> String {
    let of_depth = |Depths { least, most, .. }: &Depths| format!("!({least}..={most}).contains(&depth)");
    let reasons = rule.reasons(of_depth, reason);
    let several = format!("    if {}\n    {{\n", reasons.join("\n        || "));
    let condition = words::fitting(format!("    if {} {{", reasons.join(" || ")), several);
    condition + "        return None;\n    }\n"
}

fn reason(refusal: &Refusal, label: &str) -> Vec<String> {
    let reason = match refusal {
        Refusal::Length(least, most) if least == most => format!("n != {least}"),
        Refusal::Length(least, most) => format!("!({least}..={most}).contains(&n)"),
        Refusal::Dots => "matches!(name, b\".\" | b\"..\")".into(),
        Refusal::Separator => return vec!["name.contains(&b'/')".into(), "name.contains(&0)".into()],
        Refusal::NotDecimal => "!name.bytes().all(|byte| byte.is_ascii_digit())".into(),
        Refusal::LeadingZero => "(n > 1 && name.starts_with('0'))".into(),
        Refusal::NotHex => "!name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'))".into(),
        Refusal::OtherEnding(ending) => format!("!name.ends_with(b\"{ending}\")"),
        Refusal::Part(dots, parts) => {
            return parts.iter().map(|part| format!("{} == *b\"{dots}\"", slice("name", *part))).collect();
        }
        Refusal::Rest(rest) => format!("matches!(&{}, b\".\" | b\"..\")", slice("name", *rest)),
        Refusal::LikeDirectory { after, widths } => {
            let start = after + label.len();
            let bytes: Vec<String> = widths.iter().map(|width| (start + width).to_string()).collect();
            let bytes = match &bytes[..] {
                [bytes] => format!("n == {bytes}"),
                _ => format!("matches!(n, {})", bytes.join(" | ")),
            };
            if label.is_empty() {
                return vec![bytes];
            }
            let part = slice("name", Slice { backwards: false, from: *after, to: Some(start) });
            format!("({bytes} && {part}.eq_ignore_ascii_case(b\"{label}\"))")
        }
    };
    vec![reason]
}

/// As in Python, except that names are ASCII for some layouts (digits), where the path is a string and the
/// code is shorter. Otherwise it is made of bytes, because names on Unix need not be UTF-8.
fn path(rule: &Rule) -> String {
    let (text, parts) = match &rule.directories {
        Directories::Cut(text, parts) => (text, parts),
        Directories::Numbered(numbers) => return numbered(numbers),
    };
    let (before, text) = match text {
        Text::Name => (String::new(), "name"),
        Text::Digest => {
            let digest = "Sha256::digest(name).iter().map(|byte| format!(\"{byte:02x}\")).collect()";
            (format!("    let digest: String = {digest};\n    let digest = digest.as_bytes();\n"), "digest")
        }
        Text::Padded(digits) => (format!("    let number = format!(\"{{name:0>{digits}}}\");\n"), "number"),
    };
    let mut parts: Vec<String> = parts.iter().map(|part| format!("&{}", slice(text, *part))).collect();
    let file = match rule.file {
        File::Whole => "name".to_owned(),
        File::Rest(rest) => format!("&{}", slice(text, rest)),
        File::RestAtDepth => "&name[taken..]".into(),
    };
    if is_ascii(rule) {
        parts.push(file);
        let path = words::list("    ", "let path = [", &parts, "].join(\"/\");");
        return before + &path + "    Some(PathBuf::from(path))\n";
    }
    let path = if parts.is_empty() {
        "    let path = name.to_vec();\n".to_owned()
    } else if rule.label.is_empty() && rule.growth.is_none() {
        parts.push(file);
        words::list("    ", "let path = [", &parts, "].join(&b'/');")
    } else {
        appended(rule, &parts, &file)
    };
    before + &path + "    Some(PathBuf::from(OsString::from_vec(path)))\n"
}

/// Form with a loop, for layouts with a label before each directory or with a depth that depends on the
/// files.
fn appended(rule: &Rule, parts: &[String], file: &str) -> String {
    let mut code = words::list("    ", "let parts = [", parts, "];");
    if rule.growth.is_some() {
        code += "    let parts = &parts[..depth];\n";
    }
    if rule.file == File::RestAtDepth {
        code += "    let taken = parts.concat().len();\n";
    }
    code += "    let mut path = Vec::new();\n    for part in parts {\n";
    if !rule.label.is_empty() {
        code += &format!("        path.extend(b\"{}\");\n", rule.label);
    }
    let part = if rule.growth.is_some() { "*part" } else { "part" };
    code + &format!(
        "        path.extend({part});\n        path.push(b'/');\n    }}\n    path.extend({file});\n"
    )
}

fn numbered(numbers: &[Number]) -> String {
    let number = |number: &Number| number.or_zero(|divisor, count| format!("number / {divisor} % {count}"));
    let values: Vec<String> = numbers.iter().map(number).collect();
    let head = format!("let path = format!(\"{}{{name}}\", ", "{:02X}/".repeat(numbers.len()));
    let mut code = "    let number = u32::from_str_radix(name, 16).ok()?;\n".to_owned();
    code += &words::list("    ", &head, &values, ");");
    code + "    Some(PathBuf::from(path))\n"
}

fn slice(text: &str, Slice { backwards, from, to }: Slice) -> String {
    let to = to.unwrap_or(0);
    if backwards {
        let right = if from == 0 { String::new() } else { format!("n - {from}") };
        return format!("{text}[n - {to}..{right}]");
    }
    let shown = |at: usize| if at == 0 { String::new() } else { at.to_string() };
    format!("{text}[{}..{}]", shown(from), shown(to))
}
