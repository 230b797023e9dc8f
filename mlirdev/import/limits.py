"""Why a node that has a lowering can't use it: the table of known limits, read without MLIR."""

from __future__ import annotations

from collections.abc import Callable

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node, Ref, Size, TensorSpec

Specs = tuple[TensorSpec, ...]
_DTYPES = frozenset({DType.f8e5m2, DType.f8e4m3fn, DType.u16, DType.u32, DType.u64})


def limit(node: Node, specs: Specs) -> str | None:
    """The reason, or None."""
    seen = [specs[o].dtype for o in node.operands()] + [s.dtype for s in node.results]
    unknown = next((d for d in seen if d in _DTYPES), None)
    if unknown is not None:
        return f"no lowering for {unknown}"
    rule = _LIMITS.get(node.op)
    return None if rule is None else rule(node, specs)


def _spec(arg: Arg, specs: Specs) -> TensorSpec:
    assert isinstance(arg, Ref)
    return specs[arg.value]


def _by_mask(node: Node, specs: Specs) -> str | None:
    """Bool indices: recording replaces them, but for one alone that values are put by."""
    indices = node.args[1]
    assert isinstance(indices, tuple)
    given = [i for i in indices if isinstance(i, Ref)]
    masks = [i for i in given if specs[i.value].dtype in (DType.i1, DType.u8)]
    if not masks:
        return _into_empty(node, specs)
    if "index_put" not in node.op:
        return "a bool index gives a size that is known only when run"
    return None if len(given) == 1 else "a bool index among others"


def _into_empty(node: Node, specs: Specs) -> str | None:
    """No index fits a dim of size 0; the host raises what PyTorch raises."""
    shape = _spec(node.args[0], specs).shape
    return "indices into a dim of size 0" if 0 in shape and 0 not in node.results[0].shape else None


def _negative_power(node: Node, specs: Specs) -> str | None:
    exponent = node.args[1]
    dtype = node.results[0].dtype
    negative = isinstance(exponent, int) and exponent < 0 and not (dtype.is_float or dtype.is_complex)
    return "an integer to a negative power" if negative else None


def _runtime_spatial(node: Node, specs: Specs) -> str | None:
    """Windows and scales are worked out when compiled: dims after the second have to be known then."""
    shapes = [specs[o].shape for o in node.operands()] + [s.shape for s in node.results]
    known = all(isinstance(d, int) for shape in shapes for d in shape[2:])
    return None if known else "a spatial size that is known only when run"


def _by_frequency(node: Node, specs: Specs) -> str | None:
    """The CPU takes some index's frequency for another's; the host has the same values."""
    return "gradients of bags by frequency" if node.args[6 if "dense" in node.op else 7] else None


def _resampled(node: Node, specs: Specs) -> str | None:
    """uint8 images are resampled in fixed-point arithmetic of several steps."""
    return "resampling in fixed point" if node.results[0].dtype is DType.u8 else _runtime_spatial(node, specs)


def _runtime_amounts(node: Node, specs: Specs) -> str | None:
    amounts = node.args[1]
    known = not isinstance(amounts, tuple) or all(not isinstance(a, Size) or isinstance(a.value, int) for a in amounts)
    return None if known else "padding that is known only when run"


Limit = Callable[[Node, Specs], "str | None"]
_SPATIAL = [
    *(f"aten.avg_pool{d}d{b}.default" for d in (1, 2, 3) for b in ("", "_backward")),
    *(f"aten.max_pool{d}d_with_indices{b}.default" for d in (2, 3) for b in ("", "_backward")),
    *(f"aten._adaptive_avg_pool{d}d{b}.default" for d in (2, 3) for b in ("", "_backward")),
    *(f"aten.{n}_max_pool{d}d.default" for n in ("adaptive", "fractional") for d in (2, 3)),
    *(f"aten.upsample_{n}{b}.{o}"
      for n in ("nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "trilinear3d")
      for b in ("", "_backward") for o in ("default", "vec")),
    *(f"aten._upsample_{n}2d_aa{b}.default" for n in ("bilinear", "bicubic") for b in ("", "_backward")),
    "aten.convolution_backward.default",
]  # fmt: skip
_LIMITS: dict[str, Limit] = {
    **dict.fromkeys(
        (
            "aten.index.Tensor",
            "aten._unsafe_index.Tensor",
            *(f"aten.{n}.default" for n in ("index_put", "_unsafe_index_put", "_index_put_impl")),
        ),
        _by_mask,
    ),
    **dict.fromkeys(("aten.embedding.default", "aten.gather.default", "aten.index_select.default"), _into_empty),
    "aten.pow.Tensor_Scalar": _negative_power,
    **dict.fromkeys((f"aten._embedding_bag_{d}backward.default" for d in ("", "dense_")), _by_frequency),
    **dict.fromkeys(_SPATIAL, _runtime_spatial),
    **dict.fromkeys(
        (f"aten.{n}.{o}" for n in ("upsample_bilinear2d", "upsample_bicubic2d") for o in ("default", "vec")), _resampled
    ),
    **dict.fromkeys((f"aten._upsample_{n}2d_aa.default" for n in ("bilinear", "bicubic")), _resampled),
    "aten.constant_pad_nd.default": _runtime_amounts,
}
