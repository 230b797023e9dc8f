"""Which outputs are written over which inputs: a training step writes its parameters where the old ones were.

An input that nobody else needs is dead once the last launch that reads it has run. Its memory goes to an output of the
same size that is written later, or by that launch, if its kernel reads each element before it writes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from mlirdev.plan import Plan
from mlirdev.runtime.liveness import InPlace, in_place_pairs, reads


def lend(
    plan: Plan,
    free: Collection[int],
    syms: tuple[int, ...] = (),
    in_place: InPlace | None = None,
    takers: Collection[int] | None = None,
) -> dict[int, int]:
    """{output's slot: position of the input that it is written over}.

    `free` are the positions of inputs that nobody needs but this launch of the plan; `takers`, where given, the outputs
    that may be written over one.
    """
    last = {plan.inputs[position]: -1 for position in free}
    for slot in plan.outputs:
        last.pop(slot, None)
    for i, launch in enumerate(plan.launches):
        last.update((slot, i) for slot in reads(launch) if slot in last)
    ends: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for slot, end in last.items():
        ends[end][slot] = None
    made = set(plan.outputs).difference(plan.inputs)
    return _matched(plan, ends, made if takers is None else made.intersection(takers), syms, in_place or {})


def _matched(
    plan: Plan, ends: Mapping[int, dict[int, None]], takers: set[int], syms: tuple[int, ...], in_place: InPlace
) -> dict[int, int]:
    """Takers with inputs of the same size, of which those in `ends[i]` are read by launch i last."""
    positions = {slot: position for position, slot in enumerate(plan.inputs)}
    sizes = {slot: plan.slots[slot].nbytes(syms) for slot in {*plan.inputs, *takers}}
    given: dict[int, int] = {}
    dead: defaultdict[int, list[int]] = defaultdict(list)
    for i in range(-1, len(plan.launches)):
        ending = dict(ends.get(i, {}))
        if i >= 0:
            for slot, operand in in_place_pairs(plan.launches[i], in_place):
                if operand in ending and slot in takers and slot not in given and sizes[slot] == sizes[operand]:
                    given[slot] = positions[operand]
                    del ending[operand]
            for slot in plan.launches[i].results:
                if slot in takers and slot not in given and dead[sizes[slot]]:
                    given[slot] = positions[dead[sizes[slot]].pop()]
        for slot in ending:
            dead[sizes[slot]].append(slot)
    return given
