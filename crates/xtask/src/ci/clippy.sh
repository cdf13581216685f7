#!/bin/sh
# The compiler for `cargo check` in the stages clippy and windows; cargo gives it to the crates of the workspace only. $1 is rustc. Warnings are
# errors. Test programs are compiled with `--test`, and tests may be longer than a screen: that lint has no setting for it.
for word; do
    [ "$word" = --test ] && exec "${CLIPPY_DRIVER:-clippy-driver}" "$@" -D warnings -A clippy::too_many_lines
done
exec "${CLIPPY_DRIVER:-clippy-driver}" "$@" -D warnings
