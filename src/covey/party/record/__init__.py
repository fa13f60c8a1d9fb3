"""Files that a run leaves: ledger, summary, transcript, run certificate, and the folder that holds them."""
