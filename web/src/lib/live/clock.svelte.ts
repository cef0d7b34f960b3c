// The time, for everything that says how long ago something was.

export const clock = $state({ now: Date.now() });

setInterval(() => {
  if (!document.hidden) clock.now = Date.now();
}, 1_000);
