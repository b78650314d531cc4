//! The colours of groups.

use std::collections::HashMap;

use super::picture::{COLORS, Place};

/// A colour for each group. Groups take the colours in turn, and skip those of adjacent groups, as long
/// as there are others.
pub(super) fn colors(
    places: &[Place],
    at: &HashMap<Vec<i64>, Vec<usize>>,
    groups: usize,
) -> Vec<usize> {
    let mut colors = vec![0; groups];
    let mut taken = vec![[false; COLORS]; groups];
    let neighbours = |place: &Place| {
        let rank = place.dims.len();
        let (row, column) = (rank.saturating_sub(2), rank.saturating_sub(1));
        let steps = (-1_i64..=1).flat_map(|down| (-1_i64..=1).map(move |right| (down, right)));
        let found = steps.filter(|_| rank > 0).filter_map(|(down, right)| {
            let mut dims = place.dims.clone();
            if row != column {
                dims[row] = dims[row].checked_add(down)?;
            }
            dims[column] = dims[column].checked_add(right)?;
            at.get(&dims).map(|all| all.iter().map(|&index| places[index].group))
        });
        found.flatten().collect::<Vec<_>>()
    };
    let mut touching: Vec<Vec<usize>> = vec![Vec::new(); groups];
    for place in places {
        touching[place.group].extend(neighbours(place));
    }
    for group in 0..groups {
        let mut turn = (0..COLORS).map(|step| (group + step) % COLORS);
        let color = turn.find(|&color| !taken[group][color]).unwrap_or(group % COLORS);
        colors[group] = color;
        for &other in touching[group].iter().filter(|&&other| other != group) {
            taken[other][color] = true;
        }
    }
    colors
}
