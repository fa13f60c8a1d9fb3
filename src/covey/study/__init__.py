"""The study: what all parties agree on, read from one TOML file.

study     the agreement and its hashes
read      the file judged as a whole; columns, section, folder are its parts
rules     the keys of each section, and what each protocol needs
"""

from covey.study.study import Authority, Party, Privacy, Study, StudyLike

__all__ = ["Authority", "Party", "Privacy", "Study", "StudyLike"]
