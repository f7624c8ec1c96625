"""What changed under a plugin's feet: which upstream symbols it uses, and what became of each.

Both revisions of upstream and the plugin are read as text and parsed; none of them is imported.
Only what resolved at the pin and does not resolve, or resolves to something else, at the target is
a finding.
"""
