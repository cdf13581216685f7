//! Layouts in POSIX shell, which zsh emulates if asked. The path is returned in a variable, because command substitution would drop
//! trailing newlines. Lengths and patterns count bytes only under `LC_ALL=C`; an empty value is equivalent to
//! unsetting it.
//!
//! Names of variables begin with `layout_`, since POSIX shell has no local variables and the code is pasted
//! into other scripts. Refusals are patterns of one `case`, and lengths are tests after it: patterns cannot
//! count.

use super::rule::{Depths, Directories, File, Number, Refusal, Rule, Slice, Text};

pub(super) fn write(rule: &Rule) -> String {
    let mut code = head(rule);
    code += &rule.growth.as_ref().map(depth_for).unwrap_or_default();
    if matches!(rule.directories, Directories::Cut(Text::Digest, _)) {
        code += "layout_sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }\n";
    }
    code += "path_for() {\n    [ -z \"${ZSH_VERSION-}\" ] || emulate -L sh\n    layout_path=\n    layout_locale=${LC_ALL-}\n    LC_ALL=C # lengths and patterns count bytes\n";
    code += &format!("    case $1 in\n    {}) ;; # not accepted\n    *)\n", patterns(rule).join(" | "));
    code += &format!("        if {}; then\n", lengths(rule).join(" && "));
    for line in path(rule) {
        code += &format!("            {line}\n");
    }
    code += "        fi\n        ;;\n    esac\n    LC_ALL=$layout_locale\n    [ -n \"$layout_path\" ]\n}\n";
    code
}

/// Code of the old and the new layout together, for the time in which files are moved.
pub(super) fn beside(old: &str, new: &str) -> String {
    format!("{new}\n{}\n", old.replace("path_for", "old_path_for"))
}

fn head(rule: &Rule) -> String {
    let Rule { title, example, .. } = rule;
    let mut code = format!("# Path of a file below the top directory in the layout {title}.\n");
    let (parameter, argument) = rule.depth(" DEPTH", " ");
    code += &format!(
        "# path_for NAME{parameter} sets $layout_path, or fails if the layout does not accept the name:\n"
    );
    code += &format!("# path_for {}{argument} sets it to {}\n", example.name, example.path);
    if let Some(Depths { least, most, .. }) = rule.growth {
        code += &format!(
            "# The depth is {least} to {most}: depth_for FILES sets $layout_depth for a total of FILES.\n\
             # Existing files stay at the depth they were created at.\n"
        );
    }
    code
}

fn depth_for(depths: &Depths) -> String {
    let mut code = "depth_for() {\n    [ \"$1\" -ge 0 ] || return\n".to_owned();
    // Shell integers have 63 bits.
    let below: Vec<&(u64, usize)> =
        depths.below.iter().filter(|(files, _)| i64::try_from(*files).is_ok()).collect();
    let last = depths.below.get(below.len()).map_or(depths.last, |(_, depth)| *depth);
    for (at, (files, depth)) in below.iter().enumerate() {
        let word = if at == 0 { "if" } else { "elif" };
        code += &format!("    {word} [ \"$1\" -lt {files} ]; then\n        layout_depth={depth}\n");
    }
    if below.is_empty() {
        return code + &format!("    layout_depth={last}\n}}\n");
    }
    code + &format!("    else\n        layout_depth={last}\n    fi\n}}\n")
}

/// Refusals that a pattern can express; the others are in `lengths`.
fn patterns(rule: &Rule) -> Vec<String> {
    rule.refused.iter().flat_map(|refusal| pattern(refusal, &rule.label)).collect()
}

fn pattern(refusal: &Refusal, label: &str) -> Vec<String> {
    match refusal {
        Refusal::Length(1, _) => vec!["''".into()],
        Refusal::Length(..) | Refusal::OtherEnding(_) => Vec::new(),
        Refusal::Dots => vec![".".into(), "..".into()],
        Refusal::Separator => vec!["*/*".into()],
        Refusal::NotDecimal => vec!["*[!0-9]*".into()],
        Refusal::LeadingZero => vec!["0?*".into()],
        Refusal::NotHex => vec!["*[!0-9A-F]*".into()],
        Refusal::Part(dots, parts) => {
            let pattern = |part: &Slice| match part.backwards {
                true => format!("*{dots}{}", any(part.from)),
                false => format!("{}{dots}*", any(part.from)),
            };
            parts.iter().map(pattern).collect()
        }
        Refusal::Rest(rest) => [".", ".."].map(|dots| any(rest.from) + dots).into(),
        Refusal::LikeDirectory { after, widths } => {
            let label: String = label.chars().map(either_case).collect();
            widths.iter().map(|width| format!("{}{label}{}", any(*after), any(*width))).collect()
        }
    }
}

