//! What stands between the parentheses: `CRATE, "text"` or `CRATE, "text", extern name, name`.

use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitStr, Path, Token};

/// The arguments of the macro.
pub(crate) struct Input {
    /// The facade, as the call site can name it.
    pub(crate) facade: Path,
    /// The format text.
    pub(crate) text: LitStr,
    /// Level types that some other crate will have registered when the program runs.
    pub(crate) outside: Vec<Ident>,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let facade = input.parse()?;
        input.parse::<Token![,]>()?;
        let usage = |error: syn::Error| {
            let message = "`ust::format!` takes format text as a string literal, and after it \
                           `extern` and the level types that are not standard: \
                           `ust::format!(\"(i) -> (i : mine)\", extern mine)`\n\
                           help: for text known at run time use `text.parse::<ust::Format>()`; for \
                           a `String`, `std::format!`";
            syn::Error::new(error.span(), message)
        };
        let text = input.parse().map_err(usage)?;
        let mut outside = Vec::new();
        if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            input.parse::<Token![extern]>().map_err(usage)?;
            let names = Punctuated::<Ident, Token![,]>::parse_terminated_with;
            outside.extend(names(input, Ident::parse_any).map_err(usage)?);
            if outside.is_empty() {
                return Err(usage(input.error("")));
            }
        }
        if input.is_empty() {
            Ok(Self { facade, text, outside })
        } else {
            Err(usage(input.error("")))
        }
    }
}
