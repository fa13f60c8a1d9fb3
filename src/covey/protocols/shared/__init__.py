"""Steps that several protocols share: meeting, publishing rows or columns, figures of a release, cost estimates."""
