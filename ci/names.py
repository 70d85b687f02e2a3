#!/usr/bin/env python3
"""One name, one thing: fails where a name in the sources misleads. With --write: makes ARCHITECTURE.md's glossary.

* An invariant is stated once, as `**NAME**: ...` in a comment, and cited elsewhere: `(NAME)`, `invariant NAME`, or in
  a SAFETY comment. What is cited is stated. The glossary is what the statements say.
* Source files and folders that comments and documents name exist.
* "pairs with the Acquire in `f`": there is such a function, and such an ordering is in it.
* A type's name stands in one file of a crate, tests apart.
* The comment of a field says what it is, and does not begin with "Returns".
"""
import os
import re
import subprocess
import sys
from collections import defaultdict

GLOSSARY = "ARCHITECTURE.md"
BEGIN, END = "<!-- made by ci/names.py --write -->\n", "<!-- end -->\n"

NAME = r"\b(?!FYRIS_)[A-Z][A-Z_]{2,}\b"
NAMES = rf"{NAME}(?:(?:, | and |, and ){NAME})*"
STATED = re.compile(rf"\*\*({NAME})\*\*:\s((?:.|\n(?!\n|\* |- |\d\. |#))*)")
CITED = re.compile(rf"[Ii]nvariants?\s({NAMES})|\(({NAMES})\)|SAFETY:((?:.|\n)*)")
ABBREVIATIONS = {"SAFETY", "NULL", "AVX"}

LEXERS = {
    ".rs": r"""//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^\\'\n])'""",
    ".erl": r"""%[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\$\\?.""",
}
PATH = r"`([\w/.-]*\w\.(?:rs|erl|py|sh)|(?:%s)/[\w/.-]*\w)/?`"

ORDERINGS = {"Release": "Release|AcqRel|SeqCst", "Acquire": "Acquire|AcqRel|SeqCst|PROTECT", "AcqRel": "AcqRel|SeqCst"}
ORDERINGS |= {"SeqCst": "SeqCst|PROTECT", "PROTECT": "PROTECT"}
ANY = "Relaxed|Release|Acquire|AcqRel|SeqCst|PROTECT"
CLAUSE = re.compile(r"[Pp]airs\swith((?:[^.;`]|`[^`]*`)*)")
PAIR = re.compile(
    r"\b(Release|Acquire|AcqRel|SeqCst|PROTECT|fence|load|store|exchange|swap|addition|write)s?\b"
    r"(?:\s\w+){0,5}?,?\s(?:in|of)((?:,?\s(?:and\s|or\s)?(?:in\s|of\s)?\[?`[^`]+`\]?)+)"
)

VISIBLE = r"(?:pub(?:\([^)]*\))? )?"
FUNCTION = re.compile(rf"^( *){VISIBLE}(?:(?:default|const|async|unsafe|extern) +)*fn (\w+).*$", re.M)
TYPE = re.compile(rf"^ *{VISIBLE}(?:unsafe )?(?:struct|enum|union|trait|type) (\w+)", re.M)
# What is between the braces of an `impl` or a `trait`, as rustfmt writes it: where types are associated ones.
BODY = re.compile(rf"^( *){VISIBLE}(?:unsafe )?(?:impl|trait)\b[^{{;]*\{{(?!\}})(.*?)^\1\}}", re.M | re.S)
TESTS = re.compile(
    rf"#\[cfg\([^\]]*\btest\b[^\]]*\)\]\s*(?:#\[[^\]]*\]\s*)*^( *){VISIBLE}mod (\w+)(?:;| \{{.*?^\1\}})", re.M | re.S
)
FIELD = re.compile(rf"^ */// Returns\b.*\n(?: *(?:///|#\[).*\n)* *{VISIBLE}\w+: ", re.M)

failures = []


def fail(file, line, what):
    failures.append(f"{file}:{line}: {what}")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def listed(*patterns):
    return subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True).stdout.split()


def line_of(text, at):
    return text.count("\n", 0, at) + 1


class Source:
    """A file: its `text`, its `code` (comments and strings blanked), and its `comments`, each a text and a line."""

    def __init__(self, file):
        self.file, self.text = file, open(file, encoding="utf-8").read()
        lexer = LEXERS.get(os.path.splitext(file)[1])
        self.code = re.sub(lexer, blank, self.text, flags=re.S) if lexer else ""
        self.comments = list(self.blocks()) if lexer else [(self.text, 1)]

    def blocks(self):
        block, first = [], 0
        for number, (line, code) in enumerate(zip((self.text + "\n").split("\n"), (self.code + "\n").split("\n")), 1):
            said = re.match(r"\s*(?://[/!]?|%+)(?: (.*))?$", line)
            if said and not code.strip():
                first = first if block else number
                block.append(said[1] or "")
            elif block:
                yield "\n".join(block), first
                block = []


def invariants(sources):
    """Returns where each invariant is stated, and what it says; fails on what is stated twice or not at all."""
    stated, cited = {}, []
    for source in sources:
        for block, first in source.comments:
            for m in STATED.finditer(block) if source.code else ():
                line = first + line_of(block, m.start()) - 1
                if m[1] in stated:
                    fail(source.file, line, f"{m[1]} is stated in {stated[m[1]][0]} too")
                stated.setdefault(m[1], (source.file, m[2]))
            for m in CITED.finditer(re.sub(r"`[^`]*`", blank, block)):
                for group in (1, 2, 3) if source.code else (1,):
                    for n in re.finditer(NAME, m[group] or ""):
                        cited.append((n[0], source.file, first + line_of(block, m.start(group) + n.start()) - 1))
    for name, file, line in cited:
        if name not in stated and name not in ABBREVIATIONS:
            fail(file, line, f"{name} is cited and stated nowhere")
    return stated


