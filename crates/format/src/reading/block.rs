//! A block as it was read.
//! Owns: what is known of it. Never: reads bytes, or knows of other blocks.

use crate::framing::BlockHeader;
use crate::proto;
use crate::reading::columns::Samples;
use crate::reading::fault::BlockName;

#[derive(Clone, Debug, PartialEq)]
pub struct ReadBlock {
    pub header: BlockHeader,
    /// Without its samples: `whole` has them, too.
    pub block: proto::Block,
    pub samples: Option<Samples>,
    /// Where the block begins in the file.
    pub offset: u64,
    /// Header and payload as they stand in the file.
    pub stored_bytes: u64,
}

impl ReadBlock {
    /// As it was written.
    pub fn whole(&self) -> proto::Block {
        proto::Block { samples: self.samples.as_ref().map(Samples::to_proto), ..self.block.clone() }
    }

    pub(crate) fn name(&self) -> BlockName {
        BlockName { process_key: self.header.process_key, sequence: self.header.sequence }
    }
}
