/** Those who wait for something to hold. */
export function createWatchers() {
  let watchers: { holds(): boolean; resolve(): void }[] = []

  function changed(): void {
    const done = watchers.filter(({ holds }) => holds())
    watchers = watchers.filter((watcher) => !done.includes(watcher))
    for (const { resolve } of done) resolve()
  }

  return {
    /** Something happened: everybody is asked. */
    changed,
    /** Resolves when `holds` does. */
    when(holds: () => boolean): Promise<void> {
      return new Promise((resolve) => {
        watchers.push({ holds, resolve })
        changed()
      })
    },
  }
}
