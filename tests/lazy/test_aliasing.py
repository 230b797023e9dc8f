"""Writes through views, and what shares a storage: the same values as on the CPU."""

import copy

import pytest
import torch

import mlirdev
from mlirdev.options import options

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def slice_write(dev):
    x = torch.zeros(4, 5, device=dev)
    x[1:3, ::2] = 7
    return [x]


@case
def read_a_view_after_its_base_was_written(dev):
    x = torch.arange(6.0).to(dev)
    y = x[2:4]
    x.mul_(10)
    return [x, y]


@case
def write_a_view_of_a_view(dev):
    x = torch.zeros(2, 3, 4, device=dev)
    x.transpose(0, 2)[1].t()[0].add_(3)
    return [x]


@case
def strided_copy(dev):
    x, y = torch.arange(8.0).to(dev), torch.zeros(8, device=dev)
    y[::2].copy_(x[::2])
    return [y]


@case
def split_aliases(dev):
    x = torch.zeros(6, device=dev)
    a, b = x.split(3)
    a.add_(1)
    b.sub_(1)
    return [x, a, b]


@case
def diagonal_write(dev):
    x = torch.zeros(4, 4, device=dev)
    x.diagonal().fill_(5)
    x.diagonal(1).add_(2)
    return [x]


@case
def unfold_read(dev):
    x = torch.arange(8.0).to(dev)
    w = x.unfold(0, 3, 2)
    x[2] = 100
    return [w]


@case
def expand_read(dev):
    x = torch.arange(3.0).to(dev)
    y = x.unsqueeze(1).expand(3, 4)
    x.add_(1)
    return [y + 0, y.sum()]


@case
def out_resizes(dev):
    x = torch.arange(6.0).to(dev)
    out = torch.empty(0, device=dev)
    torch.add(x, 1, out=out)
    return [out]


@case
def out_casts(dev):
    out = torch.empty(3, dtype=torch.float64, device=dev)
    torch.mul(torch.arange(3.0).to(dev), 2, out=out)
    return [out]


@case
def out_says_in_which_dtype_it_is_computed(dev):
    x = (torch.arange(24.0).view(4, 6) / 4 - 3).to(dev)
    dtypes = (torch.int32, torch.float64, torch.bfloat16, torch.bool)
    outs = [torch.cumsum(x, 1, out=torch.empty(4, 6, dtype=dtype, device=dev)) for dtype in dtypes[:3]]
    sums = [torch.sum(x, 1, out=torch.empty(4, dtype=dtype, device=dev)) for dtype in dtypes]
    return [*outs, *sums, torch.mean(x, 1, out=torch.empty(4, dtype=torch.float64, device=dev))]


@case
def out_is_a_view(dev):
    x = torch.zeros(4, 3, device=dev)
    torch.add(torch.ones(3, device=dev), 1, out=x[2])
    return [x]


@case
def index_put(dev):
    x = torch.zeros(5, device=dev)
    index = torch.tensor([0, 2, 2], device=dev)
    x.index_put_((index,), torch.ones(3, device=dev), accumulate=True)
    x[index] = 9
    return [x]


@case
def mask_assignment(dev):
    x = torch.arange(6.0).to(dev)
    x[x > 2] = -1
    return [x]


@case
def set_aliases(dev):
    x = torch.arange(6.0).to(dev)
    y = torch.empty(0, device=dev).set_(x)
    z = torch.empty(0, device=dev).set_(x.untyped_storage(), 2, (2, 2), (2, 1))
    x.add_(1)
    return [y, z]


@case
def resize_with_a_live_alias(dev):
    x = torch.arange(4.0).to(dev)
    alias = x[1:3]
    x.resize_(6)
    x.fill_(3)
    return [x, alias]


@case
def resize_smaller(dev):
    x = torch.arange(6.0).to(dev)
    x.resize_(2, 2)
    return [x]


@case
def dtype_view(dev):
    x = torch.tensor([1.0, -2.0, 3.0]).to(dev)
    bits = x.view(torch.int32)
    y = bits + 0
    bits[0] = 0
    return [y, x, x.view(torch.uint8)]


