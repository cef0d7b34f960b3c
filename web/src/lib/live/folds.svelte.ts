/** What somebody opened or closed by hand, by the key of its row. */
export const folds = $state<Record<string, boolean>>({});
