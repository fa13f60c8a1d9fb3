"""One party of a study, from its keys to what its run leaves behind.

keys, certificate   what a party proves itself with, and what it is known by
roster              the parties' certificates and addresses, as the study has them
terms, handshake    the agreement compared part by part; the session's id and everyone's randomness
approval            a person is asked before the last opening
ledger, summary     what everyone learned; what the run was like
progress, log       how far it is, for whoever watches; what happened, for whoever reads later
folder              what a run leaves, whole or not at all
session             one party's run over any link
run                 one party against the real others
deal, simulate      all parties on this machine, in one process or in one each
"""
