"""How series and workloads of a matrix's shards are named in the run they are merged into."""

MARK = "@"  # `decode-8b/b=1@h100`


def labelled(name: str, label: str) -> str:
    """The name that a series or workload of a shard has in the merged run."""
    return f"{name}{MARK}{label}" if label else name


def unlabelled(name: str, label: str) -> str:
    """The name that a series or workload of a merged run has in its shard."""
    return name.removesuffix(f"{MARK}{label}") if label else name