fn either_case(letter: char) -> String {
    if letter.is_ascii_alphabetic() {
        format!("[{}{}]", letter.to_ascii_uppercase(), letter.to_ascii_lowercase())
    } else {
        letter.to_string()
    }
}

fn lengths(rule: &Rule) -> Vec<String> {
    let mut conditions = Vec::new();
    if let Some(Depths { least, most, .. }) = rule.growth {
        conditions.push(format!("[ \"$2\" -ge {least} ] && [ \"$2\" -le {most} ]"));
    }
    for refusal in &rule.refused {
        match refusal {
            Refusal::Length(least, most) if least == most => {
                conditions.push(format!("[ ${{#1}} -eq {least} ]"));
            }
            Refusal::Length(1, most) => conditions.push(format!("[ ${{#1}} -le {most} ]")),
            Refusal::Length(least, most) => {
                conditions.push(format!("[ ${{#1}} -ge {least} ] && [ ${{#1}} -le {most} ]"));
            }
            Refusal::OtherEnding(ending) => conditions.push(format!("[ \"${{1%{ending}}}\" != \"$1\" ]")),
            _ => {}
        }
    }
    if matches!(rule.directories, Directories::Cut(Text::Digest, _)) {
        // Without a digest program: no path instead of a wrong one.
        conditions.push("layout_rest=$(printf %s \"$1\" | layout_sha256)".into());
    }
    conditions
}

fn path(rule: &Rule) -> Vec<String> {
    let (text, parts) = match &rule.directories {
        Directories::Cut(text, parts) => (text, parts),
        Directories::Numbered(numbers) => return vec![numbered(numbers)],
    };
    let mut lines = Vec::new();
    match text {
        // The characters after directories counted from the end belong to none.
        Text::Name => match parts.first() {
            Some(part) if part.backwards && part.from > 0 => {
                lines.push(format!("layout_rest=${{1%{}}}", any(part.from)));
            }
            Some(_) => lines.push("layout_rest=$1".to_owned()),
            None => {}
        },
        Text::Digest => {}
        Text::Padded(digits) => {
            lines.push("layout_rest=$1".to_owned());
            lines.push(format!(
                "while [ ${{#layout_rest}} -lt {digits} ]; do layout_rest=0$layout_rest; done"
            ));
        }
    }
    lines.extend(cut(rule, parts));
    let file = if rule.file == File::Whole { "$1" } else { "$layout_rest" };
    lines.push(format!("layout_path={}{file}", if parts.is_empty() { "" } else { "$layout_path" }));
    lines
}

/// Cuts the directories off the name, one after the other. `${x#???}` removes three characters in front,
/// and the same text removed from the end of `x` leaves those three: POSIX shell has no substrings.
fn cut(rule: &Rule, parts: &[Slice]) -> Vec<String> {
    let Some(first) = parts.first() else { return Vec::new() };
    let width = |part: &Slice| format!("'{}'", any(part.to.unwrap_or(part.from) - part.from));
    let widths: Vec<String> = parts.iter().map(width).collect();
    let mut lines = Vec::new();
    if rule.growth.is_some() {
        lines.push("layout_left=$2".to_owned());
    }
    lines.push(format!("for layout_width in {}; do", widths.join(" ")));
    if rule.growth.is_some() {
        lines.push("    [ \"$layout_left\" -gt 0 ] || break".into());
        lines.push("    layout_left=$((layout_left - 1))".into());
    }
    let (off, kept) = if first.backwards { ("%", "#") } else { ("#", "%") };
    let above =
        if rule.label.is_empty() { "$layout_path".into() } else { format!("${{layout_path}}{}", rule.label) };
    lines.push(format!("    layout_next=${{layout_rest{off}$layout_width}}"));
    lines.push(format!("    layout_path={above}${{layout_rest{kept}\"$layout_next\"}}/"));
    lines.push("    layout_rest=$layout_next".into());
    lines.push("done".into());
    lines
}

fn numbered(numbers: &[Number]) -> String {
    let number =
        |number: &Number| number.or_zero(|divisor, count| format!("$((0x$1 / {divisor} % {count}))"));
    let values: Vec<String> = numbers.iter().map(number).collect();
    format!("layout_path=$(printf '{}%s' {} \"$1\")", "%02X/".repeat(numbers.len()), values.join(" "))
}

fn any(bytes: usize) -> String {
    "?".repeat(bytes)
}
