#!/usr/bin/env python3
"""The licence texts of what is inside a program or a library: Fyris, the crates linked in, and Rust's own library.

    ci/notices.py MANIFEST TARGET PACKAGE... >LICENSE-THIRD-PARTY

A crate is named with its licence and its texts, which stand in its folder or below (C sources have theirs); equal texts
are printed once. A crate without one ends it, but for two that say the same elsewhere: where Apache-2.0 may be chosen
our own copy of it is given, and of MIT the permission is, under the copyright in the crate's sources. Macros that only
run while compiling are not inside.
"""

import html
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMED = re.compile(r"(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE)
SHORT = "Licences of what is inside. Numbers are those of the texts below.\n"


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def fail(what):
    sys.exit(f"notices: {what}")


def texts_in(folder):
    """Return name and text of each licence file in `folder` and below."""
    files = sorted(path for path in folder.rglob("*") if NAMED.match(path.name) and path.is_file())
    return [(str(path.relative_to(folder)), path.read_text(errors="replace")) for path in files if path.suffix != ".rs"]


def stand_in(name, licence, folder):
    """Return what says the licence of a crate that has no text of its own."""
    if "Apache-2.0" in licence:
        return [("Apache-2.0", (ROOT / "LICENSE-APACHE").read_text())]
    sources = "\n".join(path.read_text() for path in sorted(folder.rglob("*.rs")))
    owners = sorted(set(re.findall(r"^\W*(Copyright .*)$", sources, re.MULTILINE)))
    if licence != "MIT" or not owners:
        fail(f"{name} has the licence {licence} and no text of it")
    ours, permission = (ROOT / "LICENSE-MIT").read_text().split("\n\n", 2)[::2]
    return [("MIT", "\n\n".join([ours, "\n".join(owners), permission]))]


def crates(manifest, target, packages):
    """Yield title and texts of each crate that is linked into `packages`, Fyris first."""
    where = ["--locked", "--manifest-path", manifest]
    chosen = [word for package in packages for word in ("-p", package)]
    tree = ["--target", target, "-e", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
    linked = {tuple(line.split()[:2]) for line in said("cargo", "tree", *where, *chosen, *tree).splitlines() if line}
    yield "Fyris: Apache-2.0 OR MIT", [(name, (ROOT / name).read_text()) for name in ("LICENSE-APACHE", "LICENSE-MIT")]
    for package in json.loads(said("cargo", "metadata", *where, "--format-version", "1"))["packages"]:
        name, licence, folder = package["name"], package["license"] or "", Path(package["manifest_path"]).parent
        if package["source"] and (name, f"v{package['version']}") in linked:
            yield f"{name} {package['version']}: {licence}", texts_in(folder) or stand_in(name, licence, folder)


def library_of_rust():
    """Yield title and texts of Rust's standard library and of the crates in it, from the page that comes with Rust."""
    docs = Path(said("rustc", "--print", "sysroot").strip()) / "share/doc/rust"
    page = docs / "COPYRIGHT-library.html"
    if not page.exists():
        fail(f"no {page}: its notices come with Rust as rustup installs it")
    own, *inside = re.split(r"<h3>\W*", page.read_text())
    own = own.split('<h2 id="in-tree-files">')[1].split("<h2")[0]
    own = re.sub(r"\n\s*\n\s*", "\n", html.unescape(re.sub(r"<[^>]*>", "", own))).strip() + "\n"
    texts = [(path.stem, path.read_text()) for path in sorted((docs / "licenses").iterdir()) if path.stem in own]
    yield "Rust's standard library: Apache-2.0 OR MIT", [("by file", own), *texts]
    for part in inside:
        name, licence = re.search(r"(.*?)</h3>.*?<b>License:</b> (.*?)</p>", part, re.DOTALL).groups()
        texts = re.findall(r"<code>([^<]*)</code></summary>\s*<pre>(.*?)</pre>", part, re.DOTALL)
        yield f"in Rust's standard library, {name}: {licence}", [(file, html.unescape(text)) for file, text in texts]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    numbers, texts = {}, []
    print(SHORT)
    for title, found in [*crates(sys.argv[1], sys.argv[2], sys.argv[3:]), *library_of_rust()]:
        parts = []
        for name, text in found:
            same = " ".join(text.split())
            if same not in numbers:
                numbers[same] = len(texts) + 1
                texts.append(text.strip("\n"))
            parts.append(f"{name} [{numbers[same]}]")
        print(f"* {title}" + (f": {', '.join(parts)}" if parts else ""))
    for number, text in enumerate(texts, 1):
        print(f"\n{'=' * 32} [{number}] {'=' * 32}\n\n{text}")


main()
