//! Level types of Rust, asked through the table that their library exports, and asked directly.
#![allow(unsafe_code)]

use ust as _;
use ust_level_api::registry::{self, expressions_tried, factories};
use ust_level_api::{Description, Entries, LevelArgs, LevelType, Place, Site};

use super::level::Plugged;
use super::table;
use crate::words::kept;

/// Each linked level type, for each of its samples: itself, and what a program makes of its table.
fn both() -> Vec<(Box<dyn LevelType>, Plugged)> {
    // SAFETY: the table is one of this program.
    let raw = unsafe { &*crate::export::table() };
    let raw = table::list(raw.levels, u64::from(raw.level_count), "level types").unwrap();
    let types: Vec<_> = raw.into_iter().map(|raw| table::read(raw).unwrap()).collect();
    let samples = factories().into_iter().flat_map(|factory| factory.samples);
    samples
        .map(|sample| {
            let args = LevelArgs::simple(sample);
            let own = registry::make(&args).unwrap();
            let name = own.describe().name;
            let ty = types.iter().find(|ty| ty.name == name).unwrap();
            // Aliases mean canonical texts.
            let args = LevelArgs::simple(&own.describe().text);
            (own, Plugged::make(ty, kept(name), &args).unwrap())
        })
        .collect()
}

#[test]
fn levels_answer_through_a_table_as_they_do_directly() {
    let all = both();
    let parents: Vec<Description> = all.iter().map(|(own, _)| own.describe()).collect();
    let text = |form: Option<Box<dyn LevelType>>| form.map(|form| form.describe().text);
    let (mut relaxed, mut adapted, mut joins, mut batches) = (0, 0, 0, 0);
    for (own, plugged) in &all {
        let name = own.describe().text;
        assert_eq!(own.describe(), plugged.describe(), "{name}");
        assert_eq!(own.joins_alike(), plugged.joins_alike(), "{name}");
        assert_eq!(own.is_batch(), plugged.is_batch(), "{name}");
        joins += usize::from(own.joins_alike());
        batches += usize::from(own.is_batch());
        relaxed += usize::from(own.relaxed().is_some());
        assert_eq!(text(own.relaxed()), text(plugged.relaxed()), "{name}");
        for expr in expressions_tried() {
            for (last, single) in [(true, false), (false, false), (false, true)] {
                for parent in parents.iter().map(Some).chain([None]) {
                    for leading in [true, false] {
                        let place = Place { parent, expr, last, single, leading };
                        assert_eq!(own.fits(&place), plugged.fits(&place), "{name} {place:?}");
                        adapted += usize::from(own.adapted(&place).is_some());
                        assert_eq!(
                            text(own.adapted(&place)),
                            text(plugged.adapted(&place)),
                            "{name}"
                        );
                    }
                }
            }
        }
    }
    // Each was seen to say yes.
    assert!([relaxed, adapted, joins, batches].iter().all(|&count| count > 0));
}

#[test]
fn what_is_alike_comes_through_a_table() {
    let site = Site { size: 9, ..Site::default() };
    let mut seen = 0;
    for (own, plugged) in both().into_iter().filter(|(own, _)| own.joins_alike()) {
        let mut entries = Entries::new(3, [0, 0, 0, 1, 1], [2, 3, 4, 0, 1]);
        entries.distinct = true;
        // A level that holds one run refuses these.
        let apart =
            own.assemble(&site, &entries).map_or(entries.len() as u64, |made| made.positions);
        entries.alike = Some(vec![false, true, true, false, true].into());
        let (direct, through) = (own.assemble(&site, &entries), plugged.assemble(&site, &entries));
        let direct = direct.unwrap();
        assert_eq!(direct, through.unwrap());
        // One that is told to leave them apart does.
        seen += usize::from(direct.positions < apart);
    }
    assert!(seen > 1);
}

#[test]
fn children_are_inserted_and_removed_through_a_table_as_they_are_directly() {
    let (mut inserted, mut removed, mut moved, mut grown) = (0, 0, 0, 0);
    for (own, plugged) in both() {
        let name = own.describe().text;
        if !own.describe().props.unique {
            continue;
        }
        let entries = Entries::new(3, [0, 0, 1, 1, 1, 2], [2, 5, 0, 6, 8, 3]);
        for room in [false, true] {
            let site = Site { size: 9, room, ..Site::default() };
            let Ok(made) = own.assemble(&site, &entries) else { continue };
            assert_eq!(plugged.assemble(&site, &entries), Ok(made.clone()), "{name}");
            let (mut direct, mut through) = (made.arrays.clone(), made.arrays);
            for (parent, crd) in [(0, 3), (1, 1), (2, 4), (2, 0), (1, 7)] {
                let change = own.insert(&site, &mut direct, parent, crd);
                assert_eq!(change, plugged.insert(&site, &mut through, parent, crd), "{name}");
                assert_eq!(direct, through, "{name}");
                let Ok(Some(change)) = change else { continue };
                inserted += 1;
                moved += change.moves.len();
                grown += usize::from(change.positions > made.positions);
                // One of them goes again.
                if crd % 2 == 0 {
                    let change = own.remove(&site, &mut direct, parent, change.pos);
                    let pos = change.as_ref().unwrap().as_ref().unwrap().pos;
                    assert_eq!(change, plugged.remove(&site, &mut through, parent, pos), "{name}");
                    assert_eq!(direct, through, "{name}");
                    removed += 1;
                }
            }
        }
    }
    // Each was seen.
    assert!([inserted, removed, moved, grown].iter().all(|&count| count > 0));
}
