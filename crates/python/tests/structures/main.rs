//! CPython's structures in memory that no interpreter has: images of living programs, which need the feature `std`, and made-up words.

mod begun;
mod beyond;
#[cfg(feature = "std")]
mod forked;
#[cfg(feature = "std")]
mod image;
#[cfg(feature = "std")]
mod images;
mod layouts;
mod popped;
#[cfg(feature = "std")]
mod texts;
mod walking;
mod words;
