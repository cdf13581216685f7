//! Completion of the values after a comma, which `clap_complete` does not know: `--fs ext4,x` is completed to
//! `--fs ext4,xfs`. In the copy of the definitions an option with a list has its own identifier as its only value; in the
//! script this is replaced by what the shell needs.

use clap::builder::{PossibleValuesParser, Str};
use clap::{Arg, Command};
use clap_complete::Shell;

use super::PROGRAM;
use super::known::values;

struct List {
    id: String,
    long: String,
    values: String,
}

pub(super) fn with_placeholders(program: Command, lists: &mut Lists) -> Command {
    let names: Vec<String> = program.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let program = names
        .into_iter()
        .fold(program, |program, name| program.mut_subcommand(name, |below| with_placeholders(below, lists)));
    program.mut_args(|argument| lists.take(argument))
}

#[derive(Default)]
pub(super) struct Lists(Vec<List>);

impl Lists {
    fn take(&mut self, argument: Arg) -> Arg {
        let values = values(&argument).join(" ");
        match argument.get_long().map(str::to_owned) {
            Some(long) if argument.get_value_delimiter() == Some(',') && !values.is_empty() => {
                let id = argument.get_id().clone();
                let list = List { id: id.to_string(), long, values };
                match self.0.iter().find(|known| known.id == list.id) {
                    Some(known) => debug_assert_eq!((&known.long, &known.values), (&list.long, &list.values)),
                    None => self.0.push(list),
                }
                argument.value_parser(PossibleValuesParser::new([Str::from(id)]))
            }
            _ => argument,
        }
    }

    pub(super) fn complete(&self, shell: Shell, script: String) -> String {
        let each = |script, replace: fn(&List) -> (String, String)| {
            self.0.iter().map(replace).fold(script, |script: String, (from, to)| script.replace(&from, &to))
        };
        match shell {
            Shell::Bash => {
                each(script, |list| (format!("-W \"{}\"", list.id), format!("-W \"{}\"", list.values)))
                    + &self.for_bash()
            }
            Shell::Fish => each(script, |List { id, values, .. }| {
                (format!("\"{id}\\t''\""), format!("\"(__fish_complete_list , 'printf %s\\n {values}')\""))
            }),
            Shell::Zsh => each(script, |List { id, values, .. }| {
                (format!(":({id})'"), format!(":_sequence compadd - {values}'"))
            }),
            _ => script,
        }
    }

    /// Completes what follows the last comma as if nothing were before it.
    fn for_bash(&self) -> String {
        let mut options: Vec<String> = self.0.iter().map(|list| format!("--{}", list.long)).collect();
        options.sort_unstable();
        options.dedup();
        let options = options.join("|");
        format!(
            r#"
_{PROGRAM}_lists() {{
    local before="" word="$2"
    case "$3" in
        {options})
            if [[ "$2" == *,* ]]; then
                before="${{2%,*}},"
                word="${{2##*,}}"
                COMP_WORDS[COMP_CWORD]="$word"
            fi
            ;;
    esac
    _{PROGRAM} "$1" "$word" "$3"
    local reply word_only=()
    for reply in "${{COMPREPLY[@]}}"; do
        # Options are offered once a dash is there, so that files and directories are not hidden by them.
        [[ -z "$word" && "$reply" == -* ]] || word_only+=("$before$reply")
    done
    COMPREPLY=("${{word_only[@]}}")
}}
complete -F _{PROGRAM}_lists -o nosort -o bashdefault -o default {PROGRAM}
"#
        )
    }
}
