//! Names of C functions by file address, as the recording stores them.
//! Never: takes the nearest name. An address outside of every known range has no name.

use foldhash::HashMap;

use genba_format::proto;

/// Origin of a row that knows a function's beginning and end but no name; it is called by module and address.
pub const NO_NAME: &str = "no name";
/// Origin of a row without a name, for a whole module: its file is not the one that was mapped.
pub const REPLACED: &str = "replaced";

/// Ranges by module path, then build id: the same path may have been another file in another process.
#[derive(Default)]
pub struct CFunctions<'a> {
    modules: HashMap<&'a str, HashMap<&'a [u8], Vec<&'a proto::CName>>>,
}

impl<'a> CFunctions<'a> {
    pub fn add(&mut self, names: &'a [proto::CName]) {
        for name in names {
            self.modules
                .entry(name.module.as_str())
                .or_default()
                .entry(name.build_id.as_slice())
                .or_default()
                .push(name);
        }
    }

    /// To be called once, before the first look-up.
    pub fn sort(&mut self) {
        for ranges in self.modules.values_mut().flat_map(HashMap::values_mut) {
            ranges.sort_by_key(|name| name.start);
            ranges.dedup_by_key(|name| name.start);
        }
    }

    pub fn at(&self, module: &str, build_id: &[u8], address: u64) -> Option<&'a proto::CName> {
        let ranges = self.modules.get(module)?.get(build_id)?;
        let position = ranges.partition_point(|name| name.start <= address);
        let name = ranges.get(position.checked_sub(1)?)?;
        (address < name.end && name.origin != REPLACED).then_some(*name)
    }

    /// Whether the file of a module was another one by the time it was to be read.
    pub fn is_replaced(&self, module: &str, build_id: &[u8]) -> bool {
        let ranges = self.modules.get(module).and_then(|modules| modules.get(build_id));
        ranges.and_then(|ranges| ranges.first()).is_some_and(|name| name.origin == REPLACED)
    }
}
