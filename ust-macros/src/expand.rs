//! The code that takes the place of the call.

use proc_macro2::TokenStream;
use quote::quote_spanned;

use crate::check;
use crate::input::Input;

/// A static that is filled on the first pass, and a clone of it; or what is wrong, pointing at the
/// literal or at the name.
pub(crate) fn expand(input: &Input) -> syn::Result<TokenStream> {
    let Input { facade, text: literal, outside } = input;
    let text = literal.value();
    let names: Vec<String> = outside.iter().map(ToString::to_string).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if let Some(message) = check::complaint(&text, &names) {
        return Err(syn::Error::new(literal.span(), message));
    }
    if let Some(at) = names.iter().position(|name| !check::says(&text, name)) {
        let message = format!("the format text does not say `{}`", names[at]);
        return Err(syn::Error::new(outside[at].span(), message));
    }
    // The location of a panic is the literal's, not the macro's.
    Ok(quote_spanned! { literal.span().resolved_at(proc_macro2::Span::mixed_site()) => {
        static FORMAT: ::std::sync::LazyLock<#facade::Format> =
            ::std::sync::LazyLock::new(|| match #facade::Format::resolve(
                #literal,
                ::core::option::Option::None,
            ) {
                ::core::result::Result::Ok(format) => format,
                ::core::result::Result::Err(error) => ::core::panic!("{error}"),
            });
        ::core::clone::Clone::clone(&*FORMAT)
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(call: &str) -> Result<String, String> {
        syn::parse_str::<Input>(call)
            .and_then(|input| expand(&input))
            .map(|tokens| tokens.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_literal_is_kept_as_written_and_read_as_it_is_meant() {
        for call in [
            r#"ust, "CSR""#,
            r#"ust, "CSR","#,
            r#"ust, "(i,\tj) ->\n (i : dense, j : compressed)""#,
            r##"ust, r#"CSR"#"##,
            r#"ust, "(i) -> (i : octree)", extern octree"#,
            r#"ust, "(i, j) -> (i : octree, j : type)", extern octree, type,"#,
        ] {
            let code = expanded(call).unwrap_or_else(|error| panic!("{call}: {error}"));
            let literal = call.trim_start_matches("ust, ").split(", extern").next().unwrap();
            assert!(code.contains(literal.trim_end_matches(',')), "{code}");
        }
    }

    #[test]
    fn a_name_that_is_not_in_the_text_is_refused() {
        let found = expanded(r#"ust, "(i) -> (i : dense)", extern octree"#);
        assert_eq!(found.unwrap_err(), "the format text does not say `octree`");
    }

    #[test]
    fn other_arguments_are_told_what_is_taken() {
        for call in [
            "ust, ",
            "ust, text",
            "ust, 7",
            r#"ust, "{} x", 7"#,
            r#"ust, "CSR", extern"#,
            r#"ust, "CSR" extern x"#,
            r#"ust, "(i) -> (i : octree)", extern octree; 7"#,
        ] {
            let found = expanded(call).expect_err(call);
            assert!(found.starts_with("`ust::format!` takes format text"), "{call}: {found}");
        }
    }
}
