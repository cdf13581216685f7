//! Which layout to use for very many files, on the machine at hand.
//!
//! ```text
//! Dir --megadir::limits--> Limits --Ground::of--> Ground --+
//! Question -------------------------------------------------+-> RULES, the first row that applies -> Advice
//! candidates -> measurement -> record -> summary -> Measured+
//! ```
//!
//! | subject | where |
//! |---|---|
//! | what is asked | [`question`] |
//! | the directory that was named | [`mod@look`] |
//! | what one new directory takes here | [`ground`] |
//! | the layouts among which is chosen | [`candidate`] |
//! | the table of rules, in one place | [`rule`] |
//! | the whole answer | [`mod@advise`] |
//! | the short measurement on the target | [`mod@measure`] |
//! | what it has found | [`measured`] |
//! | from how many files on it changes | [`crossover`] |
//! | inodes and blocks, whatever the layout | [`room`] |
//! | how a name's path is computed, in words and as code | [`code`] |
//!
//! The rule is pure: it looks at numbers and never at a file system. Its reasons are explained in `docs/advice.md`. Nothing here prints.

pub mod advise;
pub mod candidate;
pub mod code;
pub mod crossover;
pub mod ground;
pub mod look;
pub mod measure;
pub mod measured;
pub mod question;
pub mod room;
pub mod rule;

pub use advise::{Advice, advise};
pub use candidate::{Candidate, candidates};
pub use crossover::Change;
pub use ground::{Ground, Holds};
pub use look::{Look, look};
pub use measured::{Contrast, Measured, Phase, Undecided};
pub use question::{Pattern, Question};
pub use room::Shortage;
pub use rule::{Gives, RULES, Rule};
