// Characters that are not seen or turn others around, made visible: what is decided on must read as it is.

/**
 * Controls but tab and line feed; soft hyphen; marks of Arabic, Hangul, Khmer and Mongolian that show nothing; zero widths; line and
 * paragraph separators; marks that turn the direction; fillers, variation selectors and tags, which can carry a whole hidden text.
 * A joiner and a variation selector stay where they make one emoji of several.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}]|[\u{e0000}-\u{e0fff}]/gu;
const EMOJI_JOINT = /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})\ufe0f/gu;

export function visible(text: string): string {
  if (!HIDDEN.test(text)) return text;
  HIDDEN.lastIndex = 0;
  const kept = new Set(Array.from(text.matchAll(EMOJI_JOINT), (joint) => joint.index));
  return text.replace(HIDDEN, (hidden, at: number) => (kept.has(at) ? hidden : `\\u{${hidden.codePointAt(0)?.toString(16) ?? '?'}}`));
}
