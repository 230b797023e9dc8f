"""Our own MLIR dialect: operations that upstream has no word for, declared in IRDL, so that no C++ is needed.

Each context that reads or makes such operations loads this text first (`irdl.load_dialects`). Upstream's passes leave
them alone: they know neither effects nor interfaces of theirs.

    mlirdev.attention            outputs (out, logsumexp) of inputs (q, k, v, mask?)
    mlirdev.attention_backward   outputs (dq, dk, dv) of inputs (dout, q, k, v, out, logsumexp, mask?)

Both are in destination-passing style, on tensors or on buffers, and read and write by `indexing_maps`, as linalg's do:
one map per operand, from (batch…, m, n, d, e): m queries, n keys, d numbers in a query or key, e in a value.

    scores[m, n] = scale · Σ_d q[m, d] · k[n, d] + mask[m, n]      -inf where `causal` and n > m
    out[m, e]    = Σ_n softmax_n(scores)[m, n] · v[n, e]           zeros where all of a row's scores are -inf if
                                                                   `zero_rows`, as the backward has it, else NaN
"""

from __future__ import annotations

ATTENTION = "mlirdev.attention"
ATTENTION_BACKWARD = "mlirdev.attention_backward"


def _operation(name: str, inputs: str, outputs: str, flags: str) -> str:
    """An operation's declaration: the last of its inputs may be left out, and on buffers it has no results."""
    operands = [*inputs.split(), *outputs.split()]
    values = [f"%{name}" for name in (*operands, "maps", "scale", *flags.split(), *(f"r_{o}" for o in outputs.split()))]
    optional = inputs.split()[-1]
    listed = ", ".join(f"{o}: {'optional ' if o == optional else ''}%{o}" for o in operands)
    results = ", ".join(f"{o}_result: optional %r_{o}" for o in outputs.split())
    set_flags = ", ".join(f'"{flag}" = %{flag}' for flag in flags.split())
    any_type = "\n    ".join(f"{value} = irdl.any" for value in values)
    return f"""
  irdl.operation @{name} {{
    {any_type}
    irdl.attributes {{ "indexing_maps" = %maps, "scale" = %scale, {set_flags} }}
    irdl.operands({listed})
    irdl.results({results})
  }}"""


IRDL = f"""irdl.dialect @mlirdev {{
{_operation("attention", "q k v mask", "out logsumexp", "causal zero_rows")}
{_operation("attention_backward", "dout q k v out logsumexp mask", "dq dk dv", "causal")}
}}"""
# How many operands, the last ones, and results on tensors an operation has that it gives.
OUTPUTS = {ATTENTION: 2, ATTENTION_BACKWARD: 3}
