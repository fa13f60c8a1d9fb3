"""A collection with real people: a collector that serves for days, and respondents who come and go.

invitation   single-use tokens that carry the collector's address and fingerprint
register     who enrolled, who is ready, which sessions there were: on the disk before anyone is told
eligibility  studies that can be collected from people
enrolment    an invitation and a key of one's own for a handle
collecting   from the first enrolment to the release, over as many attempts as it takes
deadlines    a respondent that is asked and does not answer in time has left
status       the state of a collection, for `covey collect status`
questions    a record, asked for or read, held to the study's columns
statement    what leaves the machine, and what the collector could learn at worst
home         a respondent's folder
playing      a respondent's or a trustee's role in one session
responding   a respondent's machine that stays: enrols, takes part, reconnects, goes on
delivering   a respondent's machine that hands in a sealed answer and is done
receipts     receipts for answers, and the board
trustee      a trustee's machine

The lines between them are `covey.wire.standing`.
"""
