"""Calls of linear algebra: shapes of all kinds, and matrices that can't be factored."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import torch

from .cases import Case

L = torch.linalg
aten = torch.ops.aten
INF, NAN = float("inf"), float("nan")
SQUARE = [(1, 1), (5, 5), (2, 1, 3, 3), (0, 3, 3), (2, 0, 0)]
OBLONG = [(3, 5), (2, 5, 3), (4, 1), (0, 3), (3, 0)]
BOTH = (False, True)
SINGULAR = [[[1, 2], [2, 4]], [[0, 0], [0, 0]], [[0, 1], [0, 1]], [[NAN, 0], [0, 1]], [[1, 2], [INF, 1]]]


class _Kind:
    """Operands of one dtype, and the cases."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def r(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, dtype=self.dtype)

    def all_of(self, shapes: list[tuple[int, ...]]) -> list[torch.Tensor]:
        return [self.r(*shape) for shape in shapes]

    def given(self, *values: object) -> list[torch.Tensor]:
        return [torch.tensor(v, dtype=self.dtype) for v in values]

    def positive(self, a: torch.Tensor) -> torch.Tensor:
        return a @ a.mT + torch.eye(a.shape[-1], dtype=self.dtype)

    def heavy(self, a: torch.Tensor) -> torch.Tensor:
        """With a diagonal that keeps triangular solves tame."""
        return a + 4 * torch.eye(a.shape[-1], dtype=self.dtype)

    def beside(self, a: torch.Tensor, left: bool = True) -> torch.Tensor:
        return self.r(*a.shape[:-1], 2) if left else self.r(*a.shape[:-2], 3, a.shape[-1])

    def cholesky(self) -> Iterator[object]:
        for a, upper in itertools.product(self.all_of(SQUARE), BOTH):
            yield L.cholesky_ex(self.positive(a), upper=upper)
            yield torch.cholesky_solve(self.beside(a), self.positive(a), upper)
            yield torch.cholesky_inverse(self.heavy(a), upper)
        for a in self.given(*SINGULAR, [[1, 2], [2, 1]], [[-1, 0], [0, 1]], [[4, 2, 0], [2, 1, 0], [0, 0, 1]]):
            yield L.cholesky_ex(a)

    def lu(self) -> Iterator[object]:
        for a in self.all_of(SQUARE + OBLONG) + self.given(*SINGULAR, [[0, 1, 2], [0, 0, 3], [0, 0, 1]]):
            factors, pivots, _ = L.lu_factor_ex(a)
            yield torch.lu_unpack(factors, pivots), L.lu(a)
            if a.dim() > 2:
                yield [torch.lu_unpack(factors, pivots, *flags) for flags in itertools.product(BOTH, BOTH)]
        for a in [*self.all_of(SQUARE), torch.zeros(3, 3, dtype=self.dtype)]:
            yield aten._linalg_det(a), aten._linalg_slogdet(a)

    def solve(self) -> Iterator[object]:
        for a in self.all_of(SQUARE):
            yield aten._linalg_solve_ex(a, self.beside(a)), aten._linalg_solve_ex(a, self.beside(a, False), left=False)
            yield aten._linalg_solve_ex(a, self.r(*a.shape[:-1])), L.inv_ex(a)
            factors, pivots, _ = L.lu_factor_ex(a)
            for left, adjoint in itertools.product(BOTH, BOTH) if a.dim() > 2 else [(True, False)]:
                yield L.lu_solve(factors, pivots, self.beside(a, left), left=left, adjoint=adjoint)
        for a in self.given(*SINGULAR):
            yield aten._linalg_solve_ex(a, torch.eye(2, dtype=self.dtype)), L.inv_ex(a)

    def triangular(self) -> Iterator[object]:
        for upper, left, unit in itertools.product(BOTH, BOTH, BOTH):
            a = self.heavy(self.r(4, 4))
            yield L.solve_triangular(
                a, self.r(2, *self.beside(a, left).shape), upper=upper, left=left, unitriangular=unit
            )
            yield torch.triangular_solve(self.beside(a), a, upper, left, unit)
        for a in self.all_of(SQUARE):
            yield L.solve_triangular(self.heavy(a), self.beside(a), upper=False)
        yield L.solve_triangular(*self.given([[1, 2], [0, 0]], [[1, 0], [0, 1]]), upper=True)

    def qr(self) -> Iterator[object]:
        special = [
            torch.zeros(3, 3, dtype=self.dtype),
            torch.eye(3, dtype=self.dtype),
            self.r(3, 3) * 1e-38,
            self.r(3, 3) * 1e37,
        ]
        for a in self.all_of(SQUARE + OBLONG) + special:
            yield [L.qr(a, mode) for mode in ("reduced", "complete", "r")]
            vectors, tau = torch.geqrf(a)
            if a.shape[-2] < a.shape[-1]:
                continue
            yield L.householder_product(vectors, tau)
            yield L.householder_product(vectors, tau[..., : a.shape[-1] // 2])
            for left, transpose in itertools.product(BOTH, BOTH) if a.dim() > 2 else [(True, False)]:
                other = self.r(*a.shape[:-1], 3) if left else self.r(*a.shape[:-2], 3, a.shape[-2])
                yield torch.ormqr(vectors, tau, other, left, transpose)

    def ldl(self) -> Iterator[object]:
        for a, hollow in itertools.product(self.all_of([*SQUARE, (12, 12)]), BOTH):
            matrix = a + a.mT
            matrix = matrix - torch.diag_embed(matrix.diagonal(0, -2, -1)) if hollow else matrix
            factors, pivots, _ = L.ldl_factor_ex(matrix)
            yield L.ldl_solve(factors, pivots, self.beside(a))
        for a in self.given(
            [[0, 0], [0, 0]], [[0, 1], [1, 0]], [[NAN, 1], [1, 0]], [[1, NAN], [NAN, 0]], [[1, 1], [1, 1]]
        ):
            yield L.ldl_factor_ex(a)

    def exponential(self) -> Iterator[object]:
        for a, size in itertools.product(self.all_of(SQUARE), (1e-9, 0.1, 5.0)):
            yield L.matrix_exp(a * size)
        yield [L.matrix_exp(a) for a in self.given([[0, 0], [0, 0]], [[NAN, 1], [1, 0]], [[300, 1], [1, 300]])]


def matrices(dtype: torch.dtype) -> list[Case]:
    kind = _Kind(dtype)
    cases = [kind.cholesky, kind.lu, kind.solve, kind.triangular, kind.qr, kind.ldl, kind.exponential]
    return [(case.__name__, _all(case)) for case in cases]


def _all(case: Callable[[], Iterator[object]]) -> Callable[[], object]:
    return lambda: list(case())
