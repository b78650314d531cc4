//! Tensors from arrays as other libraries have them, and those that everybody needs: zeros, identities, diagonals.

use ust_format::{Format, Given};
use ust_level_api::{Dtype, IndexArray, Scalar};

use crate::convert::build::{BuildOptions, Duplicates};
use crate::error::Error;
use crate::storage::coo::{Coo, Coordinate};
use crate::storage::{Parts, Tensor, Values};

impl Tensor {
    /// A matrix of entries `(rows[n], columns[n], values[n])`, in any order and any format. Entries at the same place
    /// are summed, as in SciPy and sprs. Row and column numbers are integers of any type.
    ///
    /// ```
    /// use ust::Tensor;
    /// let (rows, columns) = (vec![2_usize, 0, 2, 0], vec![1_usize, 3, 1, 0]);
    /// let a = Tensor::from_triplets((3, 4), rows, columns, vec![1.0, 2.0, 0.5, 4.0], "CSR")?;
    /// assert_eq!(a.pos(1).unwrap().to_vec(), [0, 2, 2, 3]);
    /// assert_eq!(a.values().typed::<f64>()?, [4.0, 2.0, 1.5]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`].
    pub fn from_triplets<'f, C: Coordinate>(
        shape: impl Into<[usize; 2]>,
        rows: Vec<C>,
        columns: Vec<C>,
        values: impl Into<Values>,
        format: impl Into<Given<'f>>,
    ) -> Result<Self, Error> {
        let coo = Coo::new(shape.into(), vec![rows, columns], values)?;
        let options = BuildOptions { duplicates: Duplicates::Sum, ..BuildOptions::default() };
        Self::from_coo_with(&coo, format, &options)
    }

    /// A matrix in CSR of its three arrays, in SciPy's words `indptr`, `indices` and `data`. Vectors are taken without
    /// a copy, in the width that they have; slices are copied.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::csr((2, 4), vec![0_usize, 1, 3], vec![2_usize, 0, 3], vec![1.0, 2.0, 3.0])?;
    /// assert_eq!(a.get_as::<f64>(&[1, 3])?, 3.0);
    /// let error = Tensor::csr((2, 3), [0, 1, 3], [2, 0, 3], [1.0, 2.0, 3.0]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "level 1 (`j : compressed`): crd[2] = 3: a coordinate lies in [0, 3)"
    /// );
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// The columns of a row ascend, and are distinct. For arrays where they need not, use [`Tensor::from_parts`] with
    /// the format `(i, j) -> (i : dense, j : compressed(nonunique, nonordered))`, and convert the result.
    ///
    /// # Errors
    /// As [`Tensor::from_parts`].
    pub fn csr(
        shape: impl Into<[usize; 2]>,
        indptr: impl Into<IndexArray>,
        indices: impl Into<IndexArray>,
        data: impl Into<Values>,
    ) -> Result<Self, Error> {
        compressed(
            &Format::resolve("CSR", Some(2))?,
            shape.into(),
            indptr.into(),
            indices.into(),
            data.into(),
        )
    }

    /// A matrix in CSC of its three arrays. As [`Tensor::csr`], with columns for rows.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::csc((4, 2), [0, 1, 3], [2, 0, 3], [1.0, 2.0, 3.0])?;
    /// assert_eq!(a.get_as::<f64>(&[3, 1])?, 3.0);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::from_parts`].
    pub fn csc(
        shape: impl Into<[usize; 2]>,
        indptr: impl Into<IndexArray>,
        indices: impl Into<IndexArray>,
        data: impl Into<Values>,
    ) -> Result<Self, Error> {
        compressed(
            &Format::resolve("CSC", Some(2))?,
            shape.into(),
            indptr.into(),
            indices.into(),
            data.into(),
        )
    }

    /// A matrix in BSR: block rows as in [`Tensor::csr`], and blocks of `block[0] x block[1]` values, each row-major,
    /// one after another in `data`.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::bsr((4, 4), (2, 2), [0, 1, 2], [1, 0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])?;
    /// assert_eq!((a.get_as::<f64>(&[1, 2])?, a.get_as::<f64>(&[2, 1])?), (3.0, 6.0));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::from_parts`].
    pub fn bsr(
        shape: impl Into<[usize; 2]>,
        block: impl Into<[usize; 2]>,
        indptr: impl Into<IndexArray>,
        indices: impl Into<IndexArray>,
        data: impl Into<Values>,
    ) -> Result<Self, Error> {
        let [rows, columns] = block.into();
        let name = format!("BSR({rows}, {columns})");
        compressed(
            &Format::resolve(&name, Some(2))?,
            shape.into(),
            indptr.into(),
            indices.into(),
            data.into(),
        )
    }

    /// The matrix with ones on its diagonal. They are stored as one, where the format has no padding.
    ///
    /// ```
    /// use ust::{Dtype, Tensor};
    /// let one = Tensor::eye(3, "CSR", Dtype::F64)?;
    /// assert_eq!((one.nse(), one.get_as::<f64>(&[2, 2])?), (3, 1.0));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`].
    pub fn eye<'f>(n: usize, format: impl Into<Given<'f>>, dtype: Dtype) -> Result<Self, Error> {
        let all: Vec<i64> = (0..n as i64).collect();
        Self::from_coo(&Coo::iso([n, n], vec![all.clone(), all], dtype.one())?, format)
    }

    /// The matrix with these diagonals: `(k, values)` has the elements `(i, i + k)`, from the first that lies in the
    /// matrix. As many values as the diagonal has elements, or one for all of them.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::diags((4, 4), &[(0, &[2.0]), (-1, &[1.0, 3.0, 5.0]), (2, &[7.0, 8.0])], "CSR")?;
    /// let expected = ndarray::array![
    ///     [2.0, 0.0, 7.0, 0.0],
    ///     [1.0, 2.0, 0.0, 8.0],
    ///     [0.0, 3.0, 2.0, 0.0],
    ///     [0.0, 0.0, 5.0, 2.0],
    /// ];
    /// assert_eq!(a.to_dense::<f64>()?, expected.into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of values; as [`Tensor::from_coo_with`].
    pub fn diags<'f, T: Copy>(
        shape: impl Into<[usize; 2]>,
        diagonals: &[(isize, &[T])],
        format: impl Into<Given<'f>>,
    ) -> Result<Self, Error>
    where
        Values: From<Vec<T>>,
    {
        let [rows, columns] = shape.into();
        let (mut crd, mut all) = (vec![Vec::new(), Vec::new()], Vec::new());
        for &(offset, values) in diagonals {
            let (row, column) = ((-offset).max(0) as usize, offset.max(0) as usize);
            let count = rows.saturating_sub(row).min(columns.saturating_sub(column));
            if values.len() != count && values.len() != 1 {
                let expected =
                    format!("diagonal {offset} has {count} elements: give as many values, or one");
                return Err(Error::Shape { found: vec![values.len()], expected });
            }
            crd[0].extend((row..row + count).map(|at| at as i64));
            crd[1].extend((column..column + count).map(|at| at as i64));
            all.extend(values.iter().cycle().take(count).copied());
        }
        Self::from_coo(&Coo::new([rows, columns], crd, all)?, format)
    }

    /// The tensor whose elements all have this value. They are stored as one, in a dense format.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let ones = Tensor::constant(&[1000, 1000], 1.0)?;
    /// assert_eq!((ones.get_as::<f64>(&[7, 9])?, ones.bytes()), (1.0, 8));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more elements than can be counted.
    pub fn constant(shape: &[usize], value: impl Into<Scalar>) -> Result<Self, Error> {
        let count = shape.iter().try_fold(1_usize, |all, &extent| all.checked_mul(extent));
        let count = count.ok_or_else(|| Error::TooLarge(format!("a tensor of shape {shape:?}")))?;
        Self::full(shape, Values::iso(value.into(), count))
    }
}

fn compressed(
    format: &Format,
    shape: [usize; 2],
    indptr: IndexArray,
    indices: IndexArray,
    data: Values,
) -> Result<Tensor, Error> {
    let mut levels = vec![Vec::new(); format.level_count()];
    let listed = format.descriptions().iter().position(|level| !level.arrays.is_empty());
    levels[listed.expect("a level with arrays")] = vec![indptr, indices];
    Tensor::from_parts(format, &shape, Parts::new(levels, data))
}
