"""Programs that are built by hand: blocks, feeds, fetches, scopes, unknown extents."""
