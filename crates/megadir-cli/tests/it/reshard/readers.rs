//! Programs in four languages read and create files by the printed code while the files are moved: none is missed.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use megadir_testkit::require;
use megadir_testkit::require::{have, not_run};

use super::support::{files, make};
use crate::remove::witness::scratch_in_memory;
use crate::support::{fill, run};

/// Reads all names of the file `names` again and again until `stop` exists, creates files named after the language, and
/// prints the number of rounds.
const PYTHON: &str = r#"
import sys
names = open("names").read().split()
rounds = 0
while not os.path.exists("stop") or rounds < 2:
    for name in names:
        open_file("t", name).close()
    create_file("t", "pyth%04d" % rounds).close()
    open_file("t", "pyth%04d" % rounds).close()
    rounds += 1
print(rounds)
"#;

const SHELL: &str = r#"
rounds=0
while [ ! -e stop ] || [ $rounds -lt 2 ]; do
    while read -r name; do
        open_file t "$name" && [ -f /dev/fd/3 ] || { echo "missed $name"; exit 1; }
    done <names
    create_file t "shel$rounds" && open_file t "shel$rounds" || { echo "missed own"; exit 1; }
    rounds=$((rounds + 1))
done
echo $rounds
"#;

const RUST: &str = r#"
fn main() {
    let (names, top) = (std::fs::read_to_string("names").unwrap(), std::path::Path::new("t"));
    let mut rounds = 0;
    while !std::path::Path::new("stop").exists() || rounds < 2 {
        for name in names.lines() {
            let file = open_file(top, name.as_ref()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(file.metadata().unwrap().is_file(), "{name}: not a file");
        }
        let own = format!("rust{rounds:04}");
        create_file(top, own.as_ref()).unwrap();
        open_file(top, own.as_ref()).unwrap();
        rounds += 1;
    }
    println!("{rounds}");
}
"#;

const GO: &str = r#"
func main() {
	text, _ := os.ReadFile("names")
	rounds := 0
	for {
		if _, err := os.Stat("stop"); err == nil && rounds >= 2 {
			break
		}
		for _, name := range strings.Fields(string(text)) {
			file, err := openFile("t", name)
			if err != nil {
				panic(name + ": " + err.Error())
			}
			if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
				panic(name + ": not a file")
			}
			file.Close()
		}
		own := fmt.Sprintf("golang%04d", rounds)
		if file, err := createFile("t", own); err != nil {
			panic(err)
		} else {
			file.Close()
		}
		rounds++
	}
	fmt.Println(rounds)
}
"#;

/// Directories `d00` to `dff`. Files with such names are moved before a directory is made, or after it is removed.
const LABELLED: &str = "prefix:2+label=d";

/// Prints the code for a move in a language.
fn printed(at: &Path, language: &str, old: &str, new: &str) -> String {
    let words = ["advise", "--layout", new, "--transition", old, "--code", language];
    String::from_utf8(run(at, &words).quiet()).unwrap()
}

/// Writes and builds the reader in a language; returns its command.
fn reader(at: &Path, language: &str, code: String) -> Result<Command, String> {
    let build = |tool: &str, words: &[&str]| {
        have(tool)?;
        let built =
            Command::new(tool).args(words).current_dir(at).output().map_err(|error| error.to_string())?;
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Ok::<_, String>(Command::new(at.join(language)))
    };
    let write = |name: &str, text: String| std::fs::write(at.join(name), text).unwrap();
    match language {
        "python" => {
            have("python3")?;
            write("reader.py", code + PYTHON);
            let mut command = Command::new("python3");
            command.arg("reader.py");
            Ok(command)
        }
        "shell" => {
            write("reader.sh", code + SHELL);
            let mut command = Command::new("sh");
            command.arg("reader.sh");
            Ok(command)
        }
        "rust" => {
            write("reader.rs", code + RUST);
            build("rustc", &["--edition", "2024", "-O", "-o", "rust", "reader.rs"])
        }
        _ => {
            write("reader.go", format!("package main\n\n{code}{GO}"));
            build("go", &["build", "-o", "go", "reader.go"])
        }
    }
}

