//! Values that no coordinate reaches are nobody's: beside diagonals, between segments, outside the
//! shape.

use ust::ops::{einsum, oracle};
use ust::tensor::Parts;
use ust::{Backend, Format, IndexArray, Scalar, Tensor};

/// Tensors of one to nine, with strays of 100 and more.
fn tensors() -> Vec<Tensor> {
    let from = |text: &str, shape: &[usize], levels: Vec<Vec<IndexArray>>, values: Vec<f64>| {
        let format: Format = text.parse().unwrap();
        Tensor::from_parts(&format, shape, Parts::new(levels, values)).expect(text)
    };
    let array = |words: Vec<u32>| IndexArray::from(words);
    let signed = |words: Vec<i32>| IndexArray::from(words);
    vec![
        // What scipy.sparse.spdiags leaves before a diagonal.
        from(
            "DIA-J",
            &[3, 3],
            vec![vec![array(vec![0, 2]), signed(vec![0, 1])], vec![]],
            vec![1.0, 2.0, 3.0, 100.0, 4.0, 5.0],
        ),
        from(
            "(i, j) -> (i : dense, j : loose_compressed)",
            &[2, 4],
            vec![vec![], vec![array(vec![1, 2, 4, 6]), array(vec![9, 1, 9, 9, 0, 3])]],
            vec![100.0, 1.0, 300.0, 100.0, 2.0, 3.0],
        ),
        // The last row of the blocks lies outside.
        from(
            "BSR(2, 2)",
            &[3, 2],
            vec![vec![], vec![array(vec![0, 1, 2]), array(vec![0, 0])], vec![], vec![]],
            vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0, 700.0],
        ),
    ]
}

#[test]
fn strays_are_in_no_result() {
    for tensor in tensors() {
        for text in [
            "s = A(i,j)",
            "s = 2 * A(i,j)",
            "s = A(i,j) * A(i,j)",
            "s = sqrt(sum(i,j, A(i,j) * A(i,j)))",
            "s = any(i,j, A(i,j) > 50)",
            "s = max(i,j, A(i,j))",
            "y(i) = A(i,j)",
            "C(i,j) = 3 * A(i,j)",
        ] {
            for backend in [Backend::Auto, Backend::INTERPRETER] {
                let expression = || einsum(text).arg("A", &tensor).backend(backend);
                let expected = oracle::evaluate(&expression()).unwrap().to_coo().unwrap();
                let found = expression().run().unwrap();
                for at in 0..expected.len() {
                    let element = found.get(&expected.coordinates(at)).unwrap();
                    let value = expected.values.get(at).unwrap();
                    assert!(
                        oracle::close(element, value),
                        "{text}: {element}, {value}, {tensor:?}"
                    );
                }
                if found.rank() == 2 {
                    // Nor in what is made of that.
                    let sum = einsum("s = C(i,j)").arg("C", &found).run().unwrap();
                    let twice = einsum("s = 3 * A(i,j)").arg("A", &tensor).run().unwrap();
                    assert_eq!(sum, twice, "{tensor:?}");
                }
            }
        }
    }
}

#[test]
fn kernels_that_were_prepared_without_strays_leave_them_out() {
    for tensor in tensors() {
        let clean = Tensor::from_coo(&tensor.to_coo().unwrap(), tensor.format()).unwrap();
        let kernel = einsum("s = A(i,j)").arg("A", &clean).prepare().unwrap();
        let expected = kernel.run(&[&clean]).unwrap();
        assert_eq!(kernel.run(&[&tensor]).unwrap(), expected, "{tensor:?}");
        // Written by hand, where nobody looks.
        let mut written = clean.clone();
        written.values_mut::<f64>().unwrap().fill(1.0);
        let sum = kernel.run(&[&written]).unwrap().get(&[]).unwrap();
        let reached = Scalar::F64(written.to_coo().unwrap().len() as f64);
        assert!(sum.same(&reached), "{sum}, not {reached}: {tensor:?}");
    }
}

#[test]
fn strays_are_no_elements_of_what_shares_levels() {
    for tensor in tensors() {
        let x = vec![2.0; tensor.shape()[1]];
        let x = Tensor::from_array(ust::ndarray::Array1::from(x).into_dyn()).unwrap();
        let call = einsum("C(i,j) = A(i,j) * x(j)").arg("A", &tensor).arg("x", &x);
        let found = call.format(tensor.format()).run().unwrap();
        assert!(found.same_structure(&tensor));
        let values = found.values().typed::<f64>().unwrap();
        assert!(values.iter().all(|&value| value < 100.0), "{values:?}");
        let sum = einsum("s = C(i,j)").arg("C", &found).run().unwrap();
        let twice = einsum("s = 2 * A(i,j)").arg("A", &tensor).run().unwrap();
        assert_eq!(sum, twice, "{tensor:?}");
    }
}
