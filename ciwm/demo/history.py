"""The history of the embedded example: what upstream did, and what the fork carries."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Replace `old` (which must be there once) by `new`; an empty `old` makes a new file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Change:
    """One commit: its day in the story, its subject and its edits."""

    day: int
    subject: str
    edits: tuple[Edit, ...]


KERNEL = "tiny/kernel.c"

SHARED = (
    Change(
        1,
        "Say what the kernels assume of their inputs (#2)",
        (Edit("README.md", "`cc -O2", "float32 only, row-major. `cc -O2"),),
    ),
)

UPSTREAM = (
    Change(
        3,
        "Fix the name of the build command in the README (#3)",
        (Edit("README.md", "Build:", "To build:"),),
    ),
    Change(
        5,
        "matmul: block of 48 suits the new CI machines (#4)",
        (Edit(KERNEL, "#define BLOCK 32", "#define BLOCK 48"),),
    ),
    Change(
        8,
        "sum_squares: compensate every 8 elements, long rows lost digits (#5)",
        (
            Edit(
                KERNEL,
                """    float sum = 0.0f;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
""",
                """    float sum = 0.0f, lost = 0.0f;
    for (size_t start = 0; start < n; start += 8) {
        float part = -lost;
        for (size_t i = start; i < start + 8 && i < n; i++)
            part += x[i] * x[i];
        volatile float next = sum + part; /* the compiler must not cancel the correction */
        lost = (next - sum) - part;
        sum = next;
    }
    return sum;
""",
            ),
        ),
    ),
    Change(
        12,
        "Tell where to ask questions (#6)",
        (Edit("SUPPORT.md", "", "# Support\n\nOpen an issue.\n"),),
    ),
)

FORK = (
    Change(
        4,
        "Fix the name of the build command in the README (#3)",
        (Edit("README.md", "Build:", "To build:"),),
    ),
    Change(
        6,
        "Chip backend: choose the tile by the size of the scratchpad",
        (
            Edit(
                "tiny/chip.py",
                "",
                '"""What is special about our chip."""\n\nSCRATCHPAD_BYTES = 64 * 1024\n\n\n'
                "def tile(bytes_per_element):\n"
                '    """Elements of one tile that fit into the scratchpad."""\n'
                "    return SCRATCHPAD_BYTES // bytes_per_element\n",
            ),
        ),
    ),
    Change(
        7,
        "matmul: block of 64 fills the scratchpad of our chip",
        (Edit(KERNEL, "#define BLOCK 32", "#define BLOCK 64 /* scratchpad */"),),
    ),
)

RESOLUTION = Edit(KERNEL, "", "#define BLOCK 64 /* scratchpad */")