fn start(mut command: Command, at: &Path) -> Child {
    command.current_dir(at).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Writes the names of all files for the readers. Files with the names of directories come again after each 500 names.
fn write_names(at: &Path) {
    let names: Vec<String> = files(&at.join("t")).into_values().map(|(name, _)| name + "\n").collect();
    let like_directories = names.iter().filter(|name| name.len() == 4).cloned().collect::<String>();
    let parts = names.chunks(500).map(|part| part.concat() + &like_directories);
    std::fs::write(at.join("names"), parts.collect::<String>()).unwrap();
}

/// Runs readers in all languages on 10 000 files, and files `d00` to `d29`, while `reshard` moves them.
/// A directory may have a file's new path at first: then the first run leaves the file, and the second one moves it.
fn check_readers(old: &str, new: &str, runs: &[Option<i32>]) {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 10_000, old);
    let path = |layout: &str, name: &str| {
        let layout: megadir::layout::Layout = layout.parse().unwrap();
        layout.path_for(name.as_bytes()).unwrap()
    };
    for number in 0..30 {
        let file = at.join("t").join(path(old, &format!("d{number:02}")));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    write_names(at);
    let mut readers = Vec::new();
    for language in ["python", "shell", "rust", "go"] {
        match reader(at, language, printed(at, language, old, new)) {
            Ok(command) => readers.push((language, start(command, at))),
            Err(why) => not_run(&format!("readers in {language}"), &why),
        }
    }
    require!(if readers.is_empty() { Err("no language".to_owned()) } else { Ok(()) });
    let words = ["reshard", "--quiet", "--yes", "--from", old, "--to", new, "--rate", "5k/s", "t"];
    for code in runs {
        let ran = run(at, &words);
        assert_eq!(ran.code, *code, "{ran:?}");
    }
    std::fs::write(at.join("stop"), "").unwrap();
    for (language, child) in readers {
        let output = child.wait_with_output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{language}: {out}{err}");
        assert!(out.trim().parse::<u32>().unwrap() >= 2, "{language}: {out}");
    }
    for (name, found) in files(&at.join("t")).values() {
        assert_eq!(*found, path(new, name).to_str().unwrap());
    }
}

#[test]
fn no_reader_misses_a_file_that_exists() {
    check_readers("flat", LABELLED, &[Some(0)]);
}

#[test]
fn no_reader_misses_a_file_on_the_way_back() {
    check_readers(LABELLED, "flat", &[Some(1), Some(0)]);
}

#[test]
fn every_pair_of_layouts_has_code_that_runs() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    for (old, new) in [
        ("flat", "git"),
        ("nginx", "digest:2/2"),
        ("squid", "digest:2"),
        ("flat", "paperclip"),
        ("prefix:1+label=d", "flat"),
    ] {
        let code = |language| {
            let words = ["advise", "--layout", new, "--transition", old, "--code", language];
            String::from_utf8(run(at, &words).quiet()).unwrap()
        };
        let name = "12345678";
        let layout = |text: &str| text.parse::<megadir::layout::Layout>().unwrap();
        let _ = std::fs::remove_dir_all(at.join("t"));
        let place = at.join("t").join(layout(old).path_for(name.as_bytes()).unwrap());
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(&place, "old").unwrap();
        let new_place = at.join("t").join(layout(new).path_for(name.as_bytes()).unwrap());
        let check = |command: &mut Command, language: &str| {
            let output = command.current_dir(at).output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                "old\nnew\n",
                "{language} {old} {new}: {err}"
            );
            assert_eq!(std::fs::read(&new_place).unwrap(), b"new\n");
            std::fs::remove_file(&new_place).unwrap();
        };
        if have("python3").is_ok() {
            let script = format!(
                "{}\nprint(open_file('t', '{name}').read().decode())\nwith create_file('t', '{name}') as f: f.write(b'new\\n')\nprint(open_file('t', '{name}').read().decode(), end='')\n",
                code("python")
            );
            check(Command::new("python3").args(["-c", &script]), "python");
        }
        let script = format!(
            "{}\nopen_file t {name}; cat <&3; echo; create_file t {name}; echo new >&4; open_file t {name}; cat <&3\n",
            code("shell")
        );
        check(Command::new("sh").args(["-c", &script]), "shell");
        if have("go").is_ok() {
            let main = format!(
                "func main() {{\n\tfile, err := openFile(\"t\", \"{name}\")\n\tif err != nil {{\n\t\tpanic(err)\n\t}}\n\tb := make([]byte, 9)\n\tn, _ := file.Read(b)\n\tfmt.Println(string(b[:n]))\n\tfile, err = createFile(\"t\", \"{name}\")\n\tif err != nil {{\n\t\tpanic(err)\n\t}}\n\tfile.WriteString(\"new\\n\")\n\tfile, _ = openFile(\"t\", \"{name}\")\n\tn, _ = file.Read(b)\n\tfmt.Print(string(b[:n]))\n}}\n"
            );
            std::fs::write(at.join("main.go"), format!("package main\n\n{}{main}", code("go"))).unwrap();
            check(Command::new("go").args(["run", "main.go"]), "go");
        }
    }
    let words = ["advise", "--layout", "ccache", "--transition", "flat", "--code", "python"];
    run(at, &words).complains(2, &["depends on the number of files"]);
}

/// A file of one layout would be taken for another file of the other one, and overwritten.
#[test]
fn layouts_that_cannot_share_a_directory_get_no_code() {
    for (old, new) in
        [("git", "digest:2"), ("digest:2", "git"), ("squid", "decimal:3/3/3"), ("nginx", "npm-cacache")]
    {
        let words = ["advise", "--layout", new, "--transition", old, "--code", "python"];
        run(Path::new("."), &words).complains(2, &["a path could belong to", "a third layout"]);
    }
}

#[test]
fn zsh_opens_files_at_both_paths() {
    require!(have("zsh"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    fill(at, &["t/"]);
    std::fs::write(at.join("t/abcdef"), "old").unwrap();
    let words = ["advise", "--layout", "prefix:2", "--transition", "flat", "--code", "shell"];
    let code = String::from_utf8(run(at, &words).quiet()).unwrap();
    let script = format!(
        "{code}\nopen_file t abcdef && cat <&3; echo; create_file t abcdef && echo new >&4; open_file t abcdef && cat <&3\n"
    );
    let output = Command::new("zsh").args(["-f", "-c", &script]).current_dir(at).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "old\nnew\n", "{output:?}");
}

#[test]
fn a_transition_to_the_same_layout_has_nothing_to_do() {
    let scratch = scratch_in_memory();
    let words = ["advise", "--layout", "digest:2", "--transition", "digest:2", "--code", "python"];
    let ran = run(scratch.path(), &words);
    ran.complains(2, &["--transition digest:2: that is the new layout too, so there is nothing to do"]);
    assert!(ran.out.is_empty());
}
