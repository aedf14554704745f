//! Random numbers that a seed repeats.

pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// Returns a number below the end. The seed must not be 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // xorshift64*: good enough to choose by.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(drawn).unwrap() % end
    }
}
