//! Network namespace for the servers of one test, isolated both ways. Needs root.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mount::run;

/// Some servers refuse 127.0.0.1.
pub(crate) const ADDRESS: &str = "10.99.0.1";

#[derive(Debug)]
pub(crate) struct Namespace(String);

impl Namespace {
    pub(crate) fn make() -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let namespace = Self(format!("megadir-{}-{number}", std::process::id()));
        run(Command::new("ip").args(["netns", "add", &namespace.0]))?;
        run(namespace.command("ip").args(["link", "set", "lo", "up"]))?;
        run(namespace.command("ip").args(["address", "add", &format!("{ADDRESS}/32"), "dev", "lo"]))?;
        Ok(namespace)
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.0)).arg(program);
        command
    }
}

impl Drop for Namespace {
    #[expect(clippy::print_stderr, reason = "a drop has no other way to say that something was left behind")]
    fn drop(&mut self) {
        if let Err(why) = run(Command::new("ip").args(["netns", "delete", &self.0])) {
            eprintln!("{why}");
        }
    }
}
