//! The search for names from outside: what it finds in a library of the tests' own (crates/names/tests/shop), in damaged files, and in whole interpreters.

mod answers;
mod damage;
mod interpreters;
mod introspection;
mod judge;
mod shop;
