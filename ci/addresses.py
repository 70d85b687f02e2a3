#!/usr/bin/env python3
"""Writes where the project lives into a copy of its tree, which packages are made from (ci/dist.sh).

    ci/addresses.py TREE [URL]

With a URL the packages name it, and the pages that a registry shows link to the files there. Without one they name
none, and a link to a page of one of our crates goes to its documentation; of others only the words stay. Relative links
are dead on a registry, but for those from one page of a package to another.

>>> pages = {"crates/index": "https://docs/index"}
>>> text = "[i](../index/README.md#maps), [u](../../UPGRADE.md), [own](#own), [b](B.md)\\n```\\na[0](../x)\\n```\\n"
>>> print(mended(text, "crates/judy", {"crates/judy/B.md"}, lambda path: pages.get(path.removesuffix("/README.md"))))
[i](https://docs/index), u, [own](#own), [b](B.md)
```
a[0](../x)
```
<BLANKLINE>
>>> print(mended("[u](../../UPGRADE.md#a)", "crates/judy", set(), lambda path: "https://here/" + path))
[u](https://here/UPGRADE.md#a)
"""

import os
import posixpath
import re
import sys
from pathlib import Path

LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
# Pages that one package shows together.
TOGETHER = {f"erlang/{name}.md" for name in ("README", "FROM_ETS", "USES")}


def mended(text, folder, kept, address):
    """Return a page of `folder` with its relative links as `address` gives them; those to `kept` stay."""

    def link(match):
        words, target, anchor = match.groups(default="")
        path = posixpath.normpath(posixpath.join(folder, target))
        if path in kept:
            return match[0]
        to = address(path)
        # A page of documentation has anchors of its own.
        return f"[{words}]({to}{anchor if to.endswith(path) else ''})" if to else words

    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def addresses(tree, url):
    """Return the function that tells where a file or folder of the tree can be seen, or None."""
    pages = {}
    for manifest in tree.glob("crates/*/Cargo.toml"):
        line = re.search(r'^documentation = "(.*)"', manifest.read_text(), re.MULTILINE)
        pages[str(manifest.parent.relative_to(tree))] = line and line[1]

    def address(path):
        if not (tree / path).exists():
            sys.exit(f"addresses: a page links to {path}, which is not there")
        if url:
            return f"{url}/{'tree' if (tree / path).is_dir() else 'blob'}/HEAD/{path}"
        return pages.get(path.removesuffix("/README.md"))

    return address


def write(path, text):
    """Write a file whose time stays: what cargo has built of it is as good as before."""
    times = path.stat()
    path.write_text(text)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def replace(path, old, new):
    text = path.read_text()
    if old not in text:
        sys.exit(f"addresses: {path} does not say {old.strip()}")
    write(path, text.replace(old, new))


def name(tree, url):
    """Write the address into what describes the packages."""
    ours = 'license = "Apache-2.0 OR MIT"\n'
    replace(tree / "Cargo.toml", ours, f'{ours}repository = "{url}"\n')
    inherited = "license.workspace = true\n"
    for manifest in [*tree.glob("crates/*/Cargo.toml"), tree / "crates/dthreads/preload/Cargo.toml"]:
        replace(manifest, inherited, inherited + "repository.workspace = true\n")
    options = "[project.optional-dependencies]\n"
    replace(tree / "python/pyproject.toml", options, f'[project.urls]\nRepository = "{url}"\n\n{options}')
    replace(tree / "erlang/mix.exs", "links: %{}", f'links: %{{"Repository" => "{url}"}}')
    replace(tree / "erlang/README.md", "https://.../fyris.git", url)


def main():
    tree, url = Path(sys.argv[1]), (sys.argv[2] if len(sys.argv) > 2 else "").rstrip("/")
    if url and not re.fullmatch(r"https?://[\w.~/:-]+", url):
        sys.exit(f"addresses: not the address of a project: {url}")
    address = addresses(tree, url)
    shown = [*tree.glob("crates/**/README.md"), tree / "python/README.md", tree / "CHANGELOG.md"]
    for page in [*shown, *(tree / path for path in sorted(TOGETHER))]:
        path = str(page.relative_to(tree))
        kept = TOGETHER if path in TOGETHER else set()
        write(page, mended(page.read_text(), posixpath.dirname(path), kept, address))
    if url:
        name(tree, url)
    print(f"dist: packages name {url}" if url else "dist: packages name no address (FYRIS_URL=https://...)")


if __name__ == "__main__":
    main()
