//! Command lines: split into words as a shell does, and filled with paths and numbers.
//!
//! Quotes and backslashes work as in POSIX. Whatever else a shell would interpret (pipes, variables, globs) is refused unless
//! quoted: without a shell it would mean something else. No crate that splits words reports unquoted operators.

#[cfg(any(target_os = "linux", test))]
use std::ffi::{OsStr, OsString};

/// Characters that a shell would interpret outside of quotes.
const OF_SHELL: &[char] = &['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', '\n'];
const SHELL: &str = "/bin/sh";

/// A command line as words. With `shell`, the words are the shell and the unchanged line, so that
/// placeholders in it are quoted for the shell when they are filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<String>,
    shell: bool,
}

/// Values of `{dir}`, `{n}`, `{out}` and `{megadir}` for one run.
#[cfg(any(target_os = "linux", test))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placeholders<'a> {
    pub(crate) dir: &'a OsStr,
    pub(crate) entries: u64,
    pub(crate) out: &'a OsStr,
    pub(crate) megadir: &'a OsStr,
}

impl CommandLine {
    /// Errors: the line is empty, has an open quote, or needs a shell and has none.
    pub fn parse(line: &str, shell: bool) -> Result<Self, String> {
        if line.trim().is_empty() {
            return Err("the command is empty".into());
        }
        let words = match shell {
            true => vec![SHELL.to_owned(), "-c".to_owned(), line.to_owned()],
            false => split(line)?,
        };
        Ok(Self { words, shell })
    }

    pub fn program(&self) -> &str {
        &self.words[0]
    }

    pub fn names(&self, placeholder: &str) -> bool {
        self.words.iter().any(|word| word.contains(placeholder))
    }

    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn fill(&self, with: &Placeholders<'_>) -> Vec<OsString> {
        let number = OsString::from(with.entries.to_string());
        let values =
            [("{dir}", with.dir), ("{n}", &*number), ("{out}", with.out), ("{megadir}", with.megadir)];
        let quoted = |value: &OsStr| if self.shell { quote(value) } else { value.to_owned() };
        let fill_word = |word: &String| {
            let (mut rest, mut filled) = (word.as_str(), OsString::new());
            while let Some(place) = rest.find('{') {
                filled.push(&rest[..place]);
                rest = &rest[place..];
                match values.iter().find(|(name, _)| rest.starts_with(name)) {
                    Some((name, value)) => {
                        filled.push(quoted(value));
                        rest = &rest[name.len()..];
                    }
                    None => {
                        filled.push("{");
                        rest = &rest[1..];
                    }
                }
            }
            filled.push(rest);
            filled
        };
        self.words.iter().map(fill_word).collect()
    }
}

/// A value as one word of a shell. A directory's path may have spaces and quotes.
#[cfg(any(target_os = "linux", test))]
fn quote(value: &OsStr) -> OsString {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%=".contains(byte);
    if !value.is_empty() && value.as_encoded_bytes().iter().all(plain) {
        return value.to_owned();
    }
    let mut quoted = OsString::from("'");
    match value.to_str() {
        Some(text) => quoted.push(text.replace('\'', r"'\''")),
        None => quoted.push(value),
    }
    quoted.push("'");
    quoted
}

/// Splits a line without a shell. Only one meaning is accepted: the one that a POSIX shell would give the
/// line.
fn split(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => quotes(letter, &mut letters, word.get_or_insert_default(), line)?,
            '\\' => {
                let escaped = letters.next().ok_or_else(|| format!("'{line}' ends with a backslash"))?;
                word.get_or_insert_default().push(escaped);
            }
            _ if OF_SHELL.contains(&letter) || ['~', '#'].contains(&letter) && word.is_none() => {
                return Err(format!(
                    "'{line}' has an unquoted '{}', which only a shell interprets; quote it, or run the line by a shell (shell = true, --shell)",
                    letter.escape_debug()
                ));
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    match words.first() {
        Some(first) if !first.is_empty() => Ok(words),
        _ => Err(format!("'{line}' names no program")),
    }
}

/// Within double quotes a backslash escapes what a shell would interpret.
fn quotes(
    quote: char,
    letters: &mut std::str::Chars<'_>,
    word: &mut String,
    line: &str,
) -> Result<(), String> {
    loop {
        match letters.next() {
            None => return Err(format!("'{line}' has a quote that is not closed")),
            Some(letter) if letter == quote => return Ok(()),
            Some('\\') if quote == '"' => match letters.next() {
                Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
                None => return Err(format!("'{line}' has a quote that is not closed")),
            },
            Some(letter @ ('$' | '`')) if quote == '"' => {
                return Err(format!(
                    "'{line}' has '{letter}' in double quotes, which only a shell interprets; use single quotes, or run the line by a shell (shell = true, --shell)"
                ));
            }
            Some(letter) => word.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<Vec<String>, String> {
        CommandLine::parse(line, false).map(|line| line.words)
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (line, split) in [
            ("ls -U {dir}", vec!["ls", "-U", "{dir}"]),
            ("  a\t b ", vec!["a", "b"]),
            (r#"find {dir} -printf '%f\n'"#, vec!["find", "{dir}", "-printf", r"%f\n"]),
            (r#"a "b c" d\ e f''"#, vec!["a", "b c", "d e", "f"]),
            (r#"a "\"\\ \n" '' x=y"#, vec!["a", r#""\ \n"#, "", "x=y"]),
            ("a b~ '~' {} +", vec!["a", "b~", "~", "{}", "+"]),
        ] {
            assert_eq!(words(line).unwrap(), split, "{line}");
        }
    }

    #[test]
    fn shell_syntax_is_refused_without_a_shell() {
        for line in
            ["ls {dir} | wc -l", "ls > x", "a; b", "echo $HOME", "ls *.c", "ls ~/x", r#"a "$b""#, "a `b`"]
        {
            let error = words(line).unwrap_err();
            assert!(error.contains(line) && error.contains("shell"), "{error}");
            assert!(CommandLine::parse(line, true).is_ok());
        }
        for (line, message) in [
            ("a 'b", "not closed"),
            ("a \"b", "not closed"),
            ("a \\", "backslash"),
            (" ", "empty"),
            ("''", "no program"),
        ] {
            assert!(words(line).unwrap_err().contains(message), "{line}");
        }
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_stay() {
        let with = Placeholders {
            dir: OsStr::new("/a b/d"),
            entries: 7,
            out: OsStr::new("/o"),
            megadir: OsStr::new("/m"),
        };
        let fill = |line: &str, shell| CommandLine::parse(line, shell).unwrap().fill(&with);
        assert_eq!(
            fill("{megadir} {dir}/x {n}{n} {out} {} {di} {", false),
            ["/m", "/a b/d/x", "77", "/o", "{}", "{di}", "{"]
        );
        assert_eq!(fill("rm -rf {dir}/* {out}", true), ["/bin/sh", "-c", "rm -rf '/a b/d'/* /o"]);
    }
}
