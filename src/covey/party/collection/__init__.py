"""A collection with real people: a collector that serves for days, and respondents who come and go.

invitation   single-use tokens that carry the collector's address and fingerprint
register     who enrolled, who is ready, which sessions there were: on the disk before anyone is told
speech       what is said on a connection besides the letters of the protocol
standing     a line of letters that outlives its connections
gate         how many may call, from where, how often
enrolment    an invitation and a key of one's own for a handle
hub          the collector's port: connections, one line for each respondent
collecting   from the first enrolment to the release, over as many attempts as it takes
questions    a record, asked for or read, held to the study's columns
statement    what leaves the machine, and what the collector could learn at worst
calling      how a respondent's machine reaches the collector, and nobody else
playing      a respondent's role in one session
responding   a respondent's machine: enrols, takes part, reconnects, goes on
status       how a collection stands
"""
