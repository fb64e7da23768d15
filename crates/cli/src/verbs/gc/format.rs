//! How `genba gc` prints.
//! Owns: the choice. Never: prints.

use clap::ValueEnum;

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TextOrJson {
    Text,
    Json,
}
