"""Tables from and to files, databases and frames.

source    one table of text cells behind Ibis: CSV, Parquet, PostgreSQL, or a frame from Python
server    a PostgreSQL server: address, connection, tables read and written
folders   folders and patterns of Parquet files, one table in many files
engine    a table whose rows stay on an engine: what is asked of every engine, and counted there
writing   a release written by the engine that has the rows
duck      DuckDB, out of core: files, and the writing of releases
postgres  a table that stays on a PostgreSQL server
spark     a table that stays on Apache Spark
csvfile   a CSV file looked at before an engine reads it: separator, header, encoding
parquetfile  Parquet files judged before they are read, and a release written as several
packages  frames in and out; files of spreadsheets and statistics packages: Excel, SPSS, Stata, SAS
foreign   the process of its own in which these files are read
release   a released table, sorted by content and written atomically
"""

from covey.sources.packages import Frame, as_given, like, to_arrow
from covey.sources.release import arrange, canonical_csv, export, write_release
from covey.sources.source import Data, Source, connect

__all__ = [
    "Data",
    "Frame",
    "Source",
    "arrange",
    "as_given",
    "canonical_csv",
    "connect",
    "export",
    "like",
    "to_arrow",
    "write_release",
]
