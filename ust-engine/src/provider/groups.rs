//! `groups`: a matrix that stores two of every four neighbours times a vector, by a kernel that
//! takes what is stored of several groups at once.

use ust_level_api::inventory;

use super::{Executable, Offer, Plan, Provider, Registration};
use crate::error::Error;

struct Native;

inventory::submit!(Registration(&Native));

const NAME: &str = "groups";

impl Provider for Native {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "a kernel for 2:4 with narrow coordinates times a vector, of f32 and f64"
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        match native::accept(plan) {
            Ok(share) => Offer::Time(share * plan.estimate),
            Err(why) => Offer::Refused(why.to_owned()),
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let refused = |why: &str| Error::Refused { backend: NAME, reason: why.to_owned() };
        native::accept(plan).map_err(refused)?;
        Ok(Box::new(native::Product))
    }
}

#[cfg(target_arch = "x86_64")]
mod native {
    use ust_level_api::IndexArray;
    use ust_level_api::ir::interp::{Memory, Param, ValuesMut, ValuesRef};

    use super::super::{Executable, Groups, Plan, product};
    use crate::error::Error;
    use crate::format::Format;
    use crate::kernels::groups::{self, Coordinates};

    /// Of the time that the loops take as they are written.
    const SHARE: f64 = 0.25;

    #[derive(Debug)]
    pub(super) struct Product;

    /// Accepts a plan, and tells its time in times of the loops.
    pub(super) fn accept(plan: &Plan<'_>) -> Result<f64, &'static str> {
        let a = product::matrix(plan)?;
        let narrow = matches!(a.format.crd_width(), 2 | 8);
        let same = |named: Format| {
            let named = named.with_widths(a.format.pos_width(), a.format.crd_width());
            named.is_ok_and(|named| named == *a.format)
        };
        if !narrow || !Format::resolve("2:4", Some(2)).is_ok_and(same) {
            return Err("it takes 2:4 with `crdWidth = 2` or `crdWidth = 8`");
        }
        match groups::available() {
            true => Ok(SHARE),
            false => Err("it needs AVX2 and FMA, which this machine lacks"),
        }
    }

    fn run(
        groups: &[Vec<(i64, i64)>],
        memory: &mut [Memory<'_>],
        check: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        macro_rules! of {
            ($($kind:ident),*) => {
                match memory {
                    $([
                        Memory::Index(crd),
                        Memory::Values(ValuesRef::$kind(values)),
                        Memory::Values(ValuesRef::$kind(x)),
                        Memory::ValuesMut(ValuesMut::$kind(y)),
                    ] => {
                        let crd = match crd {
                            IndexArray::U2(packed) => Some(Coordinates::Packed(packed.bytes())),
                            IndexArray::U8(bytes) => Some(Coordinates::Bytes(bytes)),
                            _ => None,
                        };
                        if let Some(crd) = crd {
                            let matrix = groups::Groups { crd, values };
                            let times = |rows, y: &mut [_]| matrix.times(rows, x, y);
                            return product::run(y, 1, groups, check, times);
                        }
                    })*
                    _ => {}
                }
            };
        }
        of!(F32, F64);
        let text = "`groups` is run on other memory than it was compiled for";
        Err(Error::Unsupported(text.to_owned()))
    }

    impl Executable for Product {
        fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
            run(&[vec![product::part(params)]], memory, &|| Ok(()))
        }

        fn run_apart(
            &self,
            groups: &Groups<'_>,
            memory: &mut [Memory<'_>],
            check: &(dyn Fn() -> Result<(), Error> + Sync),
        ) -> Result<(), Error> {
            run(&product::parts(groups), memory, check)
        }

        fn describe(&self) -> String {
            "native, two of every four".to_owned()
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod native {
    use ust_level_api::ir::interp::{Memory, Param};

    use super::super::{Executable, Plan};
    use crate::error::Error;

    #[derive(Debug)]
    pub(super) struct Product;

    pub(super) fn accept(_: &Plan<'_>) -> Result<f64, &'static str> {
        Err("it is written for x86-64")
    }

    impl Executable for Product {
        fn run(&self, _: &[Param], _: &mut [Memory<'_>]) -> Result<(), Error> {
            Err(Error::Unsupported("`groups` is written for x86-64".to_owned()))
        }

        fn describe(&self) -> String {
            "native".to_owned()
        }
    }
}
