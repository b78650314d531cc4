//! The nearest known name.

/// Names longer than this are not compared.
const LONGEST: usize = 48;

/// The candidate nearest to `word` by edit distance (insert, delete, replace, swap neighbours),
/// ignoring case. `None` if no candidate is near enough. Cost: O(length squared) for each
/// candidate, for words of at most 48 characters.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(LONGEST + 1).flat_map(char::to_lowercase).collect();
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| {
            let other: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
            (distance(&word, &other), other.len().max(word.len()), candidate)
        })
        .filter(|&(distance, longer, _)| distance <= (longer / 4).max(1) && distance < longer)
        .min_by_key(|&(distance, ..)| distance)
        .map(|(.., candidate)| candidate)
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let before = std::mem::replace(&mut row, vec![i]);
        for j in 1..=b.len() {
            let replace = before[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(before[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(above[j - 2] + 1);
            }
            row.push(best);
        }
        above = before;
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_stranger_is_not() {
        let known = ["maple", "hornbeam", "hawthorn", "birch", "i", "j"];
        for (word, expected) in [
            ("mapel", Some("maple")),
            ("Hornbeem", Some("hornbeam")),
            ("hwathorn", Some("hawthorn")),
            ("brich", Some("birch")),
            ("willow", None),
            ("k", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(1 << 20), known), None);
    }
}