@case
def narrower_dtype_view_is_written(dev):
    x = torch.zeros(2, dtype=torch.int32, device=dev)
    x.view(torch.uint8)[4] = 7
    return [x]


@case
def detach_and_data(dev):
    x = torch.arange(3.0).to(dev)
    old = x.view(3)
    x.detach().add_(1)
    x.data.add_(1)
    x.data = x.data + 1
    return [x, old]


@case
def parts_of_a_transposed_part_with_gradients(dev):
    x = torch.arange(24.0).reshape(4, 6).to(dev).requires_grad_()
    first, second = (x * 1.0).t()[1:].split_with_sizes([2, 3])
    rows = second.unbind(1)
    (first.sum() + sum((i + 1) * row.sum() for i, row in enumerate(rows))).backward()
    return [x.grad, first, *rows]


@case
def a_part_of_several_written(dev):
    x = torch.zeros(3, 4, device=dev)
    x.unbind(0)[1].add_(1)
    with torch.no_grad():
        x.split(3, 1)[1].mul_(0.5)
    return [x]


@case
def chunks_in_a_row(dev):
    x = torch.zeros(6, device=dev)
    for i, part in enumerate(x.chunk(3)):
        part += i
    return [x]


@case
def foreach(dev):
    tensors = [torch.ones(2, device=dev), torch.ones(3, device=dev)]
    views = [t[1:] for t in tensors]
    torch._foreach_mul_(tensors, 3)
    return tensors + views


@case
def channels_last(dev):
    x = torch.arange(48.0).view(1, 4, 3, 4).to(dev).to(memory_format=torch.channels_last)
    assert x.is_contiguous(memory_format=torch.channels_last)
    y = (x * 2).relu()
    assert y.stride() == x.stride()
    y[:, 1].zero_()
    y.permute(0, 2, 3, 1).view(12, 4)[0].fill_(-1)
    return [y, y.contiguous()]


@case
def batch_norm_statistics(dev):
    bn = torch.nn.BatchNorm1d(3).to(dev)
    bn(torch.arange(12.0).view(4, 3).to(dev))
    return [bn.running_mean, bn.running_var, bn.num_batches_tracked]


@case
def deepcopy_keeps_sharing(dev):
    x = torch.arange(4.0).to(dev)
    new = copy.deepcopy({"x": x, "view": x[1:]})
    new["x"].add_(5)
    return [x, new["x"], new["view"]]


@case
def complex_parts(dev):
    x = torch.tensor([1 + 2j, 3 - 4j]).to(dev)
    torch.view_as_real(x)[0, 1] = 9
    return [x.clone(), x.conj().clone(), x.conj().imag.clone()]


@case
def in_place_on_a_view_with_gradient(dev):
    leaf = torch.arange(6.0).to(dev).requires_grad_()
    x = leaf * 2
    x[1:3].mul_(3)
    x.view(2, 3)[1].exp_()
    x.sum().backward()
    return [x.detach(), leaf.grad]


@case
def transposed_in_place(dev):
    x = torch.arange(6.0).view(2, 3).to(dev)
    x.t_()
    x.unsqueeze_(0)
    x.add_(torch.ones(3, 2, device=dev))
    return [x]


@case
def empty_slices(dev):
    x = torch.arange(4.0).to(dev)
    x[2:2].fill_(9)
    return [x, x[2:2], x[4:].sum()]


@case
def overlapping_as_strided_write(dev):
    x = torch.zeros(7, device=dev)
    x.as_strided((2, 2), (3, 2), 1).copy_(torch.tensor([[1.0, 2], [3, 4]]).to(dev))
    return [x, x.as_strided((3, 2), (1, 1), 0)]


@case
def shifted_onto_itself(dev):
    """What is read is partly what is written: element by element, as the CPU goes."""
    x, y = torch.arange(8.0).view(2, 4).to(dev), torch.arange(8.0).view(2, 4).to(dev)
    x[:, 1:] += x[:, :-1]
    y[:, 1:].copy_(y[:, :-1])
    return [x, y]


@case
def shifted_onto_itself_in_vmap(dev):
    def run(row):
        row = row.clone()
        row[1:] += row[:-1]
        return row.cumsum(0)

    return [torch.vmap(run)(torch.arange(8.0).view(2, 4).to(dev) - 3)]


