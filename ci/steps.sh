# For the scripts that run one step after the other: `step TITLE` says what comes next and when.
begun=$SECONDS
step() {
  local passed=$((SECONDS - begun))
  printf '\n== [%02d:%02d] %s\n' $((passed / 60)) $((passed % 60)) "$*"
}
