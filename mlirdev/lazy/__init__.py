"""PyTorch's side: what users call is recorded here, and launched when a value is needed.

dispatcher ─► quick ─► dispatch · composites ─► overloads (key → Entry; specs) ─► record ─► trace
                    │ data dependent                                              │ flush · limits
                    └► fallback (runs now, on the CPU)                            └► graphs ─► compiler ─► stream

storage, views, chain    a tensor is a view of its storage's cell      operands, layouts   what ops take
device, host             memory, copies; one node through PyTorch      rng                 seed and offset
lines                    the user's line, of backward ops too          streams             order between streams
register, setup, doors   handlers, with the first device tensor        patches, conversion PyTorch's own Python
"""
