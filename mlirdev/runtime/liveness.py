"""When a plan's slots are first written and last read, and which results may be written over what a launch reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlirdev.plan import HostLaunch, Launch, Plan, SlotArg

# Per kernel, the pairs of a result and a param that may be one buffer: see `Signature.in_place`.
InPlace = Mapping[str, tuple[tuple[int, int], ...]]


def reads(launch: Launch | HostLaunch) -> list[int]:
    """The slots that a launch reads."""
    if isinstance(launch, HostLaunch):
        return list(launch.operands)
    return [arg.slot for arg in launch.args if isinstance(arg, SlotArg)]


def first_writes(plan: Plan) -> dict[int, int]:
    """The launch that makes each slot, by number."""
    found: dict[int, int] = {}
    for i, launch in enumerate(plan.launches):
        for slot in launch.results:
            found.setdefault(slot, i)
    return found


def last_uses(plan: Plan) -> dict[int, int]:
    """The last launch that reads or writes each slot."""
    return {slot: i for i, launch in enumerate(plan.launches) for slot in (*reads(launch), *launch.results)}


def in_place_pairs(launch: Launch | HostLaunch, in_place: InPlace) -> Iterator[tuple[int, int]]:
    """(result's slot, operand's slot) for each operand that a result may be written over, as far as the kernel is
    concerned: it is all of its slot, and no other operand is in that slot."""
    if isinstance(launch, HostLaunch):
        return
    operands = reads(launch)
    for result, param in in_place.get(launch.kernel, ()):
        arg = launch.args[param]
        if isinstance(arg, SlotArg) and arg.offset == 0 and operands.count(arg.slot) == 1:
            yield launch.results[result], arg.slot
