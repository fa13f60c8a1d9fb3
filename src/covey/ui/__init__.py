"""The steward's workbench: a web page on this machine, over the same functions and commands as the command line.

login      who may talk to the server: one browser, let in by a token that works once
workspace  the folder that the workbench shows, and nothing outside of it
jobs       commands in processes of their own, which outlive browser and server; work is what runs them
look       a table read once into summaries; examine does the same for a release
hierarchy  a column's hierarchy: wizards, undo and redo
pages      what is shown and done: tables, trying, joint studies, hierarchies, collections
server     all pages as one web application, on the loopback address
"""
