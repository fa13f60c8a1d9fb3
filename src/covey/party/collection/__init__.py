"""A collection with real people: a collector that serves for days, and respondents who come and go.

invitation   single-use tokens that carry the collector's address and fingerprint
register     who enrolled, who is ready, which sessions there were: on the disk before anyone is told
speech       what is said on a connection besides the letters of the protocol
standing     a line of letters that outlives its connections
gate         how many may call, from where, how often
hub          the collector's port: enrolment, connections, one line for each respondent
collecting   from the first enrolment to the release, over as many attempts as it takes
questions    a record, asked for or read, held to the study's columns
statement    what leaves the machine, and what the collector could learn at worst
responding   a respondent's machine: enrols, answers, reconnects, goes on
status       how a collection stands
"""
