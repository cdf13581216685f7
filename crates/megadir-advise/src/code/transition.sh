# open_file TOP NAME opens a file as descriptor 3 that may be moved from OLD to NEW meanwhile.
# A file is moved once, so if it is not at its new path and then not at its old one, it has been moved in between.
# A directory counts as a miss: the file has left its path, or is not there yet.
# The path is checked before and after it is opened, because one may replace the other meanwhile.
open_file() {
    [ -z "${ZSH_VERSION-}" ] || emulate -L sh
    for layout_place in path_for old_path_for path_for; do
        "$layout_place" "$2" && [ ! -d "$1/$layout_path" ] && command exec 3<"$1/$layout_path" &&
            [ ! -d "$1/$layout_path" ] && return
    done 2>/dev/null
    return 1
}

# create_file TOP NAME opens a file for writing as descriptor 4 at its new path; its directory is made if it is missing.
create_file() {
    [ -z "${ZSH_VERSION-}" ] || emulate -L sh
    path_for "$2" || return
    case $layout_path in
    */*) mkdir -p "$1/${layout_path%/*}" || return ;;
    esac
    command exec 4>"$1/$layout_path"
}
