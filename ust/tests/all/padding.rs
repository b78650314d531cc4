//! Padding is never an entry: not when reading, not when foreign arrays are checked.

use ust::tensor::{BuildOptions, Tensor};
use ust::{Backend, Coo, Scalar, einsum};

/// Blocks of a nonunique level that overlap: what pads one of them is stored in another.
const OVERLAPPING: [&str; 4] = [
    "(i, j) -> (i : compressed(nonunique), j : dense)",
    "(i, j) -> (j - i : compressed(nonunique), i : range)",
    "(i, j) -> (i : compressed(nonunique), j / 4 : dense, j % 4 : block2_4)",
    "(i, j) -> (i : compressed(nonunique, nonordered), j / 4 : dense, j % 4 : structured(1, 4))",
];

fn twice(fill: f64) -> Coo {
    let crd = vec![vec![0, 0, 0, 2], vec![1, 1, 2, 0]];
    Coo::new(vec![3, 4], crd, vec![1.0, 2.0, 4.0, fill]).unwrap()
}

#[test]
fn what_pads_one_block_does_not_add_to_another() {
    for text in OVERLAPPING {
        for fill in [0.0, 7.0, f64::NAN] {
            let options = BuildOptions { fill: Some(Scalar::F64(fill)), ..Default::default() };
            let tensor = Tensor::from_coo_with(&twice(fill), text, &options).unwrap();
            for i in 0..3 {
                for j in 0..4 {
                    let expected = match (i, j) {
                        (0, 1) => 3.0,
                        (0, 2) => 4.0,
                        _ => fill,
                    };
                    let found = tensor.get(&[i, j]).unwrap();
                    assert!(found.same(&Scalar::F64(expected)), "{text}, fill {fill}: {found}");
                }
            }
        }
    }
}

#[test]
fn padding_of_overlapping_blocks_is_no_duplicate() {
    for text in OVERLAPPING {
        let tensor = Tensor::from_coo(&twice(0.0), text).unwrap();
        let (format, shape, parts) = tensor.clone().into_parts();
        let again = Tensor::from_parts(&format, &shape, parts);
        assert_eq!(again.expect(text), tensor);
    }
}

#[test]
fn padding_before_the_first_coordinate_inside_the_shape_stops_no_loop_over_all() {
    // On the diagonal that begins in row 2, a filler stands for row 1.
    let format = "(i, j) -> (j - i : delta(1), i : delta(1))";
    let coo = Coo::new(vec![3, 1], vec![vec![2], vec![0]], vec![4.0]).unwrap();
    let a = Tensor::from_coo(&coo, format).unwrap();
    assert_eq!(a.values().typed::<f64>().unwrap(), [0.0, 4.0]);
    let b = Tensor::from_array(ust::ndarray::arr1(&[0.5]).into_dyn()).unwrap();
    for backend in [Backend::INTERPRETER, Backend::JIT] {
        let sum = einsum("C(i,j) = A(i,j) + b(j)").arg("A", &a).arg("b", &b).backend(backend);
        let sum = sum.run().unwrap();
        let found: Vec<Scalar> = (0..3).map(|i| sum.get(&[i, 0]).unwrap()).collect();
        assert_eq!(found, [0.5, 0.5, 4.5].map(Scalar::F64));
    }
}
