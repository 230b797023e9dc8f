"""Upsampling and grid sampling, with their backwards."""

from __future__ import annotations

from typing import Any

from mlirdev.lazy.specs.checks import require, shown
from mlirdev.lazy.specs.layout import suggested_strides
from mlirdev.lazy.specs.types import Meta, OutSpec, Row, Shape, Table, rows


def upsample(rank: int) -> Row:
    def rule(self: Meta, output_size: Shape, *_: Any) -> OutSpec:
        require(
            len(output_size) == rank,
            f"It is expected output_size equals to {rank}, but got size {len(output_size)}",
        )
        require(
            len(self.shape) == rank + 2,
            f"It is expected input_size equals to {rank + 2}, but got size {len(self.shape)}",
        )
        require(
            min(output_size) > 0 and 0 not in self.shape[2:],
            "Input and output sizes should be greater than 0, but got input "
            f"{shown(self.shape[2:])} output {shown(output_size)}",
        )
        shape = (*self.shape[:2], *output_size)
        return OutSpec(shape, self.dtype, suggested_strides(self, shape))

    return rule


def upsample_backward(grad_output: Meta, output_size: Shape, input_size: Shape, *_: Any) -> OutSpec:
    return OutSpec(input_size, grad_output.dtype, suggested_strides(grad_output, input_size))


def contiguous_backward(grad_output: Meta, output_size: Shape, input_size: Shape, *_: Any) -> OutSpec:
    return OutSpec(input_size, grad_output.dtype)


def grid_sampler(input: Meta, grid: Meta, *_: Any) -> OutSpec:
    require(
        input.shape[0] == grid.shape[0],
        "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
        f"{shown(input.shape)} and grid with sizes {shown(grid.shape)}",
    )
    rank = len(input.shape) - 2
    require(
        grid.shape[-1] == rank,
        f"grid_sampler(): expected grid to have size {rank} in last dimension, but got grid with sizes "
        f"{shown(grid.shape)}",
    )
    shape = (*input.shape[:2], *grid.shape[1:-1])
    return OutSpec(shape, input.dtype)


def grid_sampler_backward(grad_output: Meta, input: Meta, grid: Meta, *options: Any) -> tuple[OutSpec | None, ...]:
    mask = options[-1]
    return (OutSpec(input.shape, input.dtype) if mask[0] else None, OutSpec(grid.shape, grid.dtype))


TABLE: Table = {
    **rows(upsample(1), "upsample_nearest1d upsample_linear1d _upsample_nearest_exact1d"),
    **rows(upsample(2), "upsample_nearest2d upsample_bilinear2d upsample_bicubic2d _upsample_nearest_exact2d"),
    **rows(upsample(2), "_upsample_bilinear2d_aa _upsample_bicubic2d_aa"),
    **rows(upsample(3), "upsample_nearest3d upsample_trilinear3d _upsample_nearest_exact3d"),
    **rows(upsample_backward, "upsample_nearest1d_backward upsample_linear1d_backward"),
    **rows(upsample_backward, "_upsample_nearest_exact1d_backward upsample_nearest2d_backward"),
    **rows(upsample_backward, "_upsample_nearest_exact2d_backward upsample_bilinear2d_backward"),
    **rows(upsample_backward, "_upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward"),
    **rows(upsample_backward, "upsample_trilinear3d_backward"),
    **rows(contiguous_backward, "upsample_bicubic2d_backward upsample_nearest3d_backward"),
    **rows(contiguous_backward, "_upsample_nearest_exact3d_backward"),
    **rows(grid_sampler, "grid_sampler_2d grid_sampler_3d"),
    **rows(grid_sampler_backward, "grid_sampler_2d_backward grid_sampler_3d_backward"),
}
