//! Names in one small stripped extension module whose source is beside it (crates/names/tests/shop/shop.c): every kind of table once.

use expect_test::{Expect, expect};
use genba_names::{KnownFunction, Names};

const SHOP: &[u8] = include_bytes!("../shop/shop.so");

/// One line a function of the unwind table: first address, name, origin.
#[track_caller]
fn check(known: &[KnownFunction<'_>], expected: Expect) {
    let names = Names::new(SHOP, None, known).unwrap();
    let lines: String = names
        .function_starts()
        .map(|start| match names.name_of(start) {
            Some(found) => format!("{start:x} {} ({})\n", found.name, found.origin),
            None => format!("{start:x} -\n"),
        })
        .collect();
    expected.assert_eq(&lines);
}

#[test]
fn every_function_has_the_name_that_its_tables_give() {
    check(
        &[],
        expect![[r#"
            1020 -
            1110 __cxa_finalize@plt (linker stub)
            1120 shop.Basket.add/shop.Basket.apples.__set__⁺ (dominated)
            1141 shop.Basket.add/shop.Basket.apples.__set__⁺ (dominated)
            1210 shop.Basket.weigh⁺ (dominated)
            1250 shop.Basket.weigh⁺ (dominated)
            1270 shop.Basket.__len__ (method table)
            1280 slot_tp_dealloc (method table)
            1290 -
            12a0 shop.Py_mod_exec (method table)
            1330 shop.Basket.add/shop.Basket.apples.__set__⁺ (dominated)
            1350 shop.Basket.apples.__set__ (method table)
            13a0 shop.Basket.add (method table)
            1400 shop.Basket.apples.__get__ (method table)
            1410 shop.Basket.weigh (method table)
            1430 shop.Basket.__getitem__ (method table)
            1460 -
            1470 shop.Till.__repr__ (method table)
            1490 shop.open (method table)
            14c0 PyInit_shop (dynamic symbols)
        "#]],
    );
}

/// A table of a program's own may look like methods: `{"input_file", run_job, 1, "file to read"}`.
#[test]
fn a_method_that_no_type_and_no_module_has_needs_a_sign_of_pythons() {
    let entry = |flags: u64| [0x1460_u64.to_le_bytes(), flags.to_le_bytes()].concat();
    let at = SHOP.windows(16).position(|window| window == entry(8)).unwrap();
    let named = |flags: u64| {
        let mut changed = SHOP.to_vec();
        changed[at..at + 16].copy_from_slice(&entry(flags));
        Names::new(&changed, None, &[]).unwrap().name_of(0x1460).map(|found| found.name)
    };
    for small_number in [1, 3, 4, 8] {
        assert_eq!(named(small_number), None);
    }
    for calling_convention in [0x80, 0x82] {
        assert_eq!(named(calling_convention).as_deref(), Some("loose_end"));
    }
}

#[test]
fn the_dynamic_linkers_answer_comes_after_the_tables() {
    let names = Names::new(
        SHOP,
        None,
        &[
            KnownFunction { address: 0x1330, name: "memcpy" },
            KnownFunction { address: 0x1330, name: "memmove" },
            KnownFunction { address: 0x13a0, name: "memset" },
        ],
    )
    .unwrap();
    let shown = |address| names.name_of(address).map(|found| format!("{} ({})", found.name, found.origin));
    assert_eq!(shown(0x1330).as_deref(), Some("memmove (IFUNC)"));
    assert_eq!(shown(0x1335).as_deref(), Some("memmove (IFUNC)"));
    assert_eq!(shown(0x13a0).as_deref(), Some("shop.Basket.add (method table)"));
    // The part of it that the compiler moved away looks like a function of its own; and what only that part calls.
    assert_eq!(shown(0x1141).as_deref(), Some("memmove⁺ (dominated)"));
    assert_eq!(shown(0x1120).as_deref(), Some("memmove⁺ (dominated)"));
}

#[test]
fn an_address_belongs_to_its_function_up_to_the_end_and_not_beyond() {
    let names = Names::new(SHOP, None, &[]).unwrap();
    let length = names.name_of(0x1270).unwrap();
    assert_eq!((length.start, names.extent_of(0x1270)), (0x1270, Some((length.start, length.end))));
    assert_eq!(names.name_of(length.end - 1).unwrap(), length);
    assert_ne!(names.name_of(length.end), Some(length));
    assert_eq!(names.name_of(0), None);
    assert_eq!(names.name_of(u64::MAX), None);
}

#[test]
fn a_debug_file_of_another_build_is_not_believed() {
    let names = Names::new(SHOP, Some(SHOP), &[]).unwrap();
    assert_eq!(names.build_id(), Some(b"genba".as_slice()));
    let mut other = SHOP.to_vec();
    let at = other.windows(5).position(|window| window == b"genba").unwrap();
    other[at] = b'G';
    let found = Names::new(SHOP, Some(&other), &[]).unwrap().name_of(0x13a0).unwrap();
    assert_eq!(found.origin.to_string(), "method table");
}

#[test]
fn what_is_no_elf_file_says_what_it_is() {
    let words = |bytes: &[u8]| Names::new(bytes, None, &[]).err().unwrap().to_string();
    let mut arm = SHOP.to_vec();
    arm[18] = 183;
    expect!["expected a 64-bit ELF file for x86-64, found another kind of file: Invalid ELF header size or alignment"]
        .assert_eq(&words(b""));
    expect!["expected a 64-bit ELF file for x86-64, found machine 183"].assert_eq(&words(&arm));
}
