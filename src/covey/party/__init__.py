"""One party of a study, from its keys to the files that its run leaves.

identity     keys, certificates, and the roster of everyone who takes part
record       ledger, summary, transcript, run certificate, report, and the folder that holds them
session      one run: handshake, role, approval, closing, and the journal that lets it go on later
audit        checks of finished runs
simulate     all parties on this machine, in one process or in one each
collection   a collector and respondents who come and go
plan         the cost of a run, and what it will teach
"""
