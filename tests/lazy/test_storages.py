"""A storage's own methods, pointers and exports: the CPU's answers, or a clear refusal."""

import copy
import io
import itertools
import pickle
import subprocess
import sys
import weakref
from multiprocessing.reduction import ForkingPickler

import pytest
import torch

QUESTIONS = {
    "sizes": lambda t, s: (s.nbytes(), len(s), s.size(), s.element_size(), s.resizable()),
    "elements": lambda t, s: (s.tolist(), list(s), s[5], s.cpu().tolist()),
    "typed": lambda t, s: (t.storage().tolist(), t.storage()[1], t.storage().size(), t.storage().double().tolist()),
    "fill": lambda t, s: (s.fill_(7), t.tolist()),
    "set": lambda t, s: (s.__setitem__(3, 65), t.tolist()),
    "typed_fill": lambda t, s: (t.storage().fill_(2), t.tolist()),
    "copy": lambda t, s: (s.copy_(t.flip(0).contiguous().untyped_storage()), t.tolist()),
    "from_cpu": lambda t, s: (s.copy_(torch.ones(6).untyped_storage()), t.tolist()),
    "to_cpu": lambda t, s: torch.UntypedStorage(24).copy_(s).tolist(),
    "clone": lambda t, s: (s.clone().tolist(), copy.copy(s).tolist(), copy.deepcopy(s).tolist()),
    "shrink": lambda t, s: (s.resize_(8), s.tolist(), t[:2].tolist()),
    "enlarge": lambda t, s: (s.resize_(40), s.tolist()[:24], s.nbytes()),
    "free_and_again": lambda t, s: (s.resize_(0), s.resize_(24), s.fill_(0), t.tolist()),
    "pickle": lambda t, s: pickle.loads(pickle.dumps(t.storage())).tolist(),
    "save": lambda t, s: _saved(t.storage()).tolist(),
    "pointers": lambda t, s: (
        t.data_ptr() == s.data_ptr() == t.data_ptr(),
        t[2:].data_ptr() - t.data_ptr(),
        t[6:].data_ptr(),
        t.clone().data_ptr() == t.data_ptr(),
        t.detach().data_ptr() == t.data_ptr(),
        t.data_ptr() != 0,
    ),
    "copies_of_tensors": lambda t, s: (
        copy.copy(t).data_ptr() == t.data_ptr(),
        copy.copy(t).add_(1).tolist() == t.tolist(),
        copy.deepcopy(t).data_ptr() == t.data_ptr(),
        torch.as_tensor(t).data_ptr() == t.data_ptr(),
        torch.asarray(t, copy=True).data_ptr() == t.data_ptr(),
    ),
    "identity": lambda t, s: (t[1:].untyped_storage() is s, weakref.ref(s)() is s, t.is_set_to(t.view(6))),
    "set_": lambda t, s: (t.new_empty(0).set_(s, 1, (2, 2), (2, 1)).tolist(), t.new_empty(0).set_(s).tolist()),
    "grown_after_deepcopy": lambda t, s: copy.deepcopy(t).resize_(12).tolist()[:6],
}


def _saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def _plain(answer):
    if isinstance(answer, tuple):
        return [_plain(a) for a in answer]
    return None if isinstance(answer, (torch.UntypedStorage, torch.TypedStorage)) else answer


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", QUESTIONS)
def test_same_as_cpu(name, dev):
    answers = []
    for device in ("cpu", dev):
        t = torch.arange(6.0).to(device)
        answers.append(_plain(QUESTIONS[name](t, t.untyped_storage())))
    assert answers[0] == answers[1]


REFUSALS = {
    "dlpack": (lambda t: t.__dlpack__(), BufferError, "cpu()"),
    "from_dlpack": (torch.from_dlpack, BufferError, "cpu()"),
    "numpy": (lambda t: t.numpy(), TypeError, "cpu()"),
    "array": (lambda t: t.__array__(), TypeError, "cpu()"),
    "pin_memory": (lambda t: t.pin_memory(), RuntimeError, "CPU"),
    "process": (ForkingPickler.dumps, RuntimeError, "cpu()"),
    "storage_process": (lambda t: ForkingPickler.dumps(t.untyped_storage()), RuntimeError, "cpu()"),
    "part": (lambda t: t.untyped_storage()[1:2], RuntimeError, "cpu()"),
    "byteswap": (lambda t: t.untyped_storage().byteswap(torch.float32), RuntimeError, "cpu()"),
    "set_cpu_tensor": (lambda t: t.set_(torch.zeros(3)), RuntimeError, "devices must match"),
    "beyond": (lambda t: t.as_strided((3, 3), (3, 1)), RuntimeError, "out of bounds"),
    "other_size": (lambda t: t.untyped_storage().copy_(torch.zeros(2).untyped_storage()), RuntimeError, "size"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refused_with_the_remedy(name, dev):
    call, error, word = REFUSALS[name]
    with pytest.raises(error) as raised:
        call(torch.arange(6.0).to(dev))
    assert word in str(raised.value)


def test_pointers_are_distinct_as_long_as_storages_live(dev):
    alive = [torch.empty(n, device=dev) for n in range(1, 400)]
    ranges = sorted((t.data_ptr(), t.data_ptr() + t.nbytes) for t in alive)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(ranges))
    first = alive[0].data_ptr()
    alive[0].add_(1)
    assert alive[0].data_ptr() == first


@pytest.mark.slow
def test_a_storage_may_be_the_first_thing_on_the_device():
    code = "import torch; s = torch.UntypedStorage([1, 2], device='mlirdev'); print(s.tolist(), s.device)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[1,", "2]", "mlirdev:0"]
