//! Conversions of tensors that are large enough for the quick ways, by one thread and by several.

use ust::tensor::{BuildOptions, Parts, Window};
use ust::{Coo, Dtype, Format, IndexArray, Scalar, Tensor};

/// Entries at chance places, in no order; `twice` of a hundred stand twice.
fn entries(shape: &[usize], count: usize, twice: u64) -> Coo {
    let mut state = count as u64 + 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut crd: Vec<Vec<i64>> = shape.iter().map(|_| Vec::new()).collect();
    let mut values = Vec::new();
    let mut seen = std::collections::HashSet::new();
    while values.len() < count {
        let place: Vec<i64> = shape.iter().map(|&n| (next() % n as u64) as i64).collect();
        if !seen.insert(place.clone()) && next() % 100 >= twice {
            continue;
        }
        crd.iter_mut().zip(&place).for_each(|(column, &c)| column.push(c));
        // Sums of these are exact, in whatever order.
        values.push((next() % 64) as f64 + 1.0);
    }
    Coo::new(shape.to_vec(), crd, values).unwrap()
}

/// The element at each place, summed by hand.
fn sums(coo: &Coo) -> std::collections::BTreeMap<Vec<usize>, f64> {
    let mut sums = std::collections::BTreeMap::new();
    for at in 0..coo.len() {
        let Some(Scalar::F64(value)) = coo.values.get(at) else { panic!("all are f64") };
        *sums.entry(coo.coordinates(at)).or_default() += value;
    }
    sums
}

fn in_pools(run: impl Fn() + Sync) {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&run);
    }
}

fn all_pairs(shape: &[usize], count: usize, formats: &[&str]) {
    pairs_of(&entries(shape, count, 0), formats);
}

fn pairs_of(coo: &Coo, formats: &[&str]) {
    let expected = sums(coo);
    let formats: Vec<Format> =
        formats.iter().map(|text| Format::resolve(text, Some(coo.shape.len())).unwrap()).collect();
    in_pools(|| {
        for from in &formats {
            let source = Tensor::from_coo(coo, from).unwrap();
            for to in &formats {
                let made = source.convert(to).unwrap();
                assert_eq!(sums(&made.to_coo().unwrap()), expected, "`{from}` to `{to}`");
                // Arrays and all: the same as built from the entries.
                assert_eq!(made, Tensor::from_coo(coo, to).unwrap(), "`{from}` to `{to}`");
            }
        }
    });
}

#[test]
fn diagonals_and_blocks_become_rows_on_the_way() {
    let shape = [1703, 1650];
    // Near the diagonal, on either side of it.
    let mut coo = entries(&[1600, 31], 36_000, 0);
    let (rows, columns) = coo.crd.split_at_mut(1);
    rows[0].iter_mut().zip(&mut columns[0]).for_each(|(i, j)| {
        (*i, *j) = (*i + 11, *i + *j);
    });
    coo.shape = shape.to_vec();
    let formats = [
        "CSR",
        "CSC",
        "COO",
        "Dense",
        "DIA-I",
        "DIA-J",
        "BSR(4, 4)",
        "BSC-Col(2, 8)",
        "(i, j) -> (i / 4 : dense, j / 4 : dense, i % 4 : dense, j % 4 : dense)",
        "(i, j) -> (i / 4 : dense, j : compressed, i % 4 : dense)",
        "(i, j) -> (i / 3 : compressed, i % 3 : compressed, j : compressed)",
        "(i, j) -> (i / 3 : compressed, j / 2 : compressed, i % 3 : compressed, j % 2 : dense)",
        "(i, j) -> (j / 3 : compressed, i : compressed, j % 3 : dense)",
        "(i, j) -> (i : compressed(nonunique), j / 4 : singleton, j % 4 : dense)",
        "(i, j) -> (i : dense, j / 4 : compressed, j % 4 : structured(4, 4))",
    ];
    pairs_of(&coo, &formats);
}

#[test]
fn matrices_are_transposed_and_compressed() {
    let blocked = "(i, j) -> (i / 4 : dense, j / 4 : compressed, i % 4 : dense, j % 4 : dense)";
    let formats =
        ["CSR", "CSC", "COO", "DCSR", "DCSC", "Dense", "DenseCol", "CROW", "DIA-I", blocked];
    all_pairs(&[500, 300], 40_000, &formats);
    // More entries than padding.
    all_pairs(&[120, 110], 11_000, &["CSR", "CSC", "Dense", "DenseCol", "CROW", blocked]);
    // About as many rows and columns as entries: not every thread can count each of them.
    all_pairs(&[25_000, 30_000], 40_000, &["CSR", "CSC", "COO", "DCSR", "DCSC"]);
}

