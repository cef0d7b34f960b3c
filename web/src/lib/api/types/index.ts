// The JSON of the daemon, written by hand after the serde shapes of crates/model and crates/server/src/api.rs.
// Enums of Rust without a tag are either a plain string or an object with one key.

export type * from './task';
export type * from './ask';
export type * from './item';
export type * from './intent';
export type * from './log';
export type * from './routes';
