#compdef anteroom
_anteroom() {
  local -a offers
  offers=("${(@f)$("${(Q)~words[1]}" complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
  if (( ${offers[(Ie):files]} )); then _files; fi
  if (( ${offers[(Ie):folders]} )); then _files -/; fi
  offers=(${offers:#:*})
  (( $#offers )) && compadd -- $offers
}
# In fpath, this file is the body of the function. If it is sourced, it registers the function.
if [[ "$funcstack[1]" == _anteroom ]]; then
  _anteroom "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _anteroom anteroom
fi