#[test]
fn differences_sums_and_groups_are_transposed() {
    let formats = [
        "CSR",
        "CSC",
        "DCSC",
        "DIA-J",
        "(i, j) -> (i - j : compressed, j : compressed)",
        "(i, j) -> (i + j : compressed, j : compressed)",
        "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(4, 4))",
        "(i, j) -> (i / 4 : dense, j : compressed, i % 4 : dense)",
        "(i, j) -> (i : compressed, j / 8 : compressed, j % 8 : compressed)",
        // Padding that stands for rows and columns below the first.
        "(i, j) -> (i - j : dense, j / 4 : compressed, j % 4 : dense)",
        "(i, j) -> (i - j : dense, i / 4 : compressed, i % 4 : dense)",
    ];
    all_pairs(&[500, 300], 40_000, &formats);
}

#[test]
fn blocks_are_filled_piece_by_piece() {
    let formats = [
        "CSR",
        "CSC",
        "BSR(4, 4)",
        "BSC(2, 8)",
        "(i, j) -> (i / 3 : dense, j / 5 : compressed, i % 3 : dense, j % 5 : dense)",
        "(i, j) -> (i / 3 : compressed, j / 5 : compressed, j % 5 : dense, i % 3 : dense)",
        "(i, j) -> (i / 4 : dense, j : compressed, i % 4 : dense)",
        "(i, j) -> (i : dense, j / 4 : compressed, j % 4 : dense)",
    ];
    all_pairs(&[1003, 777], 90_000, &formats);
    // Blocks of a row lie far apart.
    all_pairs(&[25_000, 30_000], 40_000, &["CSR", "CSC", "BSR(4, 4)", "BSR(3, 5)"]);
    let deep = "(i, j, k) -> (i / 2 : dense, j : compressed, k / 4 : compressed, i % 2 : dense, k % 4 : dense)";
    let flat = "(i, j, k) -> (i : dense, j : compressed, k : compressed)";
    all_pairs(&[101, 50, 70], 60_000, &[flat, "CSF", deep]);
}

#[test]
fn entries_that_equal_the_fill_value_make_no_block() {
    let mut coo = entries(&[1003, 777], 90_000, 0);
    let Some(Scalar::F64(last)) = coo.values.get(89_999) else { panic!("all are f64") };
    let blocked: Format = "BSR(4, 4)".parse().unwrap();
    for value in [0.0, last] {
        let mut values: Vec<f64> = coo.values.typed::<f64>().unwrap().to_vec();
        values[89_999] = value;
        coo.values = values.into();
        in_pools(|| {
            for fill in [0.0, last] {
                let options = BuildOptions { fill: Some(fill.into()), ..Default::default() };
                let source = Tensor::from_coo_with(&coo, "CSR", &options).unwrap();
                let made = source.convert(&blocked).unwrap();
                assert_eq!(made, Tensor::from_coo_with(&coo, &blocked, &options).unwrap());
                let kept = sums(&coo).into_values().filter(|&value| value != fill).count();
                assert_eq!(made.to_coo().unwrap().len(), kept);
            }
        });
    }
}

#[test]
fn padding_of_any_value_is_left_out_of_rows_and_columns() {
    let coo = entries(&[401, 397], 30_000, 0);
    let format = |text: &str| Format::resolve(text, Some(2)).unwrap();
    let padded = ["Dense", "DIA-I", "DIA-J", "BSR(4, 4)", "BSC(2, 8)"].map(format);
    in_pools(|| {
        for fill in [0.0, 5.0, -0.0, f64::INFINITY, f64::NAN] {
            let options = BuildOptions { fill: Some(fill.into()), ..Default::default() };
            for from in &padded {
                let source = Tensor::from_coo_with(&coo, from, &options).unwrap();
                let kept = sums(&coo).into_iter().filter(|&(_, value)| value != fill);
                let kept: std::collections::BTreeMap<_, _> = kept.collect();
                let strips = "(i, j) -> (i : dense, j / 4 : compressed, j % 4 : dense)";
                let high = "(i, j) -> (i / 4 : dense, j : compressed, i % 4 : dense)";
                for to in ["CSR", "CSC", "COO", strips, high] {
                    let made = source.convert(format(to)).unwrap();
                    assert_eq!(sums(&made.to_coo().unwrap()), kept, "`{from}` to `{to}`, {fill}");
                    assert!(made.fill().same(&fill.into()));
                    let values = made.values().typed::<f64>().unwrap();
                    let padding = values.iter().filter(|&&value| value == 0.0);
                    let bits = |value: f64| value.to_bits();
                    assert!(fill != 0.0 || padding.into_iter().all(|&v| bits(v) == bits(fill)));
                }
            }
        }
    });
}

