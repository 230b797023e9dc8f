"""Autocast on the device, by CUDA's lists (ATen/autocast_mode.h): which ops compute in the fast type, which in
f32, and which in the widest type of their operands. All others fall through.

A parameter that is cast to the fast type stays cast until the outermost region ends, as on CUDA.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_DEVICE_TYPE = "mlirdev"
_KEY = "AutocastPrivateUse1"
_EXCLUDED = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)  # type: ignore[attr-defined]
_FAST = """
_convolution _convolution.deprecated conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_tbc
conv_transpose1d conv_transpose2d.input conv_transpose3d.input convolution prelu addmm addmv addr matmul einsum mm mv
linalg_vecdot linear addbmm baddbmm bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell
lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell scaled_dot_product_attention _scaled_dot_product_flash_attention
"""
_F32 = """
acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar pow.Tensor_Tensor
pow.Scalar softplus layer_norm native_layer_norm group_norm frobenius_norm.dim nuclear_norm nuclear_norm.dim
cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss
smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss
multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp norm.Scalar norm.ScalarOpt_dim
rms_norm upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d _upsample_nearest_exact2d upsample_nearest3d
_upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d
upsample_bicubic2d _upsample_bicubic2d_aa
"""
# These take a dtype= themselves: they are asked for an f32 result where they weren't asked for another.
_F32_BY_DTYPE = """
prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm linalg_matrix_norm
linalg_matrix_norm.str_ord sum sum.dim_IntList
"""
_WIDEST = """
addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add cat stack
"""
_Op = Callable[..., Any]
_libraries: list[torch.library.Library] = []


def register() -> None:
    """Register the lists, and a fallthrough for everything else."""
    rest = torch.library.Library("_", "IMPL")  # type: ignore[no-untyped-call]
    rest.fallback(torch.library.fallthrough_kernel, _KEY)  # type: ignore[no-untyped-call]
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    for names, make in ((_FAST, _in_fast), (_F32, _in_f32), (_F32_BY_DTYPE, _to_f32), (_WIDEST, _in_widest)):
        for name in names.split():
            library.impl(name, make(_overload(name)), _KEY)  # type: ignore[no-untyped-call]
    library.impl("binary_cross_entropy", _refused, _KEY)  # type: ignore[no-untyped-call]
    _libraries.extend([rest, library])
    _clear_with_pytorchs()


def _overload(name: str) -> _Op:
    base, _, overload = name.partition(".")
    found: _Op = getattr(getattr(torch.ops.aten, base), overload or "default")
    return found


def _in_fast(op: _Op) -> _Op:
    return _casting(op, lambda tensors: torch.get_autocast_dtype(_DEVICE_TYPE))


def _in_f32(op: _Op) -> _Op:
    return _casting(op, lambda tensors: torch.float32)


def _in_widest(op: _Op) -> _Op:
    def widest(tensors: list[Tensor]) -> torch.dtype:
        wide = any(t.dtype is torch.float32 for t in tensors)
        return torch.float32 if wide else torch.get_autocast_dtype(_DEVICE_TYPE)

    return _casting(op, widest)


def _to_f32(op: _Op) -> _Op:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_EXCLUDED):
            given = kwargs.get("dtype") is not None or any(isinstance(a, torch.dtype) for a in args)
            if args and not given and _is_castable(args[0]):
                kwargs["dtype"] = torch.float32
                args = _without_dtype(op, args)
            return op(*args, **kwargs)

    return kernel


def _without_dtype(op: _Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The positional arguments, less a None that stands for dtype."""
    names = [a.name for a in op._schema.arguments]  # type: ignore[attr-defined]
    return args[: names.index("dtype")]


def _casting(op: _Op, choose: Callable[[list[Tensor]], torch.dtype]) -> _Op:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_EXCLUDED):
            dtype = choose([t for t in _flat((args, tuple(kwargs.values()))) if _is_castable(t)])
            return op(*_cast(args, dtype), **{name: _cast(value, dtype) for name, value in kwargs.items()})

    return kernel


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_cast(item, dtype) for item in value)
    if not _is_castable(value) or value.dtype is dtype:
        return value
    return _cast_once(value, dtype) if _is_kept(value, dtype) else value.to(dtype)


# --- the cache of cast parameters ---------------------------------------------------------------------------

# By the parameter's id: itself, its version, and what it was cast to.
_kept: dict[int, tuple[weakref.ref[Tensor], int, Tensor]] = {}


def _is_kept(value: Tensor, dtype: torch.dtype) -> bool:
    """A leaf that gradients are asked for, where they are."""
    return (
        value.requires_grad
        and value.is_leaf
        and value.dtype is torch.float32
        and dtype is torch.get_autocast_dtype(_DEVICE_TYPE)
        and torch.is_grad_enabled()
        and torch.is_autocast_cache_enabled()
        and not value._is_view()
        and not torch._C._functorch.is_functorch_wrapped_tensor(value)
    )


def _cast_once(value: Tensor, dtype: torch.dtype) -> Tensor:
    known = _kept.get(id(value))
    if known is not None and known[0]() is value and known[1] == value._version and known[2].dtype is dtype:
        return known[2]
    cast = value.to(dtype)
    _kept[id(value)] = weakref.ref(value), value._version, cast
    return cast


def _clear_with_pytorchs() -> None:
    """`torch.autocast` ends a region by this."""
    original = torch.clear_autocast_cache

    @functools.wraps(original)
    def clear_autocast_cache() -> None:
        _kept.clear()
        original()

    torch.clear_autocast_cache = clear_autocast_cache


def _is_castable(value: Any) -> bool:
    """A float tensor of ours, but for f64, which the user means."""
    return (
        isinstance(value, Tensor)
        and value.device.type == _DEVICE_TYPE
        and value.is_floating_point()
        and value.dtype is not torch.float64
    )


def _refused(*_: Any, **__: Any) -> Any:
    raise RuntimeError(
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. Use "
        "binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss, which are safe."
    )
