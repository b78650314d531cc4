//! Segments, totals and places of entries, beside plain loops.

use super::*;

fn entries(parents: Pos, parent: &[i64], crd: &[i64]) -> Entries {
    Entries::new(parents, parent, crd)
}

#[test]
fn equal_coordinates_are_one_child_where_unique() {
    let e = entries(3, &[0, 0, 0, 2], &[1, 1, 4, 0]);
    let unique = e.segments(true).unwrap();
    assert_eq!(unique.offsets, [0, 2, 2, 3]);
    assert_eq!(unique.crd, [1, 4, 0]);
    assert_eq!(unique.child, [0, 0, 1, 2]);
    let all = e.segments(false).unwrap();
    assert_eq!(all.offsets, [0, 3, 3, 4]);
    assert_eq!(all.child, [0, 1, 2, 3]);
}

#[test]
fn parents_that_do_not_ascend_get_their_children_side_by_side() {
    let e = entries(3, &[2, 2, 0], &[5, 6, 7]);
    let s = e.segments(true).unwrap();
    assert_eq!(s.offsets, [0, 1, 1, 3]);
    assert_eq!(s.crd, [7, 5, 6]);
    assert_eq!(s.child, [1, 2, 0]);
}

#[test]
fn long_columns_are_split_and_agree_with_a_plain_loop() {
    let n = 3 * (1 << 16) + 7;
    for sharing in [1, 2] {
        // Every fifth parent is childless; sometimes neighbours share a coordinate.
        let parent: Vec<i64> = (0..n as i64).map(|v| v / 10 + v / 40 + 2).collect();
        let crd: Vec<i64> = (0..n as i64).map(|v| v % 10 / sharing).collect();
        let parents = parent[n - 1] as u64 + 3;
        let wide = entries(parents, &parent, &crd).segments(true).unwrap();
        let narrow = Entries::new(
            parents,
            parent.iter().map(|&v| v as u32).collect::<Vec<_>>(),
            crd.iter().map(|&v| v as i32).collect::<Vec<_>>(),
        );
        assert_eq!(narrow.segments(true).unwrap(), wide);
        let mut child = Vec::new();
        let mut offsets = vec![0; parents as usize + 1];
        let mut heads = 0;
        for at in 0..n {
            if at == 0 || (parent[at], crd[at]) != (parent[at - 1], crd[at - 1]) {
                heads += 1;
                offsets[parent[at] as usize + 1] += 1;
            }
            child.push(heads - 1);
        }
        scan(&mut offsets);
        assert_eq!(wide.child.to_vec(), child);
        assert_eq!(wide.crd.len() as i64, heads);
        assert_eq!(wide.offsets.to_vec(), offsets);
    }
}

#[test]
fn children_of_runs_are_those_of_their_numbers() {
    for starts in [&[0, 0][..], &[0, 3], &[0, 2, 2, 2, 3, 5, 5]] {
        let runs = IndexColumn::Runs(starts.to_vec().into());
        let (n, numbers) = (runs.len(), runs.to_vec());
        let found = Entries::new(2, IndexColumn::Same(1, n), runs).segments(true).unwrap();
        let expected = Entries::new(2, vec![1_i64; n], numbers).segments(true).unwrap();
        assert_eq!(found, expected);
        assert_eq!(found.offsets.at(1), 0);
    }
}

#[test]
fn columns_that_follow_a_rule_are_entries_like_others() {
    let ruled =
        Entries::new(4, IndexColumn::Count(4), IndexColumn::Same(7, 4)).segments(true).unwrap();
    assert_eq!(ruled, entries(4, &[0, 1, 2, 3], &[7; 4]).segments(true).unwrap());
    let root = Entries::new(1, IndexColumn::Same(0, 3), [1, 1, 5]).segments(true).unwrap();
    assert_eq!(root, entries(1, &[0; 3], &[1, 1, 5]).segments(true).unwrap());
    let none =
        Entries::new(2, IndexColumn::Same(0, 0), IndexColumn::Count(0)).segments(true).unwrap();
    assert_eq!(none.offsets, [0, 0, 0]);
}
