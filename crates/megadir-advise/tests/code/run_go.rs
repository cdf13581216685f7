//! The Go code, formatted as by gofmt, compiled and run.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use megadir_advise::code::Language;
use megadir_testkit::require;
use megadir_testkit::require::have;

use crate::cases::{self, Case};
use crate::program::{answers, output_of, silent};

const DRIVER: &str = r#"
func answers(data string, start, step int, pathFor func(string) (string, error)) {
	for at := 0; len(data) > 0; at++ {
		end := 2 + int(data[0])*256 + int(data[1])
		name := data[2:end]
		data = data[end:]
		if at < start || (at-start)%step != 0 {
			continue
		}
		path, err := pathFor(name)
		if err != nil {
			out.WriteString("-\x00")
		} else {
			out.WriteString("+" + path + "\x00")
		}
	}
}

func depths(files []uint64, depthFor func(uint64) int) {
	for _, files := range files {
		out.WriteString(strconv.Itoa(depthFor(files)) + "\x00")
	}
}

var out = bufio.NewWriter(os.Stdout)

func main() {
	bytes, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	data := string(bytes)
"#;

#[test]
fn go_gives_the_same_paths() {
    require!(have("go"));
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("go.mod"), "module printed\n\ngo 1.18\n").unwrap();
    let mut imports = String::from("\"bufio\"\n\"io\"\n\"os\"\n\"strconv\"\n");
    let mut calls = String::new();
    for (at, case) in cases::ALL.iter().enumerate() {
        let package = format!("layout{at}");
        let folder = place.path().join(&package);
        fs::create_dir(&folder).unwrap();
        case.write(Language::Go, &format!("package {package}\n\n"), &folder.join("printed.go"));
        fs::write(folder.join("public.go"), public(case, &package)).unwrap();
        writeln!(imports, "\"printed/{package}\"").unwrap();
        let (start, step) = (case.checked[0], case.checked[1] - case.checked[0]);
        for (placer, _) in &case.depths {
            let depth = placer.depth();
            let call =
                format!("func(name string) (string, error) {{ return {package}.PathFor(name, {depth}) }}");
            let call = if case.grows() { call } else { format!("{package}.PathFor") };
            writeln!(calls, "answers(data, {start}, {step}, {call})").unwrap();
        }
        if case.grows() {
            let files: Vec<String> = case.files().iter().map(u64::to_string).collect();
            writeln!(calls, "depths([]uint64{{{}}}, {package}.DepthFor)", files.join(", ")).unwrap();
        }
    }
    let main = format!("package main\n\nimport (\n{imports})\n{DRIVER}{calls}out.Flush()\n}}\n");
    fs::write(place.path().join("main.go"), main).unwrap();
    // Without optimisation Go compiles its own packages faster.
    silent(go(place.path()).args(["build", "-gcflags=all=-N -l", "-o", "printed.exe", "."]));
    answers(&output_of(&mut Command::new(place.path().join("printed.exe"))));
    if have("gofmt").is_ok() {
        let printed = (0..cases::ALL.len()).map(|at| place.path().join(format!("layout{at}/printed.go")));
        silent(Command::new("gofmt").arg("-d").args(printed));
    }
}

/// Exports the functions for use by other packages.
fn public(case: &Case, package: &str) -> String {
    let (more, depth) = if case.grows() { (", depth int", ", depth") } else { ("", "") };
    let mut code = format!("package {package}\n\n");
    writeln!(code, "func PathFor(name string{more}) (string, error) {{ return pathFor(name{depth}) }}")
        .unwrap();
    if case.grows() {
        code += "func DepthFor(files uint64) int { return depthFor(files) }\n";
    }
    code
}

/// The command `go`, without network access and with a build cache for the next run.
pub(crate) fn go(folder: &Path) -> Command {
    let mut go = Command::new("go");
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
    go.current_dir(folder).env("GOCACHE", kept.join("cache")).env("GOPATH", kept.join("path"));
    for (name, value) in [
        ("GOTOOLCHAIN", "local"),
        ("GOPROXY", "off"),
        ("GO111MODULE", "on"),
        ("GOFLAGS", ""),
        ("GOWORK", "off"),
    ] {
        go.env(name, value);
    }
    go
}
