"""What a cell shows: of a notebook that was run before, and of a script that is run now."""

import ast
import io
import re
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

from PIL import Image as Pillow

from experiments.tools.documentation.kept import Kept, code

CELL = re.compile(r"^# %%.*\n", re.M)
COMMENT = re.compile(r"^# ?", re.M)
THUMBNAIL = (440, 300)
DPI = 110.0


def notebook(book: dict[str, Any], kept: Kept) -> str:
    """A notebook as Markdown, with what its cells have said."""
    parts = []
    for cell in book["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif source.strip():
            parts.append(code(source, "python"))
            parts += [_output(one, kept) for one in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any], kept: Kept) -> str:
    if output["output_type"] == "stream":
        return said("".join(output["text"]))
    data = output["data"]
    if "text/html" in data:
        return cell("".join(data["text/html"]), kept)
    return said("".join(data["text/plain"]))


def said(text: str) -> str:
    return code(text, "text") if text.strip() else ""


def cell(html: str, kept: Kept) -> str:
    return kept.keep(f'<div class="cell">{html}</div>')


@dataclass
class Example:
    """A script of the gallery: cells begin with `# %%`, comments after it are text, and the value of a cell's last line
    is shown, as in a notebook."""

    path: Path
    title: str = ""
    about: str = ""
    text: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    thumbnail: bytes = b""

    def run(self, kept: Kept) -> "Example":
        """Run it, and write it down as Markdown."""
        source = self.path.read_text(encoding="utf-8")
        head = ast.get_docstring(ast.parse(source)) or ""
        self.title, _, about = head.partition("\n")
        self.title, self.about = self.title.rstrip("."), about.strip()
        parts, values = [f"# {self.title}\n\n{self.about}\n"], {"__name__": self.path.stem}
        for text in CELL.split(source)[1:]:
            lines = text.split("\n")
            words = [at for at, line in enumerate(lines) if not line.startswith("#")]
            comment, program = lines[: words[0]], "\n".join(lines[words[0] :]).strip()
            parts.append(COMMENT.sub("", "\n".join(comment)))
            if program:
                parts += [code(program, "python"), *self._show(program, values, kept)]
        self.text = "\n\n".join(part for part in parts if part) + "\n"
        if not self.thumbnail:
            raise ValueError(f"{self.path.name} shows no picture; the gallery needs one of every example.")
        return self

    def _show(self, program: str, values: dict[str, Any], kept: Kept) -> list[str]:
        tree, printed = ast.parse(program), io.StringIO()
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(printed):
            exec(self._compiled(tree, "exec"), values)
            value = eval(self._compiled(ast.Expression(last.value), "eval"), values) if last is not None else None  # type: ignore[attr-defined]
        return [said(printed.getvalue()), "" if value is None else self._drawn(value, kept)]

    def _compiled(self, tree: ast.Module | ast.Expression, kind: str) -> CodeType:
        made: CodeType = compile(tree, str(self.path), kind)
        return made

    def _drawn(self, value: Any, kept: Kept) -> str:
        from matplotlib.figure import Figure

        from features import Matching
        from features.plots import figures
        from features.plots.notebook import Animation

        if isinstance(value, Figure):
            name = f"{self.path.stem}-{len(self.files)}.png"
            self.files[name] = figures.save(value, "png", dpi=DPI)
            self._small(self.files[name])
            return f"![{self.title}]({name}){{ .figure }}"
        if isinstance(value, Animation):
            name = f"{self.path.stem}-{len(self.files)}.gif"
            self.files[name] = value.gif
            self._small(value.gif)
            return f"![{self.title}]({name}){{ .figure }}"
        if isinstance(value, Matching):
            self._small(figures.save(figures.bare(value.pair, value.pairs, 6.0), "png", dpi=90))
        if hasattr(value, "_repr_html_"):
            return cell(value._repr_html_(), kept)
        return said(repr(value))

    def _small(self, picture: bytes) -> None:
        """The first picture stands for the example on the gallery's first page."""
        if self.thumbnail:
            return
        opened, out = Pillow.open(io.BytesIO(picture)), io.BytesIO()
        opened.seek(getattr(opened, "n_frames", 1) - 1)  # of a moving picture the last
        drawn = opened.convert("RGBA")
        small = Pillow.alpha_composite(Pillow.new("RGBA", drawn.size, "white"), drawn).convert("RGB")
        small.thumbnail(THUMBNAIL)
        small.save(out, "PNG", optimize=True)
        self.thumbnail = out.getvalue()
