//! Text, sixteen bytes at a time.
