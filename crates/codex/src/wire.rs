//! Bytes to messages: framing (lines on pipes, WebSocket frames on sockets) and the JSON-RPC envelope.
//!
//! Nothing here acts on a message. What cannot be read is an [`Oddity`], never an error and never the end of a
//! healthy connection.

mod again;
mod envelope;
mod frame;
mod lines;
mod oddity;
mod request_id;
mod websocket;

pub(crate) use again::{Again, Pattern};
pub use envelope::{Call, ErrorBody, Glimpse, Message, Reply, glimpse, read_message};
pub use frame::{Frame, FrameError, MAX_MESSAGE_BYTES, Outgoing};
pub use lines::{LineDecoder, LineEncoder};
pub use oddity::{Oddity, OddityKind};
pub use request_id::RequestId;
pub use websocket::{WebSocketDecoder, WebSocketEncoder};
