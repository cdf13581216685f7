//! Refusals: one line with the error, the operand and a remedy.

use crate::support::{run, scratch};

#[test]
fn contradictions_and_nonsense_are_one_line() {
    let scratch = scratch();
    std::fs::create_dir(scratch.path().join("d")).unwrap();
    for (arguments, words) in [
        (&["--files", "1M", "--like", "d", "--name-length", "8"][..], &["--like", "--name-length"][..]),
        (
            &["--files", "1M", "--writers", "4", "--pattern", "read"],
            &["--writers 4", "--pattern read", "leave one out"],
        ),
        (&["--files", "1M", "--writers", "4", "--pattern", "walk"], &["contradict"]),
        (&["--files", "0"], &["at least 1 file"]),
        (&["--files", "many"], &["not a count", "10k"]),
        (&["--files", "1M", "--writers", "0"], &["--writers", "expected 1 to 256 writers"]),
        (&["--files", "1M", "--pattern", "rea"], &["read", "walk"]),
        (&["--files", "1M", "--name-length", "300"], &["not a name length"]),
        (&["--files", "1M", "--time", "1s"], &["2s to 1h"]),
        (&["--files", "1M", "--time", "2h"], &["2s to 1h"]),
        (&["--files", "1M", "--time", "60"], &["2s to 1h"]),
        (&["--files", "1M", "--time", "0s", "--report"], &["--report", "--time 0s", "leave one out"]),
        (&["--files", "1M", "--code", "perl"], &["python", "shell"]),
        (&["--layout", "digest:2"], &["--code"]),
        (&["--layout", "digest:0", "--code", "python"], &["digest:0"]),
        (&["--layout", "digest:2", "--code", "python", "--files", "1M"], &["--layout", "--files"]),
        (&["--files", "1M", "--code", "python", "--json"], &["--code", "--json"]),
        (&["d"], &["'d' is empty", "--files 10M"]),
    ] {
        run(scratch.path(), &[&["advise"], arguments].concat()).complains(2, words);
    }
    // Refused before the measurement, which would take an hour.
    let page = ["advise", "--files", "1M", "--time", "1h", "--report=/nosuch/x.html"];
    run(scratch.path(), &page).complains(3, &["'/nosuch/x.html'", "nothing was measured"]);
    for arguments in [
        &["--report", "x.html"][..],
        &["--report", "x.html", "d"],
        &["d", "--report", "x.html"],
        &["--report", "x.html", "--files", "1M"],
    ] {
        run(scratch.path(), &[&["advise"], arguments].concat())
            .complains(2, &["'x.html' is not a directory", "--report=x.html"]);
    }
    run(scratch.path(), &["advise", "--report", "page"]).complains(2, &["--report=page"]);
    run(scratch.path(), &["limits", "--watch", "5m", "d"]).complains(2, &["--watch=5m"]);
    run(scratch.path(), &["limits", "d", "--watch", "5m"]).complains(2, &["--watch=5m"]);
    run(scratch.path(), &["list", "--summary", "directories"]).complains(2, &["--summary=directories"]);
    // A mistyped directory remains one.
    run(scratch.path(), &["list", "--summary", "gone"]).complains(3, &["open 'gone'"]);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1, "nothing is left");
    run(scratch.path(), &["advise", "none", "--files", "1M"]).complains(3, &["'none'"]);
    run(scratch.path(), &["advise", "--files", "1M", "--like", "none"]).complains(3, &["'none'"]);
}
