_anteroom() {
  local offer word="${COMP_WORDS[COMP_CWORD]}"
  local program="${COMP_WORDS[0]/#\~\//$HOME/}"
  COMPREPLY=()
  # A quoted word keeps its quotes, with special characters escaped. printf %q quotes other words if necessary.
  local plain="${word//\\/}" quote=
  [[ "$plain" == [\"\']* ]] && quote="${plain:0:1}" && plain="${plain:1}"
  local escape=
  [[ "$quote" == \" ]] && escape='s/[\\"$`]/\\&/g'
  [[ "$quote" == \' ]] && escape="s/'/'\\\\''/g"
  while IFS= read -r offer; do
    case "$offer" in
      # bash 3 has no compopt.
      :files) compopt -o default 2>/dev/null || COMPREPLY+=($(compgen -f -- "$plain")) ;;
      :folders) compopt -o dirnames 2>/dev/null || COMPREPLY+=($(compgen -d -- "$plain")) ;;
      *) if [[ -n "$quote" ]]; then COMPREPLY+=("$offer"); else COMPREPLY+=("$(printf %q "$offer")"); fi ;;
    esac
  done < <("$program" complete -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$plain" 2>/dev/null </dev/null | sed "$escape")
}
complete -F _anteroom anteroom
