"""The pages: what each address shows, and what each form does."""

from covey.ui.pages import collections, hierarchies, hierarchy_edits, joint, partners, run, start, table, trying
from covey.ui.workbench import Actions, Pages

_ROOMS = (start, table, hierarchies, hierarchy_edits, trying, joint, partners, collections, run)
SHOW: Pages = {path: show for room in _ROOMS for path, show in room.SHOW.items()}
DO: Actions = {path: do for room in _ROOMS for path, do in room.DO.items()}
