"""Patch queues: quilt series and mailboxes that are applied to a pinned upstream."""
