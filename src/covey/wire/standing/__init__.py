"""Standing lines: letters between a collector and respondents whose machines come and go.

words        what both sides say beside the letters of the protocol
connection   one TLS connection that carries words and letters
line         a line of letters that outlives its connections
gate         limits on strangers: how many, from where, how often they may guess
hub          the collector's port: connections, and a line for each respondent
dialing      a respondent's way to the collector, and to nobody else

Who may enrol, and what is kept of it, is not for these to know: the hub asks its `Admission`.
"""

from covey.wire.standing.line import LetterStore, Shelf, StandingLine, StandingLink

__all__ = ["LetterStore", "Shelf", "StandingLine", "StandingLink"]
