//! Completion of the values after a comma, which `clap_complete` lacks: `--fs ext4,x` becomes `--fs ext4,xfs`. In the copy of the definitions
//! such an option has its own identifier as its only value, which is replaced in the script by the shell's own code.
//!
//! ```text
//! with_values (known.rs) ─► with_placeholders ─► clap_complete ─► script ─► Lists::complete
//!                             "fs" is a value        "fs" is in it     code of the shell instead
//! ```

use clap::builder::{PossibleValuesParser, Str};
use clap::{Arg, Command};
use clap_complete::Shell;

use super::PROGRAM;
use super::known::values;

/// Function for bash, which has no completion of lists of its own; `PROGRAM` and `OPTIONS` are replaced.
const FOR_BASH: &str = include_str!("lists.bash");

struct List {
    id: String,
    long: String,
    values: String,
}

pub(super) fn with_placeholders(program: Command, lists: &mut Lists) -> Command {
    let program = program.mut_subcommands(|below| with_placeholders(below, lists));
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
                // The same option of several commands has one entry, and then has to have the same values.
                match self.0.iter().find(|known| known.id == list.id) {
                    Some(known) => debug_assert_eq!((&known.long, &known.values), (&list.long, &list.values)),
                    None => self.0.push(list),
                }
                argument.value_parser(PossibleValuesParser::new([Str::from(id)]))
            }
            _ => argument,
        }
    }

    /// The text to replace is the placeholder in the form in which each shell's generator prints it.
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

    fn for_bash(&self) -> String {
        let mut options: Vec<String> = self.0.iter().map(|list| format!("--{}", list.long)).collect();
        options.sort_unstable();
        options.dedup();
        format!("\n{}", FOR_BASH.replace("PROGRAM", PROGRAM).replace("OPTIONS", &options.join("|")))
    }
}
