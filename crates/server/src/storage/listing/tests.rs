//! A part of the list at a time: what the pages hold, where they go on, and what is counted.

use crate::storage::database::Older;
use crate::storage::recordings::{self, State};
use crate::storage::terms;
use crate::storage::tokens::commit;

use super::own::own_page;
use super::*;

const LOOKED: u32 = 3;
const PAGE: u32 = 2;

#[test]
fn a_search_looks_at_a_part_of_the_list_at_a_time() {
    in_ten(async |database| {
        let even = || of_tag("even");
        let found = async |conditions: Vec<Condition>, order: Order| pages(&database, conditions, order).await;
        for order in [Order::Newest, Order::Size] {
            assert_eq!(found(vec![even()], order).await, expected(&[&[8], &[6, 4], &[2], &[0]]), "{order:?}");
        }
        assert_eq!(found(vec![even()], Order::Oldest).await, expected(&[&[0, 2], &[4], &[6, 8], &[]]));
        // Words that never meet.
        for order in [Order::Newest, Order::Oldest] {
            let nothing = found(vec![even(), of_tag("odd")], order).await;
            assert_eq!(nothing, expected(&[&[], &[], &[], &[]]), "{order:?}");
        }
        // A page that is full goes on behind its last row.
        let all = found(vec![Condition::Since { ms: 0 }], Order::Newest).await;
        assert_eq!(all, expected(&[&[9, 8], &[7, 6], &[5, 4], &[3, 2], &[1, 0]]));
        // What the order itself leaves out is not looked at.
        let early = found(vec![even(), Condition::Until { ms: 3 }], Order::Newest).await;
        assert_eq!(early, expected(&[&[2, 0]]));
    });
}

#[test]
fn what_was_counted_in_a_part_of_the_list_is_the_least() {
    in_ten(async |database| {
        let counted = async |conditions: Vec<Condition>| {
            let filter = Filter { conditions, owner: None };
            let plan = bounded(&filter);
            matched(&database, &plan, Order::Newest).await.expect("a count")
        };
        let least = |recordings| Matched { recordings, is_least: true };
        assert_eq!(counted(vec![of_tag("even")]).await, least(1));
        assert_eq!(counted(vec![of_tag("even"), of_tag("odd")]).await, least(0));
        assert_eq!(counted(vec![of_tag("even"), Condition::Until { ms: 3 }]).await, Matched::exactly(2));
    });
}

#[test]
fn a_rare_word_and_a_short_list_are_looked_at_whole() {
    in_ten(async |database| {
        let many = u64::from(LOOKED_MAX) + 1;
        let looked_max = async |conditions: Vec<Condition>, all: u64| {
            let filter = Filter { conditions, owner: None };
            plan(&database, &filter, all).await.expect("a plan").looked_max
        };
        assert_eq!(looked_max(vec![of_tag("even")], many).await, None);
        assert_eq!(looked_max(vec![Condition::Since { ms: 0 }], many).await, Some(LOOKED_MAX));
        assert_eq!(looked_max(vec![Condition::Since { ms: 0 }], many - 1).await, None);
        assert_eq!(looked_max(Vec::new(), many).await, None);
    });
}

#[test]
fn a_page_says_how_many_were_looked_at() {
    in_ten(async |database| {
        let looked = async |conditions: Vec<Condition>, after: Option<Mark>| {
            let filter = Filter { conditions, owner: None };
            let plan = bounded(&filter);
            let listed = page(&database, &plan, Order::Newest, after.as_ref(), PAGE).await.expect("a page");
            (listed.looked, listed.next)
        };
        let mark = |created_ms: i64| Some(Mark { value: created_ms, id: format!("{created_ms:016}") });
        // All that it may look at, though one was found.
        assert_eq!(looked(vec![of_tag("even")], None).await, (Some(3), mark(7)));
        // It was full before.
        assert_eq!(looked(vec![Condition::Since { ms: 0 }], None).await, (Some(2), mark(8)));
        assert_eq!(looked(vec![of_tag("even")], mark(3)).await, (None, None));
        // What the order leaves out was not looked at.
        let early = vec![of_tag("even"), Condition::Until { ms: 5 }];
        assert_eq!(looked(early, None).await, (Some(3), mark(2)));
        let filter = Filter { conditions: vec![Condition::Since { ms: 0 }], owner: None };
        let whole = plan(&database, &filter, 10).await.expect("a plan");
        let first = page(&database, &whole, Order::Newest, None, PAGE).await.expect("a page");
        assert_eq!((first.looked, first.next), (None, mark(8)));
    });
}

