_PROGRAM_lists() {
    local before="" word="$2"
    case "$3" in
        OPTIONS)
            if [[ "$2" == *,* ]]; then
                before="${2%,*},"
                word="${2##*,}"
                COMP_WORDS[COMP_CWORD]="$word"
            fi
            ;;
    esac
    _PROGRAM "$1" "$word" "$3"
    local reply word_only=()
    for reply in "${COMPREPLY[@]}"; do
        # Options are offered once a dash is there, so that files and directories are not hidden by them.
        [[ -z "$word" && "$reply" == -* ]] || word_only+=("$before$reply")
    done
    COMPREPLY=("${word_only[@]}")
}
complete -F _PROGRAM_lists -o nosort -o bashdefault -o default PROGRAM
