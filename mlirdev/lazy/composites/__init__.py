"""Handlers written by hand: what isn't one recorded node.

    factories    empty…                         copies        to and from the host, clone, copy_
    aliasing     views, set_, resize_           convolution   the two overridable overloads
    batch_norm   its hidden write of the stats  rnn           fused LSTM and GRU cells
    random       Philox words made into distributions       ordering      record_stream
    sampling     distributions drawn by trial
    linear_algebra   errors of factorisations    spectrum      eigenvalues, singular values, pseudoinverses
    reading      item, equal, allclose
    attention    scaled dot product attention; the fast path of transformer layers in evaluation
    foreach      ops on lists of tensors
    fused_optimizers   Adam, AdamW, SGD and Adagrad of `fused=True`
    grad_scaling what GradScaler asks
    ctc          lengths given as lists
    recurrent    LSTM, GRU and RNN over sequences, in PyTorch's own ops
    selecting    nonzero, masks as indices, …     uniqueness    unique and its kin: sizes that values decide
    strided      copies that look beside the tensor

Importing this fills `handlers.HANDLERS` and `handlers.COMPOSITES`.
"""

from mlirdev.lazy.composites import (
    aliasing,
    attention,
    batch_norm,
    convolution,
    copies,
    ctc,
    factories,
    foreach,
    fused_optimizers,
    grad_scaling,
    linear_algebra,
    ordering,
    random,
    reading,
    recurrent,
    rnn,
    sampling,
    selecting,
    spectrum,
    strided,
    uniqueness,
)

__all__ = [
    "aliasing",
    "attention",
    "batch_norm",
    "convolution",
    "copies",
    "ctc",
    "factories",
    "foreach",
    "fused_optimizers",
    "grad_scaling",
    "linear_algebra",
    "ordering",
    "random",
    "reading",
    "recurrent",
    "rnn",
    "sampling",
    "selecting",
    "spectrum",
    "strided",
    "uniqueness",
]
