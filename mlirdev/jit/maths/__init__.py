"""The maths library: elementary functions as branch-free LLVM IR that inlines and vectorises.

    builder.py          writes functions: formulas in Python's operators
    exponential.py …    the formulas, by family
    library.py          which functions there are; puts them in place of a module's calls

Every function is right for NaN, infinities, zeros of both signs, huge and denormal arguments, and within 4 units
in the last place (tests/jit/test_maths.py has the table).
"""

from mlirdev.jit.maths.library import use_library

__all__ = ["use_library"]
