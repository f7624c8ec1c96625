"""From the bytes of a source file to its syntax tree, or to one sentence on why there is none."""

from __future__ import annotations

import ast
import hashlib
import platform
import warnings


class UnparsedError(Exception):
    """A file that this Python cannot parse; its text is the reason."""


def parsed(content: bytes) -> ast.Module:
    """The syntax tree; raises UnparsedError.

    Honours coding cookies and byte order marks, as Python does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes of other people's sources
        try:
            return ast.parse(content)
        except SyntaxError as error:
            raise UnparsedError(_told(error)) from error
        except (ValueError, LookupError) as error:
            raise UnparsedError(f"not Python text: {error}") from error
        except (RecursionError, MemoryError) as error:
            raise UnparsedError("nested too deep") from error


def _told(error: SyntaxError) -> str:
    words = str(error.msg).removeprefix("(unicode error) ")
    where = f"line {error.lineno}: " if error.lineno else ""
    return f"{where}{words} (as Python {platform.python_version()} reads it)"


_LEADS_NOWHERE = {"ctx", "op", "ops", "id", "attr", "kind", "type_comment", "level", "simple"}
_HOLDING: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes below a node, in order, without contexts and operator signs.

    Quicker than ast.iter_child_nodes: half the time of reading a plugin goes by here.
    """
    names = _HOLDING.get(type(node))
    if names is None:
        names = tuple(name for name in node._fields if name not in _LEADS_NOWHERE)
        _HOLDING[type(node)] = names
    found: list[ast.AST] = []
    for name in names:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def dotted(node: ast.expr | None) -> str:
    """`a.b.c` for a chain of names; "" for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def as_written(node: ast.expr | None, limit: int = 200) -> str | None:
    """An expression in Python's own spelling; a long one is cut, and ends in a digest of it all."""
    if node is None:
        return None
    text = repr(node.value) if isinstance(node, ast.Constant) else dotted(node)
    text = text or ast.unparse(node)
    if len(text) <= limit:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{text[: limit - 9]}…{digest}"


_WRAPPERS = {"Optional", "Annotated", "ClassVar", "Final", "InitVar", "Required", "NotRequired"}


def class_named(annotation: ast.expr | None) -> str:
    """The one class an annotation names (`Optional["a.B"]` and `B | None` too); "" otherwise."""
    name = ""
    if isinstance(annotation, ast.Name | ast.Attribute):
        name = dotted(annotation)
    elif isinstance(annotation, ast.Constant):
        name = _quoted(annotation.value)
    elif isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        name = _only(annotation.left, annotation.right)
    elif isinstance(annotation, ast.Subscript):
        name = _wrapped(annotation)
    return "" if name in ("Any", "object", "None") else name


def _wrapped(annotation: ast.Subscript) -> str:
    outer, inner = dotted(annotation.value).rpartition(".")[2], annotation.slice
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if outer == "Union":
        return _only(*parts)
    return class_named(parts[0]) if outer in _WRAPPERS and parts else ""


def _quoted(value: object) -> str:
    if not isinstance(value, str):
        return ""
    try:
        return class_named(ast.parse(value, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return ""


def _only(*parts: ast.expr) -> str:
    """The class of a union whose other members are None."""
    left = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is None)]
    return class_named(left[0]) if len(left) == 1 else ""
