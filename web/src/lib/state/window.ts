// Which rows of a long list can be seen.

/** Where each row begins, and at the end where the last one ends. */
export function offsets<T>(items: readonly T[], height: (item: T) => number): Float64Array {
  const places = new Float64Array(items.length + 1);
  let sum = 0;
  for (let at = 0; at < items.length; at += 1) {
    sum += height(items[at] as T);
    places[at + 1] = sum;
  }
  return places;
}

/** The row that this place is in; the nearest one for places outside. */
export function rowAt(places: Float64Array, place: number): number {
  let [low, high] = [0, Math.max(0, places.length - 2)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((places[middle] ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
