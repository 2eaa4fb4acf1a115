//! Numbers of progress.

/// A number of progress: an integer, or a finite `f64`. Integers are never converted to floating point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount(pub(super) Number);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

impl Amount {
    /// Compares exactly where both are integers.
    pub(crate) fn exceeds(self, other: Self) -> bool {
        match (self.0, other.0) {
            (Number::Integer(this), Number::Integer(other)) => this > other,
            (this, other) => this.to_f64() > other.to_f64(),
        }
    }

    /// NaN and the infinities are no JSON.
    pub(crate) fn is_finite(self) -> bool {
        match self.0 {
            Number::Integer(_) => true,
            Number::Float(number) => number.is_finite(),
        }
    }
}

impl Number {
    fn to_f64(self) -> f64 {
        match self {
            Number::Integer(number) => number as f64,
            Number::Float(number) => number,
        }
    }
}

macro_rules! integers {
    ($($kind:ty)*) => {$(
        impl From<$kind> for Amount {
            fn from(number: $kind) -> Self {
                Self(Number::Integer(number as i128))
            }
        }
        impl IntoTotal for $kind {
            fn into_total(self) -> Option<Amount> {
                Some(self.into())
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl From<f64> for Amount {
    fn from(number: f64) -> Self {
        Self(Number::Float(number))
    }
}

impl From<f32> for Amount {
    fn from(number: f32) -> Self {
        Self(Number::Float(number.into()))
    }
}

/// A total, if it is known: a number, or `None`. Pass an `Option` of a number as `.map(Amount::from)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a total of progress",
    label = "neither a number nor `None`",
    note = "an `Option` of a number goes by `.map(Amount::from)`"
)]
pub trait IntoTotal {
    /// Returns the total.
    fn into_total(self) -> Option<Amount>;
}

impl IntoTotal for f64 {
    fn into_total(self) -> Option<Amount> {
        Some(self.into())
    }
}

impl IntoTotal for f32 {
    fn into_total(self) -> Option<Amount> {
        Some(self.into())
    }
}

impl IntoTotal for Amount {
    fn into_total(self) -> Option<Amount> {
        Some(self)
    }
}

/// One `Option` alone, so that the compiler knows what a bare `None` is.
impl IntoTotal for Option<Amount> {
    fn into_total(self) -> Option<Amount> {
        self
    }
}
