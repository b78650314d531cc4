//! Statements of other projects: each tried, or excluded for a reason.

mod conversions;
mod formats;
mod storage;

use serde_json::Value;

use crate::report::{Trouble, Verdict, wrong};

/// How a statement is dealt with.
enum Treatment {
    /// It holds here, as this code shows.
    Holds(fn(&Value) -> Verdict),
    /// It cannot be tried, for this reason.
    Outside(&'static str),
}
use Treatment::{Holds, Outside};

const OPERATIONS: &str = "about operations that are not products of tensors";
const OTHER_LIBRARY: &str = "about the interface of another library";

const TREATMENTS: &[(&str, Treatment)] = &[
    ("ust/dense_compressed_counts", Holds(formats::counts)),
    ("ust/dense_3d_permutations", Holds(formats::dense_permutations)),
    ("ust/invertible_map", Holds(formats::maps_are_inverted)),
    ("ust/positions_half_open", Holds(storage::intervals_are_half_open)),
    ("ust/dense_vector_padding", Holds(storage::dense_vectors_store_zeros)),
    ("ust/level_formats", Holds(formats::level_properties)),
    ("ust/row_is_dense", Holds(formats::row_is_an_alias)),
    ("ust/dia_padding", Holds(storage::diagonals_are_padded)),
    ("ust/dia_choice", Holds(storage::the_smaller_dimension_pads_less)),
    ("ust/strips_and_blocks", Holds(formats::strips_and_blocks)),
    ("ust/batched_dia_crd", Holds(storage::batches_of_diagonals)),
    (
        "ust/dispatch_or_generate",
        Outside("about choosing among kernels, of which there is one so far"),
    ),
    ("ust/interop", Holds(formats::other_libraries_formats)),
    ("mlir/rank_changes", Holds(formats::ranks_change)),
    ("mlir/loose_compressed", Holds(storage::loose_intervals)),
    ("mlir/defaults", Holds(formats::defaults)),
    ("mlir/high", Holds(formats::high)),
    ("mlir/widths", Holds(formats::widths)),
    ("mlir/explicit_inverse", Holds(formats::explicit_inverse)),
    ("mlir/slice", Holds(formats::slices)),
    ("mlir/ell", Outside("waits for level types that count, as its line in formats.json")),
    ("scipy/constructors", Holds(conversions::constructors)),
    ("scipy/indptr_last", Holds(storage::the_last_position_counts)),
    ("scipy/unsorted_rows", Holds(conversions::unsorted_rows)),
    ("scipy/duplicates_kept_then_summed", Holds(conversions::duplicates_are_kept_then_summed)),
    ("scipy/sum_duplicates_keeps_zeros", Holds(conversions::cancelled_sums_are_kept)),
    ("scipy/costs", Outside("about speed: no test depends on the clock")),
    ("scipy/row_access", Outside("about speed: no test depends on the clock")),
    ("torch/layouts", Holds(conversions::every_layout)),
    ("torch/layout_never_changes_meaning", Holds(conversions::products_do_not_depend_on_formats)),
    ("torch/batches_equal_nse", Holds(storage::items_have_as_many)),
    ("torch/hybrid_rows", Holds(storage::hybrid_rows)),
    ("torch/sin_keeps_pattern", Outside(OPERATIONS)),
    ("torch/cos_refused", Outside(OPERATIONS)),
    ("torch/masked_semantics", Outside(OTHER_LIBRARY)),
    ("torch/result_layout", Outside(OPERATIONS)),
    ("torch/semi_structured_pattern", Holds(storage::n_of_every_2n)),
    ("torch/semi_structured_factor", Holds(storage::semi_structured_bytes)),
    (
        "torch/semi_structured_shapes",
        Outside("a limit of another library's kernels: here any shape is stored"),
    ),
    (
        "torch/semi_structured_buffer",
        Outside("about one buffer for values and metadata: here they are separate arrays"),
    ),
    ("torch/semi_structured_metadata", Holds(storage::packed_metadata)),
    ("torch/semi_structured_ops", Outside(OPERATIONS)),
    ("torch/coo_memory", Holds(storage::coo_bytes)),
    ("torch/csr_memory", Holds(storage::csr_bytes)),
    ("torch/coo_index_order", Holds(conversions::shapes_are_inferred)),
    ("torch/hybrid_invariants", Holds(storage::hybrid_shapes)),
    (
        "torch/check_invariants",
        Outside("a switch of another library: here arrays are always checked"),
    ),
    ("torch/uncoalesced_sum", Holds(conversions::duplicates_mean_their_sum)),
    ("torch/coalesce", Holds(conversions::coalesced)),
    ("torch/coo_add", Outside("about addition; the sum's storage is torch/coo_add_concatenates_2")),
    ("torch/indexing", Holds(conversions::indexing)),
    ("torch/softmax_fill", Outside(OPERATIONS)),
    ("torch/compressed_invariants", Holds(storage::compressed_invariants)),
    ("torch/compressed_dims", Holds(storage::block_values)),
    ("torch/batchsize", Outside(OTHER_LIBRARY)),
    ("torch/csr_size_inferred", Outside("here a shape always comes with arrays")),
    ("torch/zeros_are_missing", Holds(conversions::zeros_are_missing)),
    ("torch/csr_csc_transpose", Holds(conversions::transposes_share_arrays)),
    (
        "torch/linear_algebra",
        Outside("of these, products are tried by torch/layout_never_changes_meaning and taco.json"),
    ),
    ("torch/dense_times_sparse", Holds(conversions::dense_times_sparse)),
    ("torch/zero_preserving_unary", Outside(OPERATIONS)),
    ("torch/coo_methods", Outside(OTHER_LIBRARY)),
    ("torch/other_functions", Outside(OTHER_LIBRARY)),
    ("torch/sparse_functions", Outside(OPERATIONS)),
    ("torch/sparse_mask_resize", Outside(OTHER_LIBRARY)),
    ("torch/gradcheck", Outside(OTHER_LIBRARY)),
    ("torch/may_be_slower", Outside("about speed: no test depends on the clock")),
];

/// Tries a statement.
pub(super) fn try_case(case: &Value) -> Verdict {
    match TREATMENTS.iter().find(|(name, _)| case["name"] == *name) {
        Some((_, Holds(check))) => check(&case["data"]),
        Some((_, Outside(reason))) => Err(Trouble::Excluded((*reason).to_owned())),
        None => wrong("nobody has said how this statement is tried"),
    }
}
