"""
Type what pages of the documentation have in Python and for the console, in its order.

The first page is the quick start. Each of the others is typed into a copy of the
project that it leaves, with what is in ``typed``, and with the apps of ``contrib`` that
the page names. Lines go into the file that the first of them names; settings into the
settings; other lines with imports of their own into a shell; the rest into the module
of sitemaps, where a class of the same name, or the one before, is edited. A command
runs in a fork of this process, which has imported Django already. Behind a comment that
begins with "Not run" nothing is typed, or no line that has what it names.

Written as JSON: for each page what failed, and where.
"""

from __future__ import annotations

import ast
import builtins
import dis
import io
import json
import os
import re
import shlex
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from textwrap import indent
from types import CodeType
from typing import Any

import django
import django.contrib.admin
import django.db.backends.sqlite3.base
from django.core.management import call_command, execute_from_command_line
from django.core.management.commands import shell

import django_sitemaps_plus

BLOCK = re.compile(
    r"^(?:<!-- (?P<off>Not run(?: with \"(?P<what>[^\"]+)\")?): [^>]+ -->\n+)?"
    r"```(?P<language>python|console)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SETTINGS, SITEMAPS = "mysite/settings.py", "news/sitemaps.py"
#: What is typed into a shell.
SHELL = "typed.py"
#: So that sections have rows, of which methods are called.
ROWS = """
from news.models import *
from shop.models import *
Article.objects.create(slug="first")
Note.objects.create(slug="first")
Shop.objects.create(slug="first").menus.create()
Story.objects.create(slug="first", title="First")
product = Product.objects.create(
    slug="first", name="A", summary="B", cover="a.png", film="a.mp4"
)
product.photos.create(file="b.png")
product.clips.create(title="C", still="c.png", file="c.mp4")
"""
BESIDE = Path(__file__).parent / "typed"


def forked(work: Callable[[], object], folder: Path) -> str:
    """Do something in a process of its own; return why it failed, else ""."""
    read, write = os.pipe()
    if not (child := os.fork()):
        said = io.StringIO()
        status = 1
        try:
            os.chdir(folder)
            sys.path.insert(0, str(folder))
            os.environ["DJANGO_SETTINGS_MODULE"] = "mysite.settings"
            with redirect_stdout(said), redirect_stderr(said):
                work()
            status = 0
        except SystemExit as error:
            status = 1 if error.code else 0
            said.write(str(error.code))
        except BaseException:
            said.write(traceback.format_exc(limit=-4))
        with open(write, "w") as pipe:
            pipe.write(said.getvalue() if status else "")
        os._exit(status)
    os.close(write)
    with open(read) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return said or "It said nothing." if status else ""


class Page:
    """What one page has to be typed, and the folder that it is typed in."""

    def __init__(self, text: str, folder: Path) -> None:
        self.text = text.replace("<your key>", "0123456789abcdef")
        self.folder = folder
        self.written: dict[str, None] = {}
        #: The module and the class that fragments belong to.
        self.sitemaps, self.edited = SITEMAPS, "ArticleSitemap"

    def failures(self) -> Iterator[str]:
        """Type everything; yield where something failed, and why."""
        for block in BLOCK.finditer(self.text):
            if block["off"] and not block["what"]:
                continue
            if block["language"] == "python":
                failure = self.python(block["text"])
            else:
                failure = self.console(block["text"], block["what"])
            if failure:
                line = self.text.count("\n", 0, block.start("text"))
                yield f"line {line}: {failure}"
        installed = self.written and "pip uninstall" not in self.text
        last = ["build_sitemaps"] if installed else []
        for command in [*last, "test"] if "news/tests.py" in self.written else last:
            if failure := self.django("manage.py", command):
                yield f"at the end, {command}: {failure}"

    def python(self, text: str) -> str:
        """Add lines to their files; a shell runs them at once."""
        _, *parts = re.split(r"^# ([\w/]+\.py)\b", text, flags=re.MULTILINE)
        files = [*zip(parts[::2], parts[1::2], strict=True)] or [self.placed(text)]
        failure = ""
        for name, part in files:
            if name.endswith("settings.py") and SETTINGS in self.written:
                failure = failure or self.django("manage.py")  # before they change
            self.add(name, f"#{part}" if parts else part)
        if SHELL in self.written:
            failure = failure or self.django("manage.py")
            del self.written[SHELL]
        return failure

    def placed(self, text: str) -> tuple[str, str]:
        """Return the file of lines that do not name it, and what to add there."""
        *_, last = body = ast.parse(text).body
        if isinstance(last, ast.Expr) and isinstance(last.value, ast.Dict):
            return SETTINGS, f'SITEMAPS_PLUS["ROBOTS"] = [{text}]'
        defined = any(isinstance(node, ast.ClassDef | ast.FunctionDef) for node in body)
        if not defined and re.search(r"^[A-Z_]+ (\|?|\+)= ", text, re.MULTILINE):
            return SETTINGS, text
        if any(map(is_import, body)) and "Sitemap)" not in text:
            return "news/tests.py" if "TestCase" in text else SHELL, text
        if not any(isinstance(node, ast.ClassDef) for node in body):
            text = f"class {self.edited}:\n{indent(text, '    ')}"
        return self.sitemaps, text

    def add(self, name: str, text: str) -> None:
        """Add text to a file."""
        if name in ("settings.py", "urls.py"):
            name = f"mysite/{name}"
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        former = path.read_text() if path.exists() else ""
        if name.endswith("sitemaps.py"):
            text = merged(former, text)
            self.sitemaps = name
            registered = re.findall(r"^@register.*\nclass (\w+)\(Sitemap", text, re.M)
            self.edited = (registered or [self.edited])[-1]
        elif name != SHELL:
            text = f"{former}\n{text}"
        if name == SETTINGS:
            text += "\nINSTALLED_APPS = list(dict.fromkeys(INSTALLED_APPS))\n"
        path.write_text(text)
        self.written[name] = None

    def django(self, *words: str) -> str:
        """Look at what was written, check the project, and run a command."""

        def work() -> None:
            if words[0] == "manage.py":
                django.setup()
                for name in self.written:
                    look(self.folder, name)
                call_command("check", stdout=io.StringIO())
            if len(words) > 1:
                execute_from_command_line(list(words))

        return forked(work, self.folder)

    def console(self, text: str, without: str | None) -> str:
        """Type each line behind a "$"; what pip would install is there already."""
        failure = ""
        for line in re.findall(r"^\$ (.+)$", text.replace("\\\n", ""), re.MULTILINE):
            words = shlex.split(re.sub(r"^python (-W \S+ )?", "", line))
            if without and without in line:
                continue
            if words[0] == "cd":
                self.folder /= words[1]
            elif words[0] == "-c":
                failure = forked(partial(exec, words[1], {}), self.folder)
            elif "pip" not in words and words[-1] != "runserver":
                failure = self.django(*words)
            if failure:
                return f"{line}\n{failure}"
        return ""


def look(folder: Path, name: str) -> None:
    """Import a module, or run it in a shell: each name in it is of something."""
    path = folder / name
    code = compile(path.read_text(), str(path), "exec")
    if name == SHELL:
        found = shell.Command().get_namespace(verbosity=0)
        exec(code, found)  # noqa: S102 (what the page says)
    elif name == SETTINGS:
        return
    else:
        found = vars(import_module(name.removesuffix(".py").replace("/", ".")))
    if missing := sorted({*unknown(code, found)}):
        raise NameError(f"{name} has no {', '.join(missing)}")


def merged(former: str, added: str) -> str:
    """Return both, with the imports first, and classes edited where they are."""
    tree, new = ast.parse(former), ast.parse(added)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    imports = [node for node in new.body if is_import(node)]
    for node in new.body:
        known = classes.get(getattr(node, "name", ""))
        if known and isinstance(node, ast.ClassDef):
            named = set(map(name_of, node.body))
            kept = [line for line in known.body if name_of(line) not in named]
            known.body = [*kept, *node.body]
            known.bases = node.bases or known.bases
            known.decorator_list = node.decorator_list or known.decorator_list
        elif node not in imports:
            tree.body.append(node)
    last = max([n for n, node in enumerate(tree.body) if is_import(node)], default=-1)
    tree.body[last + 1 : last + 1] = imports
    return ast.unparse(tree)


def is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def name_of(node: ast.stmt) -> str:
    """Return what a line in a class defines."""
    (target,) = getattr(node, "targets", [node])
    return getattr(target, "name", "") or getattr(target, "id", "")


def unknown(code: CodeType, known: dict[str, Any]) -> Iterator[str]:
    """Yield the names that functions look for, and that nothing has."""
    there = {*known, *dir(builtins)}
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval not in there:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from unknown(constant, known)


def imported(folder: Path) -> None:
    """Import what a project of the quick start has, so that its forks need not."""
    read = folder / "imported.txt"

    def work() -> None:
        django.setup()
        call_command("check", stdout=io.StringIO())
        read.write_text("\n".join(sys.modules))

    assert not forked(work, folder)
    for name in read.read_text().split():
        if name.startswith(("django.", "django_sitemaps_plus.")):
            with suppress(Exception):  # models, which need settings
                import_module(name)


def add_what_pages_take_for_granted(folder: Path) -> None:
    """Give the project more models and patterns."""
    shutil.copytree(BESIDE / "all", folder, dirs_exist_ok=True)
    for name, line in {
        SETTINGS: """INSTALLED_APPS += ["shop"]\nALLOWED_HOSTS = ["www.example.com"]""",
        "mysite/urls.py": 'urlpatterns += [path("", include("further_urls"))]',
        SITEMAPS: "from .models import *\nfrom shop.models import *",
    }.items():
        with (folder / name).open("a") as file:
            file.write(f"\n{line}\n")
    page = Page("", folder)
    for words in (
        ["makemigrations", "news", "shop"],
        ["migrate"],
        ["shell", "-c", ROWS],
    ):
        failure = page.django("manage.py", *words)
        assert not failure, failure


def prepared(page: Path, folder: Path) -> Page:
    """Return a page and its project, with the apps of ``contrib`` that it names."""
    if (BESIDE / page.stem).exists():
        shutil.copytree(BESIDE / page.stem, folder, dirs_exist_ok=True)
    typed = Page(page.read_text(), folder)
    contrib = Path(django_sitemaps_plus.__file__).parent / "contrib"
    named = re.findall(r"\b(django_sitemaps_plus\.contrib\.(\w+))", typed.text)
    if apps := [app for app, name in named if (contrib / name / "apps.py").exists()]:
        typed.add(SETTINGS, f"INSTALLED_APPS += {apps}")
        failure = typed.django("manage.py", "migrate")
        assert not failure, failure
    return typed


def main() -> None:
    quickstart, *pages = map(Path, sys.argv[1:])
    start = Path.cwd() / "quickstart"
    start.mkdir()
    first = Page(quickstart.read_text(), start)
    failed = {quickstart.name: list(first.failures())}
    add_what_pages_take_for_granted(first.folder)
    imported(first.folder)
    for page in pages if not failed[quickstart.name] else []:
        folder = Path.cwd() / page.stem
        shutil.copytree(first.folder, folder)
        failed[page.name] = list(prepared(page, folder).failures())
    sys.stdout.write(json.dumps(failed))


if __name__ == "__main__":
    main()