#[test]
fn strays_in_blocks_come_into_no_others() {
    let coo = entries(&[1003, 777], 90_000, 0);
    let format = |text: &str| Format::resolve(text, Some(2)).unwrap();
    let strips = format("(i, j) -> (i / 4 : dense, j : compressed, i % 4 : dense)");
    for from in ["BSR(4, 4)", "BSR(2, 4)", "BSR-Col(4, 4)"].map(format) {
        let own = Tensor::from_coo(&coo, &from).unwrap();
        // Places outside the shape: as if the shape were larger, some of them taken.
        let larger = Coo { shape: vec![1004, 780], ..coo.clone() };
        let mut larger = Tensor::from_coo(&larger, &from).unwrap().to_coo().unwrap();
        for column in 777..780 {
            larger.crd[0].push(1002);
            larger.crd[1].push(column);
        }
        (0..780).step_by(4).for_each(|column| {
            larger.crd[0].push(1003);
            larger.crd[1].push(column);
        });
        let mut values: Vec<f64> = larger.values.typed::<f64>().unwrap().to_vec();
        values.resize(larger.crd[0].len(), 100.0);
        larger.values = values.into();
        let larger = Tensor::from_coo(&larger, &from).unwrap();
        let levels = larger.levels().iter().map(|level| level.0.clone()).collect();
        let parts = Parts::new(levels, larger.values().clone());
        let stray = Tensor::from_parts(&from, &coo.shape, parts).unwrap();
        assert_eq!(stray.to_coo().unwrap(), own.to_coo().unwrap());
        let others = [&strips, &format("BSR(4, 4)"), &format("BSC(2, 4)")];
        for to in others.into_iter().filter(|&to| *to != from) {
            let wanted = Tensor::from_coo(&coo, to).unwrap();
            in_pools(|| assert_eq!(stray.convert(to).unwrap(), wanted, "`{from}` to `{to}`"));
        }
    }
}

#[test]
fn what_is_stored_as_it_is_wanted_is_shared() {
    let coo = entries(&[1000, 300], 30_000, 0);
    let rows = Tensor::from_coo(&coo, "CSR").unwrap();
    let list = rows.convert("COO").unwrap();
    let back = list.convert("CSR").unwrap();
    let columns = |tensor: &Tensor| match &tensor.levels()[1].0[..] {
        [.., IndexArray::U32(crd)] => crd.clone(),
        other => panic!("coordinates of four bytes, not {other:?}"),
    };
    for other in [&list, &back] {
        assert!(columns(&rows).shares_memory_with(&columns(other)));
        let start = |tensor: &Tensor| tensor.values().typed::<f64>().unwrap().as_ptr();
        assert_eq!(start(&rows), start(other));
    }
    assert_eq!(back, rows);
    // Wide, narrow and sliced ones are written anew, and nothing is lost.
    for widths in ["posWidth = 64", "crdWidth = 16", "posWidth = 64, crdWidth = 64"] {
        let from = format!("(i, j) -> (i : dense, j : compressed), {widths}");
        let from = rows.convert(from).unwrap();
        assert_eq!(from.convert(list.format()).unwrap(), list);
    }
    let window = |offset, size, stride| Window { offset, size, stride };
    let half = rows.slice([window(0, 500, 2), window(10, 100, 1)]).unwrap();
    let made = half.convert(list.format()).unwrap();
    assert_eq!(sums(&made.to_coo().unwrap()), sums(&half.to_coo().unwrap()));
}

#[test]
fn tensors_are_transposed_at_any_level() {
    let orders = ["(k, i, j)", "(j, i, k)", "(k, j, i)"].map(|order| {
        let levels = order.trim_matches(['(', ')']).replace(", ", " : compressed, ");
        format!("(i, j, k) -> ({levels} : compressed)")
    });
    let texts: Vec<&str> = ["CSF", "COO"].into_iter().chain(orders.iter().map(|o| &**o)).collect();
    all_pairs(&[60, 50, 70], 40_000, &texts);
}

