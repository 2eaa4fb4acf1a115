//! The chunked transfer coding, decoded as its bytes arrive (RFC 9112, section 7.1).

use super::refusal::Refusal;
use super::scan::is_token;

/// The most bytes that the extensions of one body, and the blanks before them, may take in all.
const MOST_EXTENSION: usize = 16 * 1024;
/// The most digits in the size of a chunk: those of a 64-bit number.
const MOST_DIGITS: u8 = 16;

/// Where a chunked body stands.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    /// Bytes of the current chunk that are still to come.
    left: u64,
    /// How much more the extensions may take.
    extension: usize,
    /// How much more the trailers may take.
    trailers: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Reads the size; so many digits were seen.
    Size(u8),
    /// Between the size and the semicolon of an extension.
    Blank,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the beginning of a trailer line, or of the last line.
    Trailer,
    TrailerName,
    TrailerValue,
    TrailerLf,
    LastLf,
    Done,
}

impl Chunked {
    /// Begins a body whose trailers may take `trailers` bytes.
    pub(crate) fn new(trailers: usize) -> Self {
        Self {
            state: State::Size(0),
            left: 0,
            extension: MOST_EXTENSION,
            trailers,
        }
    }

    /// Whether the last line has been read.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes from `input` what belongs to the body, appends its data to `out`, and returns how many bytes it took.
    ///
    /// It refuses a body as soon as more than `limit` bytes are announced. Extensions and trailers are checked and
    /// dropped.
    pub(crate) fn decode(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        limit: usize,
    ) -> Result<usize, Refusal> {
        let mut at = 0;
        while at < input.len() && self.state != State::Done {
            if self.state == State::Data {
                let available = (input.len() - at) as u64;
                let take = self.left.min(available) as usize;
                out.extend_from_slice(&input[at..at + take]);
                at += take;
                self.left -= take as u64;
                if self.left == 0 {
                    self.state = State::DataCr;
                }
                continue;
            }
            let next = self.step(input[at])?;
            let sized = matches!(self.state, State::Size(_)) && !matches!(next, State::Size(_));
            if sized && self.left > limit.saturating_sub(out.len()) as u64 {
                return Err(Refusal::BODY_TOO_LARGE);
            }
            self.state = next;
            at += 1;
        }
        Ok(at)
    }

    /// Reads one byte of the framing.
    fn step(&mut self, byte: u8) -> Result<State, Refusal> {
        match (self.state, byte) {
            (State::Size(digits), _) if byte.is_ascii_hexdigit() => self.digit(byte, digits),
            (State::Size(1..) | State::Extension, b'\r') => Ok(State::SizeLf),
            (State::Size(1..) | State::Blank, b';') => self.extension(),
            (State::Size(1..) | State::Blank, b' ' | b'\t') => {
                self.extension().map(|_| State::Blank)
            }
            (State::Extension, b'\t' | b' '..=b'~' | 0x80..) => self.extension(),
            (State::SizeLf, b'\n') if self.left == 0 => Ok(State::Trailer),
            (State::SizeLf, b'\n') => Ok(State::Data),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => Ok(State::Size(0)),
            (State::Trailer, b'\r') => Ok(State::LastLf),
            (State::Trailer | State::TrailerName, _) if is_token(byte) => {
                self.trailer(State::TrailerName)
            }
            (State::TrailerName, b':') => self.trailer(State::TrailerValue),
            (State::TrailerValue, b'\t' | b' '..=b'~' | 0x80..) => {
                self.trailer(State::TrailerValue)
            }
            (State::TrailerValue, b'\r') => Ok(State::TrailerLf),
            (State::TrailerLf, b'\n') => Ok(State::Trailer),
            (State::LastLf, b'\n') => Ok(State::Done),
            _ => Err(Refusal::bad("the chunked body is malformed")),
        }
    }

    fn digit(&mut self, byte: u8, digits: u8) -> Result<State, Refusal> {
        if digits == MOST_DIGITS {
            return Err(Refusal::bad("the size of a chunk is too long"));
        }
        let value = match byte {
            b'0'..=b'9' => byte - b'0',
            _ => (byte | 0x20) - b'a' + 10,
        };
        self.left = self.left << 4 | u64::from(value);
        Ok(State::Size(digits + 1))
    }

    fn extension(&mut self) -> Result<State, Refusal> {
        const LONG: Refusal = Refusal::bad("the chunk extensions are too long");
        self.extension = self.extension.checked_sub(1).ok_or(LONG)?;
        Ok(State::Extension)
    }

    fn trailer(&mut self, next: State) -> Result<State, Refusal> {
        self.trailers = self
            .trailers
            .checked_sub(1)
            .ok_or(Refusal::HEAD_TOO_LARGE)?;
        Ok(next)
    }
}
