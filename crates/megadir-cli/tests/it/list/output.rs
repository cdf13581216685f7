//! Standard output and standard error that are closed, full or broken pipes.

use megadir_testkit::tree::Flat;

use crate::support::{fill, scratch, shell};

#[test]
fn a_full_device_is_an_error_with_a_line() {
    let scratch = scratch();
    Flat::plain(5000).build(&scratch.path().join("d"));
    for options in [
        "list d",
        "list -0 d",
        "list --json d",
        "list -r d",
        "list --raw d",
        "list --count d",
        "list --sort name d",
        "list --estimate d",
        "list --summary d",
        "list --summary=directories -r d",
        "list -j2 d",
        "backends d",
        "backends --json d",
        "--help",
        "list --help",
        "--version",
    ] {
        let ran = shell(scratch.path(), &format!("$M {options} > /dev/full"));
        ran.complains(1, &["write to standard output: No space left on device; the output is incomplete"]);
    }
}

#[test]
fn closed_output_pipe_is_no_error() {
    let scratch = scratch();
    Flat::plain(30_000).build(&scratch.path().join("d"));
    for options in [
        "list d",
        "list -0 d",
        "list --json d",
        "list -r .",
        "list -r -j1 .",
        "list --raw d",
        "list --sort name d",
        "list -j2 d",
        "list --buffer 4k d",
    ] {
        let ran =
            shell(scratch.path(), &format!("$M {options} | head -c 1 > /dev/null; echo ${{PIPESTATUS[0]}}"));
        assert_eq!(ran.quiet(), b"0\n", "{options}");
    }
    for options in [
        "list --count d",
        "list --summary d",
        "list --summary --json -r d",
        "backends",
        "--help",
        "list --help",
    ] {
        let ran = shell(scratch.path(), &format!("(sleep 0.05; $M {options}; echo $? >&2) | true"));
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), "0\n"), "{options}");
    }
}

#[test]
fn a_standard_error_that_takes_nothing_changes_no_exit_code() {
    let scratch = scratch();
    fill(scratch.path(), &["d/", "d/a"]);
    for (options, code) in
        [("list missing", 3), ("list d missing", 1), ("list --explain d", 0), ("list --bogus", 2), ("", 2)]
    {
        for to in ["/dev/full", "&-"] {
            let ran = shell(scratch.path(), &format!("$M {options} 2>{to}"));
            assert_eq!((ran.code, ran.err.as_str()), (Some(code), ""), "{options} 2>{to}");
        }
    }
}
