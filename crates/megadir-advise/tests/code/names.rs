//! Names of all kinds, the same in every run.

use std::sync::LazyLock;

use megadir_testkit::rng::Rng;

pub(crate) const NAMES: usize = 10_000;

/// Contains duplicates.
pub(crate) static ALL: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut names = chosen();
    let mut rng = Rng::new(8);
    while names.len() < NAMES {
        names.push(any(&mut rng));
    }
    names
});

/// Names with a meaning for a shell, a file system or a layout.
fn chosen() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "",
        ".",
        "..",
        "...",
        "....",
        "/",
        "a/b",
        "abcdef/",
        "\0",
        "ab\0cdef",
        " ",
        "  ",
        "\n",
        "\n\n\n\n",
        "abcdef\n",
        "abcdef\n\n",
        "-",
        "--",
        "-n",
        "-e",
        "-abcdef",
        "--help",
        "\\",
        "\\n",
        "\\\\\\\\",
        "\\0abc",
        "%s",
        "%sabc%n",
        "$HOME",
        "$(id)abc",
        "`id`abc",
        "${x}abcdef",
        "'",
        "''''",
        "\"",
        "\"\"\"\"",
        "a'b\"c'd",
        "*",
        "****",
        "?",
        "????????",
        "[a-z]",
        "[!a]bc",
        "~",
        "~root",
        "!!",
        "#abc",
        ";abc",
        "&&&&",
        "|abc",
        "<abc",
        ">abc",
        "a b c d",
        ".data",
        "a.data",
        "a..data",
        "ab.data",
        "abc.data",
        "a/c.data",
        "...data",
        "abcdef.data",
        "abcdef.Data",
        "abcdef_data",
        "a\nb\n.data",
        "abcd.a",
        "abcdba",
        "dir_ax",
        "dir_x",
        "ax",
        "abcx",
        "aa.b-C_",
        "ca.b-C_",
        "bca.b-C_",
        "abca.b-c_",
        "defabca.b-C_",
        "xyza.b-C_",
        "1234a.b-C_",
        "dir_xa.b-C_",
        "xyzwx",
        "\tabc\t",
        "\r\nabc",
        "grün",
        "Ünïcödé",
        "日本語の名前",
        "🦀🦀",
        "K\u{212a}s\u{17f}",
        "dir_a",
        "DIR_A",
        "dIr_ab",
        "Dir_abc",
        "dır_a",
        "xyz1",
        "XyZ12",
        "1x2",
        "1X2",
        "a",
        "A",
        "ab",
        "aB",
        "abc",
        "0",
        "00",
        "01",
        "1",
        "007",
        "7",
        "42",
        "1234",
        "01234",
        "999999999",
        "1000000000",
        "+12",
        "-12",
        "1_000",
        "1e3",
        " 12",
        "12 ",
        "٣٤٥",
        "１２３",
        "00000000",
        "FFFFFFFF",
        "0000004A",
        "0000004a",
        "+000004A",
        "0x00004A",
        "00000000A",
        "000 004A",
        "DEADBEEF",
    ]
    .map(|name| name.as_bytes().to_vec())
    .into();
    for byte in 0..=u8::MAX {
        names.push(vec![byte]);
        names.push(vec![byte; 4]);
        names.push([&b"ab"[..], &[byte], b"c"].concat());
        names.push([&[byte][..], b"bcdefgh"].concat());
        names.push([&b"0123456"[..], &[byte]].concat());
    }
    for bytes in (1..=12).chain([63, 64, 127, 128, 199, 200, 201, 208, 253, 254, 255, 256, 257, 300, 1000]) {
        names.push(vec![b'x'; bytes]);
        names.push(vec![b'.'; bytes]);
        names.push(vec![b'7'; bytes]);
        names.push("é".repeat(bytes).into_bytes());
    }
    names
}

/// Returns a random name of a random kind.
fn any(rng: &mut Rng) -> Vec<u8> {
    match rng.within(0, 9) {
        // Few distinct characters, so that many names are almost refused.
        0 | 1 => drawn(rng, 9, b"aaA..b0019_-/xX\0F\xff"),
        2 => drawn(rng, 8, b"dDiIrR_.aAxX12"),
        3 => rng.next_u64().to_string().as_bytes()[..rng.within(1, 12) as usize].to_vec(),
        4 => format!("{:08X}", rng.next_u64() as u32).into_bytes(),
        5 => format!("{:016x}{:016x}", rng.next_u64(), rng.next_u64()).into_bytes(),
        6 => drawn(rng, 40, b" '\"\\$`*?[]!#~-\n\t;&|<>(){}=%.abc"),
        7 => text(rng).into_bytes(),
        8 => bytes(rng, 16),
        // Long enough for wide levels, and too long.
        _ if rng.chance(50) => bytes(rng, 1).repeat(rng.within(250, 256) as usize),
        _ => bytes(rng, 257),
    }
}

/// Up to `most` of these bytes.
fn drawn(rng: &mut Rng, most: u64, of: &[u8]) -> Vec<u8> {
    (0..rng.within(0, most)).map(|_| rng.pick(of)).collect()
}

/// Arbitrary bytes; NUL and `/`, which no name contains, are rare.
fn bytes(rng: &mut Rng, most: u64) -> Vec<u8> {
    let byte = |rng: &mut Rng| match rng.next_u64() as u8 {
        byte @ (0 | b'/') if !rng.chance(5) => byte + 1,
        byte => byte,
    };
    (0..rng.within(1, most)).map(|_| byte(rng)).collect()
}

/// Letters of several alphabets.
fn text(rng: &mut Rng) -> String {
    let letters = ['a', 'z', '.', ' ', 'ä', 'ß', 'я', 'ع', '語', '\u{301}', '🦀', '\u{fffd}'];
    (0..rng.within(1, 60)).map(|_| rng.pick(&letters)).collect()
}
