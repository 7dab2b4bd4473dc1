_anteroom() {
  local offer word="${COMP_WORDS[COMP_CWORD]}"
  local program="${COMP_WORDS[0]/#\~\//$HOME/}"
  COMPREPLY=()
  # What is quoted is completed as it is, what is not gets quotes where it needs them.
  local plain="${word//\\/}" quoted=
  [[ "$plain" == [\"\']* ]] && quoted=1 && plain="${plain:1}"
  while IFS= read -r offer; do
    case "$offer" in
      # bash 3 has no compopt.
      :files) compopt -o default 2>/dev/null || COMPREPLY+=($(compgen -f -- "$plain")) ;;
      :folders) compopt -o dirnames 2>/dev/null || COMPREPLY+=($(compgen -d -- "$plain")) ;;
      *) if [[ -n "$quoted" ]]; then COMPREPLY+=("$offer"); else COMPREPLY+=("$(printf %q "$offer")"); fi ;;
    esac
  done < <("$program" complete -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$plain" 2>/dev/null </dev/null)
}
complete -F _anteroom anteroom
