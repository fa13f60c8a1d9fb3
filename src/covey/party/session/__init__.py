"""One run of one party: meeting, playing the role, approving, closing, and the journal that lets it go on later."""
