"""Columns of the same people at different parties: finding the common records, and joining the rows at the end.

Meeting   `meet`: the holders align their keys. Each learns which of its own ids all of them have, and keeps those
          rows, in an order that is the same for everyone. With `mismatch = "abort"` a record that one holder lacks
          ends the run.
Release   `join_rows`: each holder brings the generalized nodes of its quasi columns and its exact values (sensitive
          and plain columns), row by row. A join on blinded keys puts them side by side and shows ids to nobody.
Exact     whoever knows an exact value recognises the row that shows it. So no row shows exact values of two holders
          as they belong together: there is one join for each holder of exact columns, under keys of its own, with
          that holder's exact values and everyone's nodes. The joins' exact values are paired anew within each class,
          by a draw that follows from the published values alone (`paired`), so the pairing cannot tell who belongs
          together. Values of one holder stay together.
Counted   an owner's exact values lead it to its own people's rows. It counts these people before the approval and tells
          everyone (`recognition`); above none the run ends, unless the study allows it.
Not       nobody knows whether a class has k rows until the rows are open: the caller must find classes that have.
"""