def glossary(stated, write):
    """Compares the glossary with the statements, or writes it: the first sentence of each."""
    rows = ["| name | says | stated in |\n|---|---|---|\n"]
    for name, (file, says) in sorted(stated.items()):
        sentence = re.split(r"(?<=[^.])[.;](?:\s|$)", " ".join(says.split()), maxsplit=1)[0]
        sentence = re.sub(r"\[(`[^`]*`)\](?!\()|\[([^\]]*)\]\([^)]*\)", r"\1\2", sentence).replace("|", "\\|")
        rows.append(f"| {name} | {sentence} | `{file}` |\n")
    text = open(GLOSSARY, encoding="utf-8").read()
    before, after = text.index(BEGIN) + len(BEGIN), text.index(END)
    made = text[:before] + "".join(rows) + text[after:]
    if write:
        open(GLOSSARY, "w", encoding="utf-8").write(made)
    elif made != text:
        fail(GLOSSARY, line_of(text, before), "the glossary is stale: ci/names.py --write")


def paths(sources, files):
    """Fails on files and folders that are not there; the name of a crate may stand for its sources."""
    short = lambda path: "/" + re.sub(r"(?:^|(?<=/))(?:\.\.?|crates|src)/", "", path)
    folders = {file[:at.start()] for file in files for at in re.finditer("/", file)}
    ends = "\n".join(map(short, files + sorted(folders))) + "\n"
    roots = "|".join(folder for folder in (f.removeprefix("crates/") for f in folders) if "/" not in folder)
    path = re.compile(PATH % roots)
    for source in sources:
        for block, first in source.comments:
            for m in path.finditer(block):
                if short(m[1]) + "\n" not in ends:
                    fail(source.file, first + line_of(block, m.start()) - 1, f"there is no {m[1]}")


def pairs(sources, crate):
    """Fails on "pairs with the Acquire in `f`" where no function `f` has such an ordering in it."""
    functions = defaultdict(list)
    for source in sources:
        code = source.code
        for m in FUNCTION.finditer(code):
            whole = re.search(r"[;}] *$", m[0])  # On one line, or else up to the brace below its beginning.
            functions[m[2]].append((source, m[0] if whole else code[m.start() : code.find(f"\n{m[1]}}}", m.end())]))
    for source in sources:
        for block, first in source.comments:
            for clause in CLAUSE.finditer(block):
                for m in PAIR.finditer(clause[1]):
                    for name in re.findall(r"`([^`]+)`", m[2]):
                        function = re.split(r"::|\.", name)[-1].strip("()")
                        near = functions[function]
                        if not re.search(rf"\buse [^;]*\b{function}\b", source.code):
                            here = [f for f in near if f[0] is source and "::" not in name]
                            near = here or [f for f in near if crate(f[0].file) == crate(source.file)]
                        line = first + line_of(block, clause.start(1) + m.start()) - 1
                        if not near:
                            fail(source.file, line, f"pairs with `{name}`: there is no such function")
                        elif not any(re.search(rf"\b({ORDERINGS.get(m[1], ANY)})\b", f[1]) for f in near):
                            fail(source.file, line, f"pairs with `{name}`: there is no {m[1]} in it")


def types(sources, crate):
    """Fails on a type's name that stands in several files of a crate."""
    at, tests = defaultdict(dict), []
    for source in sources:
        folder = re.sub(r"(?:/mod|/lib|/main)?\.rs$", "", source.file)
        tests += [f"{folder}/{m[2]}" for m in TESTS.finditer(source.code) if m[0].endswith(";")]
    for source in sources:
        inside = source.file[len(crate(source.file)) :].lstrip("/")
        if not inside.startswith("src/") or any(source.file.startswith((t + ".rs", t + "/")) for t in tests):
            continue
        code = TESTS.sub(blank, source.code)
        code = BODY.sub(lambda m: re.sub(r"\btype \w+", blank, m[0]), code)
        for m in TYPE.finditer(code):
            at[crate(source.file), m[1]].setdefault(source.file, line_of(code, m.start(1)))
    for (_, name), files in at.items():
        for file, line in list(files.items())[1:]:
            fail(file, line, f"a type {name} is in {next(iter(files))} too")


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    files = [file for file in listed() if os.path.exists(file)]
    sources = [Source(f) for f in files if f.endswith((".rs", ".erl", ".md")) or re.match(r"ci/.*\.sh", f)]
    rust = [s for s in sources if s.file.endswith(".rs")]
    manifests = sorted((os.path.dirname(f) for f in files if f.endswith("Cargo.toml")), key=len, reverse=True)
    crate = lambda file: next(m for m in manifests if not m or file.startswith(m + "/"))
    glossary(invariants(sources), "--write" in sys.argv)
    paths(sources, files)
    pairs(rust, crate)
    types(rust, crate)
    for source in rust:
        for m in FIELD.finditer(source.text):
            fail(source.file, line_of(source.text, m.start()), "the comment of a field begins with Returns")
    print("\n".join(failures) or "names: all good")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
