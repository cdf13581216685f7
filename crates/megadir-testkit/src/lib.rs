//! Trees, a faulty backend and the conformance suite for testing megadir.
