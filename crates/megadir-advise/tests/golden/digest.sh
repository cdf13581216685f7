# Path of a file below the top directory in the layout digest:2/2.
# path_for NAME sets $layout_path, or fails if the layout does not accept the name:
# path_for abcdef sets it to be/f5/abcdef
layout_sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }
path_for() {
    [ -z "${ZSH_VERSION-}" ] || emulate -L sh
    layout_path=
    layout_locale=${LC_ALL-}
    LC_ALL=C # lengths and patterns count bytes
    case $1 in
    '' | . | .. | */*) ;; # not accepted
    *)
        if [ ${#1} -le 255 ] && layout_rest=$(printf %s "$1" | layout_sha256); then
            for layout_width in '??' '??'; do
                layout_next=${layout_rest#$layout_width}
                layout_path=$layout_path${layout_rest%"$layout_next"}/
                layout_rest=$layout_next
            done
            layout_path=$layout_path$1
        fi
        ;;
    esac
    LC_ALL=$layout_locale
    [ -n "$layout_path" ]
}
