# Makes a manual page of each function in fyris.h: awk -v to=FOLDER -v version=VERSION -f man.awk fyris.h

function page(name, text, prototype,    file, count, lines, i, line) {
  file = to "/" name ".3"
  line = text
  gsub(/\n/, " ", line)
  if (match(line, /[.:;] /)) line = substr(line, 1, RSTART - 1)
  sub(/\.?[ ]*$/, "", line)
  print ".TH " name " 3 \"\" \"fyris " version "\" \"Fyris\"\n.SH NAME\n" name " \\- " escaped(line) > file
  print ".SH SYNOPSIS\n.nf\n#include <fyris.h>\n\n" escaped(prototype) "\n.fi\n.SH DESCRIPTION" > file
  count = split(text, lines, "\n")
  for (i = 1; i <= count; i++) {
    line = lines[i]
    if (line == "") print ".PP" > file
    else if (line ~ /^- /) print ".IP \\(bu 2\n" escaped(substr(line, 3)) > file
    else print escaped(line) > file
  }
  print ".SH SEE ALSO\nThe beginning of fyris.h says what holds for all functions: errors, threads and memory." > file
  close(file)
}

function escaped(line) {
  gsub(/\\/, "\\e", line)
  gsub(/-/, "\\-", line)
  gsub(/(^|\n)[.']/, "\\\\\\&&", line)
  gsub(/^ +/, "", line)
  return line
}

/^\/\*\*/ { inside = 1; text = ""; next }
inside && /^ \*\// { inside = 0; prototype = ""; next }
inside { sub(/^ \* ?/, ""); text = text (text == "" ? "" : "\n") $0; next }
/^[#}]/ || /^typedef/ || /\{$/ || $0 == "" { text = ""; prototype = ""; next }
text != "" {
  sub(/^FYRIS_MUST_USE */, "")
  prototype = prototype (prototype == "" || $0 == "" ? "" : "\n") $0
  if (/;$/) {
    if (match(prototype, /fyris_[a-z_]+\(/)) page(substr(prototype, RSTART, RLENGTH - 1), text, prototype)
    text = ""
  }
}
