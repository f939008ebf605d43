import { createRequire } from 'node:module'
import type BetterSqlite3 from 'better-sqlite3'

/**
 * better-sqlite3 13 needs Node-API 10. Node 20 has version 9 and crashes with a segmentation fault at the first
 * connection (WiseLibs/better-sqlite3#1514), so it uses version 12.
 *
 * Version 12 must not be used on later versions of Node: compiled with the headers of Node 24.19 or newer, it aborts
 * the process when a memory allocation of JavaScript code starts the garbage collection that finalizes a statement
 * (nodejs/node#65446).
 */
const NODE_API_NEEDED = 10

/** The package for this version of Node. */
export const DRIVER = driverFor(process.versions.napi)

export const Sqlite: typeof BetterSqlite3 = loadDriver(DRIVER, createRequire(import.meta.url))

export function driverFor(node_api: string | undefined): 'better-sqlite3' | 'better-sqlite3-12' {
  return Number(node_api) < NODE_API_NEEDED ? 'better-sqlite3-12' : 'better-sqlite3'
}

/** @throws Error that names the package to install, if version 12 is needed and missing. */
export function loadDriver(
  name: ReturnType<typeof driverFor>,
  require: (name: string) => unknown,
): typeof BetterSqlite3 {
  try {
    return require(name) as typeof BetterSqlite3
  } catch (error) {
    const isMissing = (error as { code?: unknown }).code === 'MODULE_NOT_FOUND'
    if (!isMissing || name === 'better-sqlite3') throw error
    throw new Error(
      `SQLite on Node 20 needs one more package: npm install ${name}@npm:better-sqlite3@12. Later versions of Node need nothing more.`,
      { cause: error },
    )
  }
}
