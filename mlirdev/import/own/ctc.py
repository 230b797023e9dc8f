"""own.ctc(log_probs, targets, lengths, blank, backwards): the sums over paths of Graves et al., "Connectionist
temporal classification" (ICML 2006), as logarithms.

log_probs is (time, batch, classes), targets flat, lengths (3, batch): of each input and target, and where the target
begins. The result is (batch, time, states): the states are the target's labels with blanks around them. Element t, s
is α: what paths up to time t that end in state s weigh; `backwards` β, those that begin there. −inf outside.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..dims import int_of
from ..emitter import Emitter
from .registry import own


class _Sample:
    """One sample; step k is at time k, or backwards from its end, and so are the states."""

    def __init__(self, e: Emitter, node: Node, batch: ir.Value) -> None:
        log_probs, targets, lengths, blank, backwards = node.args
        self.e, self.batch, self.backwards = e, e.to_i64(batch), bool(backwards)
        self.log_probs, self.targets = e.tensor(log_probs), e.tensor(targets)
        self.classes, self.count = e.spec(log_probs).shape[2], e.spec(targets).shape[0]
        self.blank = self.number(int_of(blank))
        self.element = e.element_type(node.results[0].dtype)
        rows = e.tensor(lengths)
        self.time, target, self.begin = (e.extract(rows, [self.number(i), self.batch]) for i in range(3))
        self.last_state = e.mul(target, self.number(2))

    def number(self, value: int) -> ir.Value:
        return self.e.constant(value, self.e.i64)

    def _mirrored(self, i: ir.Value, last: ir.Value) -> ir.Value:
        return self.e.binary("maxsi", self.e.binary("subi", last, i), self.number(0)) if self.backwards else i

    def place(self, step: ir.Value, state: ir.Value) -> list[ir.Value]:
        e, one = self.e, self.number(1)
        at = self._mirrored(e.binary("maxsi", step, self.number(0)), e.binary("subi", self.time, one))
        return [self.batch, at, self._mirrored(e.binary("maxsi", state, self.number(0)), self.last_state)]

    def label(self, state: ir.Value) -> ir.Value:
        """The class of a state: blanks are the even ones."""
        e, one = self.e, self.number(1)
        state = self._mirrored(e.binary("maxsi", state, self.number(0)), self.last_state)
        which = e.add(self.begin, e.binary("shrui", state, one))
        last = e.binary("subi", e.dim_i64(self.count), one)
        target = e.to_i64(e.extract(self.targets, [e.binary("minsi", which, last)]))
        odd = e.cmp("ne", e.binary("andi", state, one), self.number(0))
        return e.position(e.select(odd, target, self.blank), self.classes, wraps=False)

    def value(self, step: ir.Value, state: ir.Value, sums: ir.Value) -> ir.Value:
        """From the states of the step before from which a path comes here: this one, the one before it, and the one
        before that if it has another label."""
        e, label = self.e, self.label(state)
        none = e.constant(-float("inf"), self.element)
        before = e.binary("subi", step, self.number(1))
        terms = []
        for back in range(3):
            earlier = e.binary("subi", state, self.number(back))
            term = e.extract(sums, self.place(before, earlier))
            comes = e.cmp("sge", earlier, self.number(0))
            if back == 2:
                comes = e.binary("andi", comes, e.cmp("ne", self.label(earlier), label))
            terms.append(e.select(comes, term, none))
        start = e.select(e.cmp("sle", state, self.number(1)), e.constant(0, self.element), none)
        total = e.select(e.cmp("eq", step, self.number(0)), start, self._log_sum(terms))
        at = self.place(step, state)[1]
        return e.add(total, e.extract(self.log_probs, [at, self.batch, label]))

    def _log_sum(self, terms: Sequence[ir.Value]) -> ir.Value:
        e, zero = self.e, self.e.constant(0, self.element)
        top = e.binary("maximumf", e.binary("maximumf", terms[0], terms[1]), terms[2])
        top = e.select(e.cmp("oeq", top, e.constant(-float("inf"), self.element)), zero, top)
        weights = [e.op("math.exp", self.element, e.binary("subf", t, top)) for t in terms]
        return e.add(e.op("math.log", self.element, e.add(e.add(weights[0], weights[1]), weights[2])), top)


@own("own.ctc")
def ctc(e: Emitter, node: Node) -> Sequence[ir.Value]:
    spec = node.results[0]
    start = e.filled(spec.shape, e.constant(-float("inf"), e.element_type(spec.dtype)))

    def body(at: list[ir.Value], sums: ir.Value) -> ir.Value:
        sample = _Sample(e, node, at[0])
        step, state = e.to_i64(at[1]), e.to_i64(at[2])
        within = e.binary("andi", e.cmp("slt", step, sample.time), e.cmp("sle", state, sample.last_state))
        # What lies beyond the sample's end changes nothing: the element that stands there is written again.
        zero = sample.number(0)
        place = sample.place(e.select(within, step, zero), e.select(within, state, zero))
        place[1] = e.binary("maxsi", place[1], zero)
        new = sample.value(e.select(within, step, zero), e.select(within, state, zero), sums)
        return e.insert(e.select(within, new, e.extract(sums, place)), sums, place)

    return [e.loops([e.dim(d) for d in spec.shape], start, body)]