@case
def windows_are_written_twice(dev):
    x = torch.zeros(5, device=dev)
    x.unfold(0, 2, 1).add_(1)
    return [x]


@case
def parts_that_do_not_meet(dev):
    x = torch.arange(8.0).to(dev)
    x[::2] += x[1::2]
    x[4:].copy_(x[:4])
    return [x]


@case
def bytes_of_bools(dev):
    x = torch.tensor([True, False, True]).to(dev)
    bytes_ = x.view(torch.uint8)
    bytes_[0] = 3
    x[1] = True
    return [bytes_, x]


@case
def a_storage_that_ends_in_the_middle_of_an_element(dev):
    x = torch.arange(4).to(dev)
    bytes_ = x.view(torch.uint8)
    bytes_.resize_(37)
    bytes_[32:] = torch.arange(5, dtype=torch.uint8).to(dev)
    x.add_(1)
    x[torch.tensor([0, 2], device=dev)] = -1
    x[1:].view(torch.int16)[::2] += 3
    return [x, bytes_]


@case
def bytes_of_bools_that_another_tensor_gets(dev):
    x = torch.ones(4, dtype=torch.bool).to(dev)
    pairs = x.view(torch.int16).fill_(2)
    mlirdev.sync()
    y = torch.zeros(1, dtype=torch.bool, device=dev).set_(x)
    return [pairs, y]


@case
def strides_of_copies(dev):
    x = torch.zeros(3, 1, 2, device=dev).transpose(-2, 2)
    y = torch.zeros(0, 3, device=dev)[None]
    strides = [f(t).stride() for t in (x, y) for f in (torch.clone, torch.empty_like, torch.Tensor.double)]
    return [torch.tensor(s).to(dev) for s in strides]


@case
def strides_of_size_1_are_results_too(dev):
    made = [torch.empty_strided((2, 4, 1), strides, device=dev) for strides in ((4, 1, 1), (4, 1, 4), (4, 1, 1))]
    strides = [result.stride() for t in made for result in (t > -3.0, t > t, t - t[:1], t.mul_(2.0), t.abs())]
    return [torch.tensor(s).to(dev) for s in strides]


REFUSED = {
    "overlap": lambda x: x[1:].copy_(x[:-1]),
    "row_onto_all": lambda x: x.add_(x[0]),
    "transposed": lambda x: x.add_(x.t()),
    "expanded": lambda x: x[0].expand(3, 3).add_(1),
    "out_is_a_smaller_operand": lambda x: torch.add(x[None], x, out=x),
    "size_1_with_another_stride": lambda x: x[:1].add_(x[0:1:3]),
    "size_1_with_another_stride_multiplied": lambda x: (y := x.sum(0, keepdim=True)).mul_(y[0:1:3]),
    "out_is_of_another_stride": lambda x: torch.neg(y := x.sum(0, keepdim=True), out=y[0:1:3]),
    "copy_of_more": lambda x: x[:1].copy_(x + 1),
    "copy_of_other_sizes": lambda x: x.copy_(x[:2] + 1),
    "copy_of_more_dims": lambda x: x[0, 0].copy_(x[1, 1:2]),
    "copy_of_nothing": lambda x: x.copy_(x[:0]),
    "copy_of_more_from_the_host": lambda x: x[:1].copy_(torch.ones(3, 3)),
    "beyond": lambda x: x.as_strided((4, 4), (4, 1)),
    "beyond_in_place": lambda x: x.as_strided_((4, 4), (4, 1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_on_the_cpu(name, dev):
    with pytest.raises(RuntimeError) as theirs:
        REFUSED[name](torch.zeros(3, 3))
    with options.override(fallback="allow"), pytest.raises(RuntimeError) as ours:
        REFUSED[name](torch.zeros(3, 3, device=dev))
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("name", CASES)
def test_same_as_cpu(name, dev):
    with options.override(fallback="allow"):
        want, got = CASES[name]("cpu"), CASES[name](dev)
    for w, g in zip(want, got, strict=True):
        assert g.device.type == "mlirdev"
        torch.testing.assert_close(g.cpu(), w, rtol=1e-6, atol=1e-6)