#[test]
fn a_page_of_ones_own_goes_on_where_ones_own_ends() {
    in_ten(async |database| {
        let own = async |conditions: Vec<Condition>| {
            let filter = Filter { conditions, owner: None };
            let plan = bounded(&filter);
            let (mut found, mut after) = (Vec::new(), None::<Mark>);
            loop {
                let listed = own_page(&database, &plan, Order::Newest, after.as_ref(), PAGE).await.expect("a page");
                let made: Vec<i64> = listed.recordings.iter().map(|recording| recording.created_ms).collect();
                let goes_on_at = listed.next.as_ref().map(|mark| mark.value);
                assert!(goes_on_at.is_none() || goes_on_at == made.last().copied(), "{goes_on_at:?} after {made:?}");
                found.push(made);
                after = listed.next;
                if after.is_none() {
                    break found;
                }
            }
        };
        assert_eq!(own(vec![of_tag("even")]).await, expected(&[&[8, 6], &[4, 2], &[0]]));
        assert_eq!(own(vec![of_tag("even"), of_tag("odd")]).await, expected(&[&[]]));
    });
}

#[test]
fn what_tells_no_clock_is_neither_long_nor_short() {
    in_ten(async |database| {
        let mut transaction = database.begin().await.expect("a transaction");
        for (created_ms, cpu_ns, wall_ns) in [(3, Some(5), None), (4, Some(0), Some(7))] {
            let (facts, tags) = ("{}".to_owned(), Vec::new());
            let known = recordings::Known { program: "app".to_owned(), cpu_ns, wall_ns, facts, tags };
            let id = made_at(created_ms).id;
            assert!(recordings::learn(&mut transaction, &id, &known).await.expect("a row"));
        }
        commit(transaction).await.expect("they are kept");
        let found = async |of: Number, is_more: bool, than: u64| {
            pages(&database, vec![Condition::Number { of, is_more, than }], Order::Newest).await.concat()
        };
        assert_eq!(found(Number::CpuNs, false, 100).await, [4, 3]);
        assert_eq!(found(Number::CpuNs, true, 0).await, [3]);
        assert_eq!(found(Number::WallNs, false, 100).await, [4]);
        assert_eq!(found(Number::WallNs, true, 0).await, [4]);
        assert_eq!(found(Number::Bytes, false, 100).await.len(), 10);
    });
}

/// As if its words were frequent, and the list long.
fn bounded(filter: &Filter) -> Plan<'_> {
    Plan { filter, driver: None, matched: None, looked_max: Some(LOOKED) }
}

fn of_tag(word: &str) -> Condition {
    Condition::Word { kinds: vec![Kind::Tag], patterns: vec![Pattern::Word(word.to_owned())] }
}

fn expected(pages: &[&[i64]]) -> Vec<Vec<i64>> {
    pages.iter().map(|page| page.to_vec()).collect()
}

/// When the recordings of each page were made.
async fn pages(database: &Database, conditions: Vec<Condition>, order: Order) -> Vec<Vec<i64>> {
    let filter = Filter { conditions, owner: None };
    let plan = bounded(&filter);
    let (mut pages, mut after) = (Vec::new(), None::<Mark>);
    loop {
        let listed = page(database, &plan, order, after.as_ref(), PAGE).await.expect("a page");
        pages.push(listed.recordings.iter().map(|recording| recording.created_ms).collect());
        after = listed.next;
        if after.is_none() {
            return pages;
        }
    }
}

/// Recordings that were made at the milliseconds 0 to 9, each with the tag `even` or `odd`.
fn in_ten(test: impl AsyncFnOnce(Database)) {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let database = Database::embedded(folder.path(), Older::Grows).await.expect("a database");
        let mut transaction = database.begin().await.expect("a transaction");
        for created_ms in 0..10 {
            let made = made_at(created_ms);
            recordings::insert(&mut transaction, &made).await.expect("a row");
            let word = if created_ms % 2 == 0 { "even" } else { "odd" };
            let words = vec![(Kind::Tag, word.to_owned())];
            terms::replace(&mut transaction, &made, &[], words).await.expect("a word");
        }
        commit(transaction).await.expect("they are kept");
        test(database).await;
    });
}

fn made_at(created_ms: i64) -> Recording {
    Recording {
        id: format!("{created_ms:016}"),
        name: "app.genba".to_owned(),
        state: State::Open,
        live: true,
        owner: "lena".to_owned(),
        host: None,
        tags: Vec::new(),
        created_ms,
        touched_ms: created_ms,
        sealed_ms: None,
        bytes: 0,
        parts: 0,
        sha256: None,
        program: "app".to_owned(),
        facts: None,
    }
}
