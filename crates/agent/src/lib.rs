//! The agent: the library inside the program.
