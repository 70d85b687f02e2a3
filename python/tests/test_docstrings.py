"""The examples of the docstrings run, each as the body of a function, where most are copied to."""

import contextlib
import inspect
import os
import re
import textwrap
import uuid

import pytest

import fyris

EXAMPLE = re.compile(r"(?:(?<=\n\n)|^)(?: {4}.*\n+)+", re.MULTILINE)


def documented():
    """Every docstring of the package, by the name of what it is of."""
    yield "fyris", fyris
    for name in fyris.__all__:
        thing = getattr(fyris, name)
        yield name, thing
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_"):
                    yield f"{name}.{member}", value


def examples():
    for name, thing in documented():
        text = inspect.getdoc(thing) or ""
        for found in EXAMPLE.findall(text + "\n"):
            yield pytest.param(textwrap.dedent(found), id=name)


class Told(list):
    """Tables whose subscribers see one change, and then the end."""

    def subscribe(self, **options):
        changes = fyris.subscribe(self, **options)
        for table in self:
            table[1] = "paid"
            table.drop()
        return changes


@pytest.fixture
def scope():
    """What the examples speak of."""
    t, accounts, stock, sales = (fyris.Table() for _ in range(4))
    accounts.update(ada=100, bob=0)
    stock["apples"] = 3
    t[1] = "one"
    told = Told([fyris.Table()])

    class Renamed:
        """The package, with names of segments of this test's own."""

        def __init__(self):
            self.names = set()

        def __getattr__(self, name):
            return getattr(fyris, name)

        def _made(self, kind, name, *args):
            name = f"pytest-{name}-{os.getpid()}-{uuid.uuid4().hex}"
            self.names.add(name)
            return kind(name, *args)

        def Segment(self, *args):
            return self._made(fyris.Segment, *args)

        def VersionedMap(self, *args):
            return self._made(fyris.VersionedMap, *args)

        def subscribe(self, tables, **options):
            return Told(tables).subscribe(**options)

    package = Renamed()
    segment = package.Segment("here", 1 << 20)
    numpy = pytest.importorskip("numpy")
    here = numpy.frombuffer(segment, "f8", 365 * 24).reshape((365, 24))
    yield dict(
        fyris=package, t=t, accounts=accounts, stock=stock, sales=sales, log=fyris.Table(), orders=told, segment=segment,
        here=here,
    )
    for name in package.names:
        fyris.unlink(name)
    with contextlib.suppress(fyris.NoSuchTable):
        fyris.Table.named("edges").drop()


EXAMPLES = list(examples())


def test_they_are_found():
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("example", EXAMPLES)
def test_they_run(example, scope):
    source = "def body():\n" + textwrap.indent(example.replace("import fyris\n", ""), "    ") + "\nbody()\n"
    exec(compile(source, "docstring", "exec"), scope)
