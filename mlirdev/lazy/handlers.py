"""The tables of handlers written by hand: overload name without its namespace ("copy_", "mean.dim") → handler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

HANDLERS: dict[str, Callable[..., Any]] = {}
# Written in PyTorch's ops, whose derivatives are theirs.
COMPOSITES: dict[str, Callable[..., Any]] = {}
# What runs in place of a node where values decide the result's size; by the functional overload's name.
SELECTIONS: dict[str, Callable[..., Any]] = {}


def handles(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the handler of these overloads."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        HANDLERS.update(dict.fromkeys(names, function))
        return function

    return add


def composes(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the composition of these overloads."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        COMPOSITES.update(dict.fromkeys(names, function))
        return function

    return add


def selects(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function for calls of these overloads whose result's size depends on values."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        SELECTIONS.update(dict.fromkeys(names, function))
        return function

    return add
