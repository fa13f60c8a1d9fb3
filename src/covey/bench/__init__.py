"""`covey bench`: protocols and algorithms compared on one table, and the papers' claims judged.

`compare` runs every contender on the user's data or on a sample; `papers` repeats the experiments of each protocol's
source. Both return `findings`, which `page` writes as HTML and JSON. The project's own measurements of speed, memory
and traffic live in the folder `benchmarks/` of the repository, which is not part of the package.
"""