#[test]
fn entries_that_stand_twice_are_summed() {
    // In the last, rows end as others begin, and some are empty.
    let shapes = [[400, 300], [60_000, 50], [3, 70_000], [20_000, 2]];
    for (shape, count) in shapes.into_iter().zip([50_000, 40_000, 40_000, 50_000]) {
        let coo = entries(&shape, count, 90);
        let expected = sums(&coo);
        assert!(expected.len() < coo.len());
        in_pools(|| {
            for format in ["CSR", "CSC", "DCSR", "COO"] {
                let format: Format = format.parse().unwrap();
                let made = Tensor::from_coo(&coo, &format).unwrap();
                assert_eq!(sums(&made.to_coo().unwrap()), expected, "`{format}`");
                assert_eq!(made.sum_duplicates().unwrap().nse(), expected.len(), "`{format}`");
                // Values of every width: all sums are exact in each.
                for dtype in [Dtype::I16, Dtype::F32, Dtype::Complex64, Dtype::Complex128] {
                    let cast = Coo { values: coo.values.cast(dtype).unwrap(), ..coo.clone() };
                    let other = Tensor::from_coo(&cast, &format).unwrap();
                    assert_eq!(other, made.cast(dtype).unwrap(), "`{format}` of {dtype}");
                }
            }
        });
    }
}

#[test]
fn a_sum_that_no_integer_holds_is_refused_with_its_place() {
    let n = 40_000_i64;
    let mut crd = vec![(0..n).rev().collect::<Vec<_>>(), (0..n).map(|at| at % 7).collect()];
    crd[0].push(5);
    crd[1].push((n - 6) % 7);
    let mut values = vec![100_i8; n as usize];
    values.push(100);
    let coo = Coo::new(vec![n as usize, 7], crd, values).unwrap();
    in_pools(|| {
        let error = Tensor::from_coo(&coo, "CSR").unwrap_err().to_string();
        assert!(error.contains("[5, ") && error.contains("i8"), "{error}");
    });
}

#[test]
fn entries_far_apart_are_transposed_through_buckets() {
    let transposed = |shape: &[usize], from: &str, others: &[&str]| {
        let coo = entries(shape, 1_100_000, 0);
        let format = |text: &str| Format::resolve(text, Some(shape.len())).unwrap();
        let source = Tensor::from_coo(&coo, format(from)).unwrap();
        for text in others {
            // Built from entries in no order, which takes another way.
            let expected = Tensor::from_coo(&coo, format(text)).unwrap();
            in_pools(|| assert_eq!(source.convert(format(text)).unwrap(), expected, "`{text}`"));
        }
    };
    transposed(&[400_000, 300_000], "CSR", &["CSC", "DCSC"]);
    let permuted = "(i, j, k) -> (k : dense, i : compressed(nonunique), j : singleton)";
    transposed(&[3000, 2000, 50_000], "CSF", &[permuted]);
}

/// A third of all places: some columns are moved for all rows, then the next.
#[test]
fn full_rows_are_transposed_some_columns_at_a_time() {
    let shape = [600_usize, 3001];
    let stored = |i: usize, j: usize| (i * 5 + j * j).is_multiple_of(3);
    let [rows, columns]: [Format; 2] = ["CSR", "CSC"].map(|text| text.parse().unwrap());
    let places = || (0..shape[0]).flat_map(|i| (0..shape[1]).map(move |j| (i, j)));
    let held: Vec<(usize, usize)> = places().filter(|&(i, j)| stored(i, j)).collect();
    let mut ends = vec![0; shape[0] + 1];
    held.iter().for_each(|&(i, _)| ends[i + 1] += 1);
    (0..shape[0]).for_each(|i| ends[i + 1] += ends[i]);
    let values: Vec<f32> = (0..held.len()).map(|at| at as f32).collect();
    let of = |levels: Vec<IndexArray>| {
        let parts = Parts::new(vec![vec![], levels], values.clone());
        Tensor::from_parts(&rows, &shape, parts).unwrap()
    };
    let signed = || held.iter().map(|&(_, j)| j as i32).collect::<Vec<_>>();
    let unsigned = || held.iter().map(|&(_, j)| j as u32).collect::<Vec<_>>();
    let starts: Vec<u32> = ends.iter().map(|&end| end as u32).collect();
    for source in
        [of(vec![ends.clone().into(), signed().into()]), of(vec![starts.into(), unsigned().into()])]
    {
        in_pools(|| {
            let made = source.convert(&columns).unwrap();
            let coo = made.to_coo().unwrap();
            let mut order: Vec<usize> = (0..held.len()).collect();
            order.sort_by_key(|&at| (held[at].1, held[at].0));
            for (at, &from) in order.iter().enumerate() {
                assert_eq!(coo.coordinates(at), [held[from].0, held[from].1]);
                assert_eq!(coo.values.get(at), Some(Scalar::F32(from as f32)));
            }
            assert_eq!(made.convert(&rows).unwrap().to_coo().unwrap(), source.to_coo().unwrap());
        });
    }
}
