/** Tables in memory whose changes are undone together. */
export interface MemoryTables {
  table<R>(): MemoryTable<R>
  /** All that `work` changed stands, or, if it throws, nothing. */
  transaction<T>(work: () => T): T
  transactionOf<T>(work: () => Promise<T>): Promise<T>
  /** How often something was changed for good. */
  version(): number
}

export interface MemoryTable<R> {
  get(key: string): R | undefined
  all(): R[]
  /** @throws Error when the key is taken: what a unique index does. */
  insert(key: string, row: R): void
  put(key: string, row: R): void
  remove(key: string): void
}

export function memoryTables(): MemoryTables {
  let undo: (() => void)[] = []
  let version = 0

  function commit(): void {
    if (undo.length > 0) version += 1
    undo = []
  }

  function rollBack(): void {
    for (const step of undo.reverse()) step()
    undo = []
  }

  return {
    table: <R>() => memoryTable<R>((step) => undo.push(step)),
    transaction(work) {
      try {
        const result = work()
        commit()
        return result
      } catch (error) {
        rollBack()
        throw error
      }
    },
    async transactionOf(work) {
      try {
        const result = await work()
        commit()
        return result
      } catch (error) {
        rollBack()
        throw error
      }
    },
    version: () => version,
  }
}

function memoryTable<R>(note: (undo: () => void) => void): MemoryTable<R> {
  const rows = new Map<string, R>()
  function put(key: string, row: R): void {
    const before = rows.get(key)
    note(() => (before === undefined ? rows.delete(key) : rows.set(key, before)))
    rows.set(key, row)
  }
  return {
    get: (key) => rows.get(key),
    all: () => [...rows.values()],
    insert(key, row) {
      if (rows.has(key)) throw new Error(`there is a row under ${key}`)
      put(key, row)
    },
    put,
    remove(key) {
      const before = rows.get(key)
      if (before === undefined) return
      note(() => rows.set(key, before))
      rows.delete(key)
    },
  }
}
