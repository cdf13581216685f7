//! Style of progress bars: grouped numbers, and a bar as wide as the terminal allows.

use std::fmt::Write;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::limits::amount::{amount, grouped};

/// Keys `{done}`, `{all}` and `{rate}` in addition to indicatif's.
pub(super) fn set_style(bar: &ProgressBar, template: &str) {
    let Ok(style) = ProgressStyle::with_template(template) else { return };
    let done = |state: &ProgressState, text: &mut dyn Write| {
        let _ = text.write_str(&grouped(state.pos()));
    };
    let all = |state: &ProgressState, text: &mut dyn Write| {
        let _ = text.write_str(&grouped(state.len().unwrap_or_default()));
    };
    let rate = |state: &ProgressState, text: &mut dyn Write| {
        let _ = write!(text, "{}/s", amount(state.per_sec() as u64));
    };
    bar.set_style(style.with_key("done", done).with_key("all", all).with_key("rate", rate));
}

#[cfg(test)]
pub(super) mod screen {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    /// Terminal that records its output.
    #[derive(Clone, Debug)]
    pub(in crate::cmd) struct Screen {
        width: u16,
        drawn: Arc<Mutex<String>>,
    }

    impl Screen {
        pub(in crate::cmd) fn new(width: u16) -> Self {
            Self { width, drawn: Arc::default() }
        }

        pub(in crate::cmd) fn shows(&self, text: &str) -> bool {
            self.drawn().contains(text)
        }

        pub(in crate::cmd) fn drawn(&self) -> String {
            self.drawn.lock().map(|drawn| drawn.clone()).unwrap_or_default()
        }
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            self.width
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            let mut drawn = self.drawn.lock().map_err(|_| io::Error::other("poisoned"))?;
            drawn.push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            let mut drawn = self.drawn.lock().map_err(|_| io::Error::other("poisoned"))?;
            drawn.push('\n');
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use indicatif::{ProgressBar, ProgressDrawTarget};

    use super::screen::Screen;
    use super::set_style;

    #[test]
    fn a_line_fits_the_terminal_and_has_numbers_as_everywhere() {
        for width in [80, 120, 200] {
            let screen = Screen::new(width);
            let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
            let bar = ProgressBar::with_draw_target(Some(2_345_678), target);
            set_style(&bar, "{wide_bar} {done} of about {all} entries, {rate}, {eta} left");
            bar.set_position(1_234_567);
            bar.tick();
            assert!(screen.shows(" 1 234 567 of about 2 345 678 entries, "), "{screen:?}");
            let drawn = screen.drawn();
            let widest = drawn.lines().map(|line| line.chars().count()).max();
            assert_eq!(widest, Some(width.into()), "{drawn:?}");
        }
    }
}
