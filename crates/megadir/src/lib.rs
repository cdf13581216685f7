//! Reads directories with very many entries: batches of entries from the fastest backend for the file system.
