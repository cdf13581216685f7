//! Splits Rust text into code and comments, line by line, so that checks of words ignore strings: in the code
//! these lose their content. Not a complete lexer.

#[derive(Default)]
pub(crate) struct Views {
    /// Without comments and the content of strings.
    pub(crate) code: String,
    pub(crate) comments: String,
}

pub(crate) fn split(text: &str) -> Views {
    let letters: Vec<char> = text.chars().collect();
    let mut views = Views::default();
    let mut at = 0;
    while at < letters.len() {
        let rest = &letters[at..];
        let before = at.checked_sub(1).map(|index| letters[index]);
        let (length, kind) = piece(rest, before);
        views.push(&rest[..length], kind);
        at += length;
    }
    views
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Views {
    /// Adds a piece to its view, and its line ends to both.
    fn push(&mut self, piece: &[char], kind: Kind) {
        for (index, &letter) in piece.iter().enumerate() {
            let edge = index == 0 || index + 1 == piece.len();
            match (letter, kind) {
                ('\n', _) => {
                    self.code.push('\n');
                    self.comments.push('\n');
                }
                (_, Kind::Code) => self.code.push(letter),
                (_, Kind::Comment) => self.comments.push(letter),
                (_, Kind::Literal) => self.code.push(if edge { '"' } else { ' ' }),
            }
        }
    }
}

/// Returns the length and the kind of the first piece of `rest`.
fn piece(rest: &[char], before: Option<char>) -> (usize, Kind) {
    let next = rest.get(1).copied();
    match (rest[0], next) {
        ('/', Some('/')) => (find(rest, 0, &['\n']).unwrap_or(rest.len()), Kind::Comment),
        ('/', Some('*')) => (block_comment(rest), Kind::Comment),
        ('"', _) => (string(rest), Kind::Literal),
        ('\'', _) => character(rest).map_or((1, Kind::Code), |length| (length, Kind::Literal)),
        ('r', _) if !before.is_some_and(|letter| is_word(letter) && !matches!(letter, 'b' | 'c')) => {
            raw_string(rest).map_or((1, Kind::Code), |length| (length, Kind::Literal))
        }
        _ => (1, Kind::Code),
    }
}

/// `true` for characters of identifiers.
pub(crate) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns the position of `what` in `rest`, from `start` on.
fn find(rest: &[char], start: usize, what: &[char]) -> Option<usize> {
    rest.get(start..)?.windows(what.len()).position(|window| window == what).map(|index| index + start)
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match (rest[at], rest.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Returns the length of a character literal; `None` for a lifetime.
fn character(rest: &[char]) -> Option<usize> {
    if rest.get(1) == Some(&'\\') {
        return find(rest, 3, &['\'']).map(|end| end + 1);
    }
    (rest.get(2) == Some(&'\'')).then_some(3)
}

/// Returns the length of a raw string at the start of `rest`.
fn raw_string(rest: &[char]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&letter| letter == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return None;
    }
    let mut end = vec!['"'];
    end.resize(1 + hashes, '#');
    Some(find(rest, 2 + hashes, &end).map_or(rest.len(), |at| at + end.len()))
}

#[cfg(test)]
mod tests {
    use super::split;

    fn code(text: &str) -> String {
        split(text).code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_leave_the_code() {
        assert_eq!(code("a // b\nc /* d /* e */ f */ g"), "a c g");
        assert_eq!(split("a // b\n/// c\n").comments, "// b\n/// c\n");
        assert_eq!(split("a /* b\nc */ d\n").code, "a \n d\n");
    }

    #[test]
    fn strings_lose_their_content() {
        assert_eq!(code(r#"x("// no \" comment") y"#), r#"x(" ") y"#);
        assert_eq!(code("r#\"a \"b\" // c\"# y"), "\" \" y");
        assert_eq!(code("br\"a\\\" y"), "b\" \" y");
        assert_eq!(code("for x"), "for x");
    }

    #[test]
    fn lifetimes_are_not_characters() {
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(code(r"'\'' '\\' '\u{7f}' y"), r#"" " " " " " y"#);
        assert_eq!(code("'\"' y"), "\" \" y");
    }

    #[test]
    fn an_end_in_the_middle_is_no_panic() {
        for text in ["\"abc", "/* a", "r#\"a", "'", "'\\", "\"\\", "r"] {
            let _ = split(text);
        }
    }
}
