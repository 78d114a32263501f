"""Turn a page into HTML text: templates, style, script, and what forbids the network.

The only module that imports jinja2. A page loads nothing: style and script stand in it,
and its own policy allows no others. Whatever a report brings along is escaped, and
letters that cannot be seen are left out.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from autoloader.report.cleaning import clean
from autoloader.report.html.embedded import script_json

if TYPE_CHECKING:
    from autoloader.report.html.blocks import Page

MARKER = '<meta name="generator" content="autoloader report'
"""What each page of ours has in its head, and no other file."""

MARKER_WITHIN = 4096
"""Bytes of a page within which the marker stands."""


def html_of(page: Page, *, version: str) -> str:
    """Return the text of a page.

    Args:
        page: what it says.
        version: of this package.
    """
    style, script = _resource("page.css"), _resource("page.js")
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            page=page,
            marker=Markup(f'{MARKER} {version}">'),  # noqa: S704  # of our own
            policy=_policy(style, script),
            style=Markup(style),  # noqa: S704  # a file of this package
            script=Markup(script),  # noqa: S704  # a file of this package
            data=None if page.data is None else Markup(script_json(page.data)),  # noqa: S704  # no markup is left in it
        )
    )


def lines_of(text: str) -> str:
    """Return a text of several lines, each made safe to show, its indent kept."""
    return "\n".join(
        line[: len(line) - len(line.lstrip(" "))] + clean(line)
        for line in text.splitlines()
    )


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("autoloader.report.html", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_cleaned,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["lines"] = _lines
    environment.filters["drawing"] = _drawing
    environment.filters["capitalize_first"] = _capitalised
    return environment


def _cleaned(value: object) -> object:
    """Return text without letters that cannot be seen; markup of ours as it stands."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(value).replace(" %", "\u00a0%")  # a number keeps its sign
    return value


def _lines(text: str) -> Markup:
    return Markup("{}").format(lines_of(text))


def _drawing(chart: object) -> Markup:
    """Return a chart as markup: it escapes what it holds."""
    return Markup(str(chart))  # noqa: S704  # `svg.Element` escapes


@cache
def _resource(name: str) -> str:
    return (
        files("autoloader.report.html")
        .joinpath("templates", name)
        .read_text(encoding="utf-8")
    )


def _policy(style: str, script: str) -> str:
    """Return what a browser may do with the page: run our script, show our style."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; "
        f"script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    found = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{found}"


def _capitalised(text: str) -> str:
    """Return a sentence with its first letter as a capital, the others as they are."""
    return text[:1].upper() + text[1:]
